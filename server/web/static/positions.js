// Draws positions where the page has them as text.

import { BoardView } from "./board.js";

for (const figure of document.querySelectorAll("figure.position")) {
  const { board, view } = JSON.parse(figure.querySelector("script").textContent);
  figure.replaceChildren();
  new BoardView(figure, board, { small: true }).show(view);
}
