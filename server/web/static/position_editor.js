// Draws a position: a person puts pieces on a board or removes them, and says who moves. The position is
// written as chess programs do (FEN), or those of draughts (PDN).

import { BoardView } from "./board.js";
import { isUsed, pieceName } from "./board_layout.js";
import { html } from "./elements.js";
import { FIGURES } from "./figures.js";
import { drawingOf } from "./pieces.js";
import { gettext } from "./texts.js";

/** The letters of figures in FEN, and the rooks of each right to castle with their king's cell. */
const LETTERS = { king: "k", queen: "q", rook: "r", bishop: "b", knight: "n", pawn: "p" };
const CASTLING = { K: [60, 63], Q: [60, 56], k: [4, 7], q: [4, 0] };

/** The text of a position, {cells, kinds}, with player `mover` to move. Castling is possible for each king
 * and rook that are where they begin. */
export function positionText(board, { cells, kinds }, mover) {
  const first = board.dark_begins ? "BW" : "WB";
  if (board.piece !== "figure") {
    const squares = (player) => board.cell_labels
      .flatMap((name, cell) => (cells[cell] === player ? `${kinds[cell] === "king" ? "K" : ""}${name}` : []))
      .join(",");
    return `${first[mover - 1]}:W${squares(first.indexOf("W") + 1)}:B${squares(first.indexOf("B") + 1)}`;
  }
  const letter = (cell) => {
    const found = LETTERS[kinds[cell]] ?? "1";
    return cells[cell] === 1 ? found.toUpperCase() : found;
  };
  const rows = Array.from({ length: board.rows }, (_, row) =>
    Array.from({ length: board.columns }, (_, column) => letter(row * board.columns + column)).join("").replace(/1+/g, ({ length }) => length));
  const isHome = ([name, [king, rook]]) => {
    const sides = name === name.toUpperCase() ? ["K", "R"] : ["k", "r"];
    return letter(king) === sides[0] && letter(rook) === sides[1];
  };
  const rights = Object.entries(CASTLING).filter(isHome).map(([name]) => name).join("");
  return `${rows.join("/")} ${first[mover - 1].toLowerCase()} ${rights || "-"} - 0 1`;
}

/** Fill `place` with a board that begins with a position, and the field `text` with each change. */
export function editPosition(place, text, { board, players }, { cells, kinds }, mover) {
  const pieces = [1, 2].flatMap((owner) => (board.piece === "figure" ? Object.keys(FIGURES) : ["man", "king"]).map((kind) => [owner, kind]));
  const position = { cells: [...cells], kinds: [...kinds], last: [] };
  const chosen = (name) => place.querySelector(`[name="${name}"]:checked`).value;
  const update = () => {
    const used = [...cells.keys()].filter((cell) => isUsed(board, cell));
    view.show({ ...position, cells: [...position.cells], kinds: [...position.kinds] }, used.map((cell) => ({ action: cell, name: "", cells: [cell] })));
    text.value = positionText(board, position, Number(chosen("drawn-mover")));
  };
  const put = (cell) => {
    const [owner, kind] = pieces[chosen("drawn-piece")] ?? [0, ""];
    const isThere = position.cells[cell] === owner && position.kinds[cell] === kind;
    [position.cells[cell], position.kinds[cell]] = isThere ? [0, ""] : [owner, kind];
    update();
  };
  const choices = (name, legend, labels, value) => {
    const options = labels.map(([label, ...content], at) => {
      const input = html("input", { type: "radio", form: "", name, value: at + 1, "aria-label": label, checked: at + 1 === value ? "" : null });
      return html("label", { title: label }, input, ...content);
    });
    return html("fieldset", { class: "palette" }, html("legend", { class: "visually-hidden" }, legend), ...options);
  };
  const named = pieces.map(([owner, kind]) => [pieceName(board, owner, players, kind), drawingOf(board, `${owner} ${kind}`)]);
  pieces.unshift(null); // the values of the choices begin at 1
  const nothing = [gettext("Nothing"), "✕"];
  const movers = players.map((name) => [gettext("%(name)s to move", { name }), gettext("%(name)s to move", { name })]);
  const clear = html("button", { type: "button", class: "button small" }, gettext("Clear the board"));
  clear.addEventListener("click", () => {
    position.cells.fill(0);
    position.kinds.fill("");
    update();
  });
  const drawn = html("div", { class: "no-hints" });
  place.replaceChildren(choices("drawn-piece", gettext("Piece"), [...named, nothing], 1), drawn, choices("drawn-mover", gettext("To move"), movers, mover), clear);
  const view = new BoardView(drawn, board, { onChoose: put, players, label: gettext("Board") });
  place.addEventListener("change", update);
  update();
}
