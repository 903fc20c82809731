// The rules of a game in a dialog: the section of its page, with pictures of example positions.

import { html } from "./elements.js";
import { drawPositions } from "./positions.js";

/** Opens a dialog for a link to the page of a game, instead of that page. */
export class RulesDialog {
  #link;

  constructor(link) {
    this.#link = link;
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.#open();
    });
  }

  async #open() {
    const response = await fetch(this.#link.href).catch(() => null);
    if (!response?.ok) return location.assign(this.#link.href);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const section = document.adoptNode(page.querySelector(".game"));
    section.classList.remove("card");
    const close = html("button", { class: "button", autofocus: "" }, "Close");
    const form = html("form", { method: "dialog" }, close);
    const attributes = { class: "card rules", closedby: "any", "aria-labelledby": section.getAttribute("aria-labelledby") };
    const dialog = html("dialog", attributes, section, form);
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    drawPositions(dialog);
    dialog.showModal();
  }
}
