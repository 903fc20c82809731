// Switches of what a page shows, which the browser keeps.

import { read, write } from "./storage.js";

/** The browser keeps a choice under `key`; until there is one, a checkbox is checked if `initially`. */
export function keepChoice(checkbox, key = checkbox.id, initially = true) {
  checkbox.checked = (read(key) ?? (initially ? "on" : "off")) !== "off";
  checkbox.addEventListener("change", () => write(key, checkbox.checked ? "on" : "off"));
}

/** While a checkbox is not checked, `element` has the class `off`. It is checked at first. */
export function switchClass(checkbox, element, off) {
  const show = () => element.classList.toggle(off, !checkbox.checked);
  keepChoice(checkbox);
  checkbox.addEventListener("change", show);
  show();
}
