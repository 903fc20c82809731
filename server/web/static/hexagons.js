// The shapes of a board of hexagons, in units of the drawing. Uses no element of a page.
//
// A hexagon is `width` wide and has a corner at its top; each row of them is half a width further to
// the right than the one above it.

const [TOP, UPPER_RIGHT, LOWER_RIGHT, BOTTOM, LOWER_LEFT, UPPER_LEFT] = [0, 1, 2, 3, 4, 5];

/** The length of a side. */
const side = (width) => width / Math.sqrt(3);

/** The rectangle around hexagons with these centres: its left, top, width and height. */
export function areaOf(centres, width) {
  const [xs, ys] = [0, 1].map((at) => centres.map((centre) => centre[at]));
  const [left, top] = [Math.min(...xs) - width / 2, Math.min(...ys) - side(width)];
  return [left, top, Math.max(...xs) + width / 2 - left, Math.max(...ys) + side(width) - top];
}

/** The centre of the cell that is drawn at a row and a column. */
export function centreOf(row, column, width) {
  return [(column + row / 2 + 0.5) * width, (1.5 * row + 1) * side(width)];
}

/** A point beside the hexagon around a point, below it on the right, where its column goes on. */
export function below([x, y], width) {
  return [x + 0.4 * width, y + 1.2 * side(width)];
}

/** The path of a hexagon around a point. */
export function hexagon([x, y], width) {
  return `${path(corners(width).map(([right, down]) => [x + right, y + down]))}z`;
}

/** The paths of the top, right, bottom and left edge. They meet at the two acute corners, and in the
 * middle of a side at the two obtuse ones. */
export function edges({ rows, columns }, width) {
  const around = corners(width);
  const at = (row, column, corner) => {
    const [x, y] = centreOf(row, column, width);
    return [x + around[corner][0], y + around[corner][1]];
  };
  const middle = ([x, y], [otherX, otherY]) => [(x + otherX) / 2, (y + otherY) / 2];
  const [last, end] = [rows - 1, columns - 1];
  const obtuse = [
    middle(at(0, end, TOP), at(0, end, UPPER_RIGHT)),
    middle(at(last, 0, BOTTOM), at(last, 0, LOWER_LEFT)),
  ];
  const each = (count, draw) => Array.from({ length: count }, (_, index) => draw(index)).flat();
  const top = each(columns, (c) => [at(0, c, UPPER_LEFT), at(0, c, TOP)]);
  const right = each(rows, (r) => [at(r, end, UPPER_RIGHT), at(r, end, LOWER_RIGHT)]);
  const bottom = each(columns, (c) => [at(last, end - c, LOWER_RIGHT), at(last, end - c, BOTTOM)]);
  const left = each(rows, (r) => [at(last - r, 0, LOWER_LEFT), at(last - r, 0, UPPER_LEFT)]);
  return [[...top, obtuse[0]], [obtuse[0], ...right], [...bottom, obtuse[1]], [obtuse[1], ...left]].map(path);
}

/** The corners around the centre, clockwise from the top. */
function corners(width) {
  const [half, long] = [width / 2, side(width)];
  return [
    [0, -long],
    [half, -long / 2],
    [half, long / 2],
    [0, long],
    [-half, long / 2],
    [-half, -long / 2],
  ];
}

function path(points) {
  return `M${points.map(([x, y]) => `${round(x)} ${round(y)}`).join("L")}`;
}

function round(number) {
  return Math.round(number * 100) / 100;
}
