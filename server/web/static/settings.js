// Switches of what a page shows, which the browser keeps.

import { read, write } from "./storage.js";

/** While a checkbox is not checked, `element` has the class `off`. It is checked at first. */
export function switchClass(checkbox, element, off) {
  const show = () => element.classList.toggle(off, !checkbox.checked);
  checkbox.checked = read(checkbox.id) !== "off";
  checkbox.addEventListener("change", () => {
    write(checkbox.id, checkbox.checked ? "on" : "off");
    show();
  });
  show();
}
