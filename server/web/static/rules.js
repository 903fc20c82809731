// The rules of a game in a dialog: the section of its page, with pictures of example positions.

import { html } from "./elements.js";
import { drawPositions } from "./positions.js";
import { gettext } from "./texts.js";

/** Show the rules that the page of a game has; without an answer of the server, open that page. */
export async function showRules(address) {
  const response = await fetch(address).catch(() => null);
  if (!response?.ok) return location.assign(address);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const section = document.adoptNode(page.querySelector(".game"));
  section.classList.remove("card");
  const close = html("button", { class: "button", autofocus: "" }, gettext("Close"));
  const form = html("form", { method: "dialog" }, close);
  const attributes = { class: "card rules", closedby: "any", "aria-labelledby": section.getAttribute("aria-labelledby") };
  const dialog = html("dialog", attributes, section, form);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  drawPositions(dialog);
  dialog.showModal();
}
