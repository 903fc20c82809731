// Replaces positions that a page has as text by drawings of their boards.

import "./dice_boards.js";
import { newBoard } from "./text_board.js";

/** Draw the positions within an element. */
export function drawPositions(element) {
  for (const figure of element.querySelectorAll("figure.position")) {
    const { board, view } = JSON.parse(figure.querySelector("script").textContent);
    figure.replaceChildren();
    newBoard(figure, board, { small: true }).show(view);
  }
}
