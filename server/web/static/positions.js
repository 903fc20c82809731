// Replaces positions that a page has as text by drawings of their boards.

import { BoardView } from "./board.js";

for (const figure of document.querySelectorAll("figure.position")) {
  const { board, view } = JSON.parse(figure.querySelector("script").textContent);
  figure.replaceChildren();
  new BoardView(figure, board, { small: true }).show(view);
}
