// The link with which a friend takes a seek: shown, copied and shared.

import { gettext } from "./texts.js";

const find = (id) => document.getElementById(id);

/** A new link of 128 random bits, the identifier of a seek. */
export function newLink() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The field with the address of a link, and its buttons. */
export class FriendLink {
  #field = find("friend-link");
  #text = "";

  constructor() {
    find("friend-copy").addEventListener("click", () => this.#copy());
    find("friend-share").addEventListener("click", () => this.#share());
    find("friend-share").hidden = !navigator.share;
  }

  /** Show a link with the terms of its match, or nothing for an undefined one. */
  show(link, text) {
    find("friend").hidden = !link;
    if (!link) return;
    this.#text = text;
    this.#field.value = new URL(`/seeks/${link}`, location.href);
    find("friend-copied").textContent = "";
  }

  async #copy() {
    this.#field.select();
    try {
      await navigator.clipboard.writeText(this.#field.value);
      find("friend-copied").textContent = gettext("Copied.");
    } catch {
      find("friend-copied").textContent = gettext("Copy it from the field.");
    }
  }

  /** Let the system send it, as phones do. Fails if the person changes their mind. */
  #share() {
    navigator.share({ title: "Playout", text: this.#text, url: this.#field.value }).catch(() => {});
  }
}
