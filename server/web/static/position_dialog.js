// A dialog that has a position as text: by its pieces and by its rows.

import { html } from "./elements.js";
import { factsOf, piecesOf, rowsOf } from "./position_text.js";
import { gettext, listText } from "./texts.js";

/** Show a position of a match; `note` is a text about it. */
export function readPosition(record, view, note) {
  const { board, players } = record;
  const close = html("button", { class: "button", autofocus: "" }, gettext("Close"));
  const title = html("h2", { id: "position-title" }, gettext("The position"));
  const said = [note, ...factsOf(record, view)].filter(Boolean).map((fact) => html("p", {}, fact));
  const pieces = piecesOf(board, view, players).map(({ name, cells }) => gettext("%(name)s: %(text)s", { name, text: listText(cells) }));
  const rows = rowsOf(board, view, players).map((row) => gettext("%(name)s: %(text)s", row));
  const parts = view.text
    ? [html("pre", { class: "board-text", tabindex: 0, role: "region", "aria-label": gettext("Board") }, view.text)]
    : [...section(gettext("Pieces"), pieces), ...section(gettext("Rows"), rows)];
  const form = html("form", { method: "dialog" }, close);
  const attributes = { class: "card rules", closedby: "any", "aria-labelledby": "position-title" };
  const dialog = html("dialog", attributes, html("div", { class: "stack" }, title, ...said, ...parts), form);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function section(title, lines) {
  if (!lines.length) return [];
  const items = lines.map((line) => html("li", {}, line));
  return [html("h3", {}, title), html("ul", { class: "list", "aria-label": title }, ...items)];
}
