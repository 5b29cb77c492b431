/** A group as a graph: who speaks to whom. The list beside it says the same in words. */
import { html, useEffect, useRef, useState } from "../../vendor/htm-preact-3.1.1.js";
import { layoutOf, pathOf } from "./graph_layout.js";
import { AgentLink, kindOf, nameOf, sleeps } from "./words.js";

/** @typedef {import("./words.js").Group} Group */
/** @typedef {import("./words.js").Names} Names */

const FIRST_WIDTH = 320;
/** Pixels around a name in its box. */
const AROUND = 24;
/** How far above the middle of its box a name stands, and below it “speaks now”. */
const NOW = 8;

/** The width of an element, which follows its place. */
function useWidth() {
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  const [width, setWidth] = useState(FIRST_WIDTH);
  useEffect(() => {
    const place = ref.current;
    if (!place) return undefined;
    const watch = new ResizeObserver(() => place.clientWidth && setWidth(place.clientWidth));
    watch.observe(place);
    return () => watch.disconnect();
  }, []);
  return { ref, width };
}

/** The width of a text in the picture. @param {string} text */
function widthOf(text) {
  const ruler = document.createElement("canvas").getContext("2d");
  if (!ruler) return 0;
  ruler.font = `600 14px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

/** A name that fits into a box. @param {string} name @param {number} width */
function cut(name, width) {
  if (widthOf(name) <= width - AROUND) return name;
  const letters = [...name];
  while (letters.length > 1 && widthOf(`${letters.join("")}…`) > width - AROUND) letters.pop();
  return `${letters.join("").trimEnd()}…`;
}

/** What the picture shows, in a sentence. @param {Group} group @param {Names | undefined} names */
function told(group, names) {
  const members = group.agent_ids.map((id) => nameOf(id, names)).join(", ");
  const manager = group.manager_agent_id && nameOf(group.manager_agent_id, names);
  if (sleeps(group)) return `${members} works on the memory of ${manager}.`;
  if (group.manager_type === "supervisor") return `${manager} asks ${members}, and they answer.`;
  return manager ? `${manager} chooses among ${members}.` : `In turn: ${members}, and from the first one again.`;
}

/** @param {{group: Group, names: Names | undefined, speaking: Set<string>}} props */
export function Graph({ group, names, speaking }) {
  const { ref, width } = useWidth();
  const { height, box, nodes, lines, left } = layoutOf(group.agent_ids, group.manager_agent_id, width);
  const dashed = sleeps(group) || group.manager_type === "dynamic";
  return html`<figure class="graph" ref=${ref}>
    <svg viewBox=${`0 0 ${width} ${height}`} width=${width} height=${height} role="img" aria-label=${told(group, names)}>
      <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" /></marker></defs>
      ${lines.map((one) => html`<path class=${`line ${dashed ? "dashed" : ""}`} d=${pathOf(one)} marker-end="url(#arrow)" marker-start=${one.both ? "url(#arrow)" : undefined} />`)}
      ${nodes.map(
        (one) => html`<g key=${one.id} class=${`node ${one.place === null ? "hub" : ""} ${speaking.has(one.id) ? "speaking" : ""}`}>
          <rect x=${one.x - box[0] / 2} y=${one.y - box[1] / 2} width=${box[0]} height=${box[1]} rx=${one.place === null ? 10 : box[1] / 2} />
          <text x=${one.x} y=${speaking.has(one.id) ? one.y - NOW : one.y} dominant-baseline="central" text-anchor="middle">${cut(`${group.manager_agent_id ? "" : `${one.place}. `}${nameOf(one.id, names)}`, box[0])}</text>
          ${speaking.has(one.id) && html`<text class="now" x=${one.x} y=${one.y + NOW + 1} dominant-baseline="central" text-anchor="middle">speaks now</text>`}
        </g>`,
      )}
    </svg>
    ${left > 0 && html`<figcaption class="small muted">${left} more are in the list.</figcaption>`}
  </figure>`;
}

/** The members in words, in their order. @param {{group: Group, names: Names | undefined, speaking: Set<string>}} props */
export function Members({ group, names, speaking }) {
  const role = sleeps(group) ? "talks" : group.manager_type === "supervisor" ? "supervisor" : "manager";
  const row = (/** @type {string} */ id, /** @type {string} */ word) => html`<li key=${id}><${AgentLink} id=${id} names=${names} />${word && html` <span class="tag">${word}</span>`}${
    speaking.has(id) && html` <span class="state busy small">speaks now</span>`
  }</li>`;
  return html`<div class="stack members"><p class="small muted">${kindOf(group)[1]}</p>
    ${group.manager_agent_id && html`<ul class="plain">${row(group.manager_agent_id, role)}</ul>`}
    <ol aria-label="Agents of this group">${group.agent_ids.map((id) => row(id, sleeps(group) ? "works while it sleeps" : ""))}</ol>
    ${group.agent_ids.length === 0 && html`<p class="empty">It has no agents: add some.</p>`}</div>`;
}
