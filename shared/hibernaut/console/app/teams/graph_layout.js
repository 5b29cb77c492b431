/** Where the agents of a group stand in its picture, and the lines between them: pure functions, in pixels. */

/**
 * @typedef {[number, number]} Point
 * @typedef {{id: string, x: number, y: number, place: number | null}} Node  the middle of a box; `place`: its number from 1, null for a manager
 * @typedef {{points: Point[], both: boolean}} Line  `both`: it has an arrow at each end
 * @typedef {{height: number, box: Point, nodes: Node[], lines: Line[], left: number}} Layout  `box`: width and height; `left`: how many agents have no box
 */

/** Above so many agents, or in a narrow place, they stand below each other. */
const MOST_AROUND = 8;
const LEAST_WIDTH = 600;
const WIDEST = 640;
/** So many boxes are drawn at most; the list has all. */
const MOST = 24;
const BOX = /** @type {Point} */ ([168, 44]);
const WIDEST_BOX = 240;
/** Between boxes below each other, to the border of the picture, beside the boxes, and from a box to the point of an arrow. */
const [GAP, EDGE, TRUNK, AIR] = [28, 6, 32, 4];
/** Half the distance between a line and the line back. */
const ASIDE = 9;

/**
 * @param {string[]} members
 * @param {string | null} manager
 * @param {number} width
 * @returns {Layout}
 */
export function layoutOf(members, manager, width) {
  const shown = members.slice(0, MOST);
  const fits = width >= LEAST_WIDTH && members.length <= MOST_AROUND;
  const pair = manager ? [manager, ...shown] : shown;
  const drawn = !fits ? below(shown, manager, width) : pair.length === 2 ? beside(pair, manager !== null, width) : around(shown, manager, width);
  return { ...drawn, left: members.length - shown.length };
}

/**
 * Two that speak in turn, or one and its manager.
 * @param {string[]} pair
 * @param {boolean} managed
 * @param {number} width
 */
function beside(pair, managed, width) {
  const y = EDGE + BOX[1];
  const apart = Math.min(width, WIDEST) / 2 - BOX[0] / 2 - EDGE;
  const nodes = pair.map((id, place) => ({ id, x: width / 2 + (place ? apart : -apart), y, place: managed ? place || null : place + 1 }));
  const [from, to] = [nodes[0].x + BOX[0] / 2 + AIR, nodes[1].x - BOX[0] / 2 - AIR];
  const lines = managed ? [{ ...way([from, y], [to, y]), both: true }] : [way([from, y - ASIDE], [to, y - ASIDE]), way([to, y + ASIDE], [from, y + ASIDE])];
  return { height: 2 * y, box: BOX, nodes, lines };
}

/**
 * On a ring, with the manager in its middle.
 * @param {string[]} members
 * @param {string | null} manager
 * @param {number} width
 */
function around(members, manager, width) {
  const count = members.length;
  const across = Math.min(width, WIDEST) / 2 - BOX[0] / 2 - EDGE;
  const flat = manager !== null && count === 2;
  const up = flat || count < 2 ? 0 : 50 + count * 20;
  const top = EDGE + BOX[1] / 2;
  const middle = { x: width / 2, y: top + up };
  const nodes = members.map((id, place) => {
    const angle = (flat ? -Math.PI : -Math.PI / 2) + (place * 2 * Math.PI) / count;
    const far = count > 1 ? across : 0;
    return { id, x: middle.x + far * Math.cos(angle), y: middle.y + up * Math.sin(angle), place: place + 1 };
  });
  const hub = manager ? { id: manager, ...middle, place: null } : null;
  const lines = hub ? nodes.map((one) => line(hub, one, true)) : count > 1 ? nodes.map((one, place) => line(one, nodes[(place + 1) % count], false)) : [];
  const all = hub ? [hub, ...nodes] : nodes;
  return { height: Math.max(top, ...all.map((one) => one.y)) + top, box: BOX, nodes: all, lines };
}

/**
 * Below each other; a manager on top, with a branch to each.
 * @param {string[]} members
 * @param {string | null} manager
 * @param {number} width
 */
function below(members, manager, width) {
  const box = /** @type {Point} */ ([Math.min(WIDEST_BOX, width - 2 * EDGE - TRUNK), BOX[1]]);
  const left = EDGE + TRUNK;
  const rowOf = (/** @type {number} */ place) => EDGE + box[1] / 2 + place * (box[1] + GAP);
  const nodes = members.map((id, place) => ({ id, x: left + box[0] / 2, y: rowOf(place + (manager ? 1 : 0)), place: place + 1 }));
  const hub = manager ? [{ id: manager, x: EDGE + box[0] / 2, y: rowOf(0), place: null }] : [];
  const trunk = EDGE + TRUNK / 2;
  /** @type {Line[]} */
  let lines = nodes.map((one) => ({ points: [[trunk, rowOf(0) + box[1] / 2], [trunk, one.y], [left - AIR, one.y]], both: false }));
  if (!manager) {
    lines = nodes.slice(1).map((one, place) => way([one.x, nodes[place].y + box[1] / 2], [one.x, one.y - box[1] / 2 - AIR]));
    const [first, last] = [nodes[0], nodes.at(-1)];
    if (last && last !== first) lines.push({ points: [[left, last.y], [trunk, last.y], [trunk, first.y], [left - AIR, first.y]], both: false });
  }
  const rows = nodes.length + hub.length;
  return { height: rowOf(Math.max(rows - 1, 0)) + box[1] / 2 + EDGE, box, nodes: [...hub, ...nodes], lines };
}

/** @param {Point} from @param {Point} to @returns {Line} */
const way = (from, to) => ({ points: [from, to], both: false });

/**
 * A line between the borders of two boxes.
 * @param {{x: number, y: number}} from
 * @param {{x: number, y: number}} to
 * @param {boolean} both
 * @returns {Line}
 */
function line(from, to, both) {
  return { points: [borderOf(from, to), borderOf(to, from)], both };
}

/**
 * Where the line to another box leaves a box.
 * @param {{x: number, y: number}} box
 * @param {{x: number, y: number}} other
 * @returns {Point}
 */
function borderOf(box, other) {
  const [dx, dy] = [other.x - box.x, other.y - box.y];
  const share = Math.min((BOX[0] / 2 + AIR) / Math.max(Math.abs(dx), 1e-6), (BOX[1] / 2 + AIR) / Math.max(Math.abs(dy), 1e-6));
  return [box.x + dx * share, box.y + dy * share];
}

/** The path of a line. @param {Line} one */
export const pathOf = ({ points }) => `M${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}`;
