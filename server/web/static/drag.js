// Drags pieces of a board with the mouse or a finger, beside clicks on their cells.

/** How far the pointer moves, in pixels, before a press becomes a drag. */
const FROM_PX = 6;

/** The cells of the class "grip" have pieces that can be dragged. `grab(cell)` returns the element of
 * a piece, which follows the pointer until `drop(cell)` is called, with -1 beside the cells. */
export function dragPieces(svg, grab, drop) {
  let press = null; // {x, y, cell, piece}
  let isDropped = false;

  svg.addEventListener("pointerdown", (event) => {
    isDropped = false;
    const isGrip = event.isPrimary && event.button === 0 && event.target.classList.contains("grip");
    press = isGrip ? { x: event.clientX, y: event.clientY, cell: cellAt(event), piece: null } : null;
  });
  svg.addEventListener("pointermove", (event) => {
    if (!press) return;
    const [x, y] = [event.clientX - press.x, event.clientY - press.y];
    if (!press.piece && Math.hypot(x, y) < FROM_PX) return;
    press.piece ??= grab(press.cell);
    svg.setPointerCapture(event.pointerId);
    const scale = svg.getScreenCTM().a;
    press.piece.style.transform = `translate(${x / scale}px, ${y / scale}px)`;
  });
  // `touch-action` of a part of a drawing is not respected everywhere: the page would be scrolled.
  svg.addEventListener("touchmove", (event) => press && event.preventDefault(), { passive: false });
  const end = (cell) => {
    const isDragged = press?.piece;
    press = null;
    if (isDragged) drop(cell);
    return Boolean(isDragged);
  };
  svg.addEventListener("pointerup", (event) => (isDropped = end(cellAt(event))));
  svg.addEventListener("pointercancel", () => end(-1));
  // The click that follows a drop is not one on a cell.
  svg.addEventListener("click", (event) => isDropped && event.stopImmediatePropagation(), true);
}

function cellAt({ clientX, clientY }) {
  return Number(document.elementFromPoint(clientX, clientY)?.dataset.cell ?? -1);
}
