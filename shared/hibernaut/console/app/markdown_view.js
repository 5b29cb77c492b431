/** Draws markdown as elements. Nothing is loaded from elsewhere: an image is a link that a person may follow. */
import { html, useMemo, useRef } from "../vendor/htm-preact-3.1.1.js";
import { GrowingText, blocks } from "./markdown.js";
import { CopyButton } from "./ui.js";

/** @typedef {import("../vendor/htm-preact-3.1.1.js").Child} Child */

/** A tail of more characters is parsed again after it has grown by this factor; what came since is text meanwhile. */
const [LONG, GROWTH] = [4000, 1.1];

/** @param {{text: string, live?: boolean}} props  `live`: the text is written, and only grows */
export function Markdown({ text, live = false }) {
  const growing = useMemo(() => new GrowingText(), []);
  growing.grow(text, live);
  return html`<div class="prose" dir="auto">
    ${growing.groups.map((pieces, place) => html`<${Group} key=${place} pieces=${pieces} size=${pieces.length} />`)}
    ${growing.tail && html`<${Tail} key="tail" text=${growing.tail} />`}
  </div>`;
}

/** Settled pieces. @param {{pieces: string[], size: number}} props  `size`: a group grows in place */
function Group({ pieces, size }) {
  return useMemo(() => pieces.map((piece, place) => html`<${Piece} key=${place} text=${piece} />`), [pieces, size]);
}

/** @param {{text: string}} props */
function Piece({ text }) {
  return useMemo(() => html`<div class="piece">${blocks(text).map((one) => block(one))}</div>`, [text]);
}

/** The piece that still grows. @param {{text: string}} props */
function Tail({ text }) {
  const parsed = useRef("");
  if (text.length < LONG || text.length > parsed.current.length * GROWTH || !text.startsWith(parsed.current)) parsed.current = text;
  const done = useMemo(() => blocks(parsed.current), [parsed.current]);
  const rest = text.slice(parsed.current.length);
  const last = done[done.length - 1];
  const isCode = last?.kind === "code";
  const inside = useMemo(() => (isCode ? done.slice(0, -1) : done).map((one) => block(one)), [done]);
  return html`<div class="piece">${inside}${isCode ? block(last, rest) : rest && html`<p class="rest" dir="auto">${rest}</p>`}</div>`;
}

/**
 * @param {import("./markdown.js").Block} one
 * @param {string} [more]  what came after a block of code that goes on
 * @returns {Child}
 */
function block(one, more = "") {
  switch (one.kind) {
    case "heading":
      return html`<p role="heading" aria-level=${Math.min(one.level + 2, 6)} class=${`h${one.level}`} dir="auto">${one.of.map(inline)}</p>`;
    case "paragraph":
      return html`<p dir="auto">${one.of.map(inline)}</p>`;
    case "code":
      return html`<${Code} language=${one.language} text=${one.text} more=${more} />`;
    case "quote":
      return html`<blockquote>${one.of.map((inner) => block(inner))}</blockquote>`;
    case "list": {
      const items = one.items.map((item) => html`<li dir="auto">${tight(item)}</li>`);
      return one.ordered ? html`<ol start=${one.start}>${items}</ol>` : html`<ul>${items}</ul>`;
    }
    case "rule":
      return html`<hr />`;
    case "table":
      return html`<div class="scroll" tabindex="0" role="region" aria-label="Table">
        <table>
          <thead><tr>${one.head.map((cell) => html`<th scope="col" dir="auto">${cell.map(inline)}</th>`)}</tr></thead>
          <tbody>${one.rows.map((row) => html`<tr>${row.map((cell) => html`<td dir="auto">${cell.map(inline)}</td>`)}</tr>`)}</tbody>
        </table>
      </div>`;
  }
}

/**
 * The text of an item without the distance between paragraphs, if it is one paragraph.
 * @param {import("./markdown.js").Block[]} item
 */
function tight(item) {
  return item.map((one, place) => (place === 0 && one.kind === "paragraph" ? one.of.map(inline) : block(one)));
}

/**
 * @param {import("./markdown.js").Inline} one
 * @returns {Child}
 */
function inline(one) {
  switch (one.kind) {
    case "text":
      return one.text;
    case "code":
      return html`<code>${one.text}</code>`;
    case "strong":
      return html`<strong>${one.of.map(inline)}</strong>`;
    case "em":
      return html`<em>${one.of.map(inline)}</em>`;
    case "del":
      return html`<del>${one.of.map(inline)}</del>`;
    case "break":
      return html`<br />`;
    case "link":
      return html`<${Away} to=${one.to}>${one.of.map(inline)}<//>`;
    case "image":
      return html`<${Away} to=${one.to}>Image: ${one.text || new URL(one.to).host}<//>`;
  }
}

/**
 * A link to another site, which learns nothing of this one.
 * @param {{to: string, children?: Child}} props
 */
export function Away({ to, children }) {
  return html`<a href=${to} target="_blank" rel="noopener noreferrer">${children}</a>`;
}

/** @param {{language?: string, text: string, more?: string, label?: string}} props  `more`: goes on with the text */
export function Code({ language = "", text, more = "", label = "Code" }) {
  return html`<div class="code">
    <div class="code-bar"><span>${language}</span><${CopyButton} text=${text + more} /></div>
    <pre tabindex="0" role="region" aria-label=${label} dir="ltr"><code>${text}${more}</code></pre>
  </div>`;
}
