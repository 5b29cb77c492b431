/** Draws markdown as elements. Nothing is loaded from elsewhere: an image is a link that a person may follow. */
import { html, useMemo } from "../vendor/htm-preact-3.1.1.js";
import { blocks, pieces } from "./markdown.js";
import { CopyButton } from "./ui.js";

/** @typedef {import("../vendor/htm-preact-3.1.1.js").Child} Child */

/** @param {{text: string}} props */
export function Markdown({ text }) {
  return html`<div class="prose" dir="auto">${pieces(text).map((piece, place) => html`<${Piece} key=${place} text=${piece} />`)}</div>`;
}

/** @param {{text: string}} props */
function Piece({ text }) {
  return useMemo(() => html`<div class="piece">${blocks(text).map(block)}</div>`, [text]);
}

/**
 * @param {import("./markdown.js").Block} one
 * @returns {Child}
 */
function block(one) {
  switch (one.kind) {
    case "heading":
      return html`<p role="heading" aria-level=${Math.min(one.level + 2, 6)} class=${`h${one.level}`} dir="auto">${one.of.map(inline)}</p>`;
    case "paragraph":
      return html`<p dir="auto">${one.of.map(inline)}</p>`;
    case "code":
      return html`<${Code} language=${one.language} text=${one.text} />`;
    case "quote":
      return html`<blockquote>${one.of.map(block)}</blockquote>`;
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

/** @param {{language?: string, text: string, label?: string}} props */
export function Code({ language = "", text, label = "Code" }) {
  return html`<div class="code">
    <div class="code-bar"><span>${language}</span><${CopyButton} text=${text} /></div>
    <pre tabindex="0" role="region" aria-label=${label} dir="ltr"><code>${text}</code></pre>
  </div>`;
}
