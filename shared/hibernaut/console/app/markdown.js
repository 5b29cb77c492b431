/**
 * Markdown of models as a tree of plain values. HTML is text here, and so is every link that does not lead to a web page or a mailbox.
 *
 * @typedef {{kind: "text" | "code", text: string} | {kind: "strong" | "em" | "del", of: Inline[]} | {kind: "link", to: string, of: Inline[]}
 *   | {kind: "image", to: string, text: string} | {kind: "break"}} Inline
 * @typedef {{kind: "heading", level: number, of: Inline[]} | {kind: "paragraph", of: Inline[]} | {kind: "code", language: string, text: string}
 *   | {kind: "quote", of: Block[]} | {kind: "list", ordered: boolean, start: number, items: Block[][]} | {kind: "rule"}
 *   | {kind: "table", head: Inline[][], rows: Inline[][][]}} Block
 */

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+|$)/;
const QUOTE = /^ {0,3}> ?/;
const DIVIDER = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
const DEEPEST = 12;
/** How many settled pieces are drawn by one view. */
const GROUP = 32;

/**
 * The pieces of a text between blank lines outside of code, with the places where they begin: each can be parsed by itself.
 * @param {string} text
 * @returns {{start: number, text: string}[]}
 */
export function pieces(text) {
  /** @type {{start: number, lines: string[]}[]} */
  const found = [{ start: 0, lines: [] }];
  let fence = "";
  let at = 0;
  for (const line of text.split("\n")) {
    const mark = FENCE.exec(line)?.[1];
    if (fence) {
      if (mark?.startsWith(fence)) fence = "";
    } else if (mark) fence = mark;
    const last = found[found.length - 1];
    if (line.trim() === "" && !fence) {
      if (last.lines.length) found.push({ start: 0, lines: [] });
    } else if (last.lines.length === 0 && /^\s/.test(line) && found.length > 1) {
      found.pop(); // An indented line goes on with the list item before it.
      found[found.length - 1].lines.push("", line);
    } else {
      if (last.lines.length === 0) last.start = at;
      last.lines.push(line);
    }
    at += line.length + 1;
  }
  return found.filter(({ lines }) => lines.length).map(({ start, lines }) => ({ start, text: lines.join("\n") }));
}

/**
 * The pieces of a text that grows. A piece is settled once another one has begun after it: it is not read again, so that a token costs the same
 * at the end of a long text as at its beginning.
 */
export class GrowingText {
  constructor() {
    /** The settled pieces, in groups of which all but the last one are full. @type {string[][]} */
    this.groups = [[]];
    /** The piece that may still grow. */
    this.tail = "";
    this.text = "";
    /** The text from the beginning of the tail. */
    this.written = "";
    /** Where the tail begins. */
    this.from = 0;
    /** How many characters were read in all. */
    this.read = 0;
  }

  /**
   * The text as it is now.
   * @param {string} text
   * @param {boolean} isLive  it is written: what was settled is as it was, and is not even compared
   */
  grow(text, isLive) {
    const goesOn = isLive ? text.startsWith(this.written, this.from) : text.startsWith(this.text);
    if (goesOn && text.length === this.text.length) return;
    if (!goesOn) Object.assign(this, { groups: [[]], from: 0 }); // Another text.
    const found = pieces(text.slice(this.from));
    this.read += text.length - this.from;
    this.text = text;
    const tail = found.pop();
    this.tail = tail?.text ?? "";
    for (const piece of found) this.#settle(piece.text);
    this.from += tail?.start ?? 0;
    this.written = text.slice(this.from);
  }

  /** @param {string} piece */
  #settle(piece) {
    const last = this.groups[this.groups.length - 1];
    if (last.length < GROUP) last.push(piece);
    else this.groups.push([piece]);
  }
}

/**
 * @param {string} text
 * @param {number} [depth]
 * @returns {Block[]}
 */
export function blocks(text, depth = 0) {
  const lines = text.split("\n");
  /** @type {Block[]} */
  const found = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at];
    if (line.trim() === "") at += 1;
    else if (FENCE.test(line)) at = fenced(lines, at, found);
    else if (HEADING.test(line)) {
      const [, marks, title] = /** @type {RegExpExecArray} */ (HEADING.exec(line));
      found.push({ kind: "heading", level: marks.length, of: inline(title) });
      at += 1;
    } else if (RULE.test(line)) {
      found.push({ kind: "rule" });
      at += 1;
    } else if (QUOTE.test(line) && depth < DEEPEST) {
      const from = at;
      while (at < lines.length && QUOTE.test(lines[at])) at += 1;
      const inner = lines.slice(from, at).map((one) => one.replace(QUOTE, "")).join("\n");
      found.push({ kind: "quote", of: blocks(inner, depth + 1) });
    } else if (ITEM.test(line) && depth < DEEPEST) at = list(lines, at, found, depth);
    else if (line.includes("|") && at + 1 < lines.length && DIVIDER.test(lines[at + 1])) at = table(lines, at, found);
    else at = paragraph(lines, at, found, depth);
  }
  return found;
}

/** @type {(lines: string[], at: number, found: Block[]) => number} */
function fenced(lines, at, found) {
  const [, mark, language] = /** @type {RegExpExecArray} */ (FENCE.exec(lines[at]));
  let end = at + 1;
  while (end < lines.length && !(lines[end].trim().startsWith(mark) && lines[end].trim().replaceAll(mark[0], "") === "")) end += 1;
  found.push({ kind: "code", language, text: lines.slice(at + 1, end).join("\n") });
  return end + 1;
}

/** @type {(lines: string[], at: number, found: Block[], depth: number) => number} */
function list(lines, at, found, depth) {
  const first = /** @type {RegExpExecArray} */ (ITEM.exec(lines[at]));
  const ordered = /\d/.test(first[2]);
  /** @type {string[][]} */
  const items = [];
  for (; at < lines.length; at += 1) {
    const mark = ITEM.exec(lines[at]);
    const inside = /^\s{2,}/.test(lines[at]);
    if (mark && !inside && /\d/.test(mark[2]) === ordered) items.push([lines[at].slice(mark[0].length)]);
    else if (inside || lines[at].trim() === "") items[items.length - 1].push(lines[at].replace(/^\s{2,4}/, ""));
    else break;
  }
  const start = ordered ? Number.parseInt(first[2], 10) : 1;
  found.push({ kind: "list", ordered, start, items: items.map((item) => blocks(item.join("\n"), depth + 1)) });
  return at;
}

/** @type {(lines: string[], at: number, found: Block[]) => number} */
function table(lines, at, found) {
  /** @param {string} line */
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => inline(cell.trim()));
  const head = cells(lines[at]);
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|")) end += 1;
  found.push({ kind: "table", head, rows: lines.slice(at + 2, end).map(cells) });
  return end;
}

/** @type {(lines: string[], at: number, found: Block[], depth: number) => number} */
function paragraph(lines, at, found, depth) {
  const from = at;
  const begins = [FENCE, HEADING, RULE, ...(depth < DEEPEST ? [QUOTE, ITEM] : [])];
  do at += 1;
  while (at < lines.length && lines[at].trim() !== "" && !begins.some((mark) => mark.test(lines[at])));
  found.push({ kind: "paragraph", of: inline(lines.slice(from, at).join("\n")) });
  return at;
}

const INLINE = new RegExp(
  [
    /\\([!-/:-@[-`{-~])/, // 1 an escaped mark
    /(`+)([^`]|[^`].*?[^`])\2(?!`)/, // 2, 3 code
    /!\[([^\]]*)\]\(\s*([^\s)]+)[^)]*\)/, // 4, 5 an image
    /\[((?:[^[\]]|\[[^\]]*\])+)\]\(\s*([^\s)]+)[^)]*\)/, // 6, 7 a link
    /(https?:\/\/[^\s<>()[\]"'`]*[^\s<>()[\]"'`.,;:!?])/, // 8 an address
    /(?:\*\*(?=\S)(.+?)(?<=\S)\*\*|(?<!\w)__(?=\S)(.+?)(?<=\S)__(?!\w))/, // 9, 10 strong
    /(?:\*(?=[^\s*])(.+?)(?<=[^\s*])\*|(?<!\w)_(?=[^\s_])(.+?)(?<=[^\s_])_(?!\w))/, // 11, 12 emphasis
    /~~(?=\S)(.+?)(?<=\S)~~/, // 13 deleted
    /(?: {2,}|\\)?(\n)/, // 14 a line
  ]
    .map((one) => one.source)
    .join("|"),
  "gs",
);

/**
 * @param {string} text
 * @param {number} [depth]
 * @returns {Inline[]}
 */
export function inline(text, depth = 0) {
  if (depth > DEEPEST) return [{ kind: "text", text }];
  /** @type {Inline[]} */
  const found = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > end) found.push({ kind: "text", text: text.slice(end, match.index) });
    end = match.index + match[0].length;
    found.push(piece(match, depth + 1));
  }
  if (end < text.length) found.push({ kind: "text", text: text.slice(end) });
  return found;
}

/**
 * @param {RegExpExecArray | RegExpMatchArray} match
 * @param {number} depth
 * @returns {Inline}
 */
function piece(match, depth) {
  const [whole, mark, , code, alt, image, label, to, plain, strong, strong2, em, em2, gone] = match;
  if (mark !== undefined) return { kind: "text", text: mark };
  if (code !== undefined) return { kind: "code", text: code };
  if (image !== undefined) return isPage(image) ? { kind: "image", to: image, text: alt } : { kind: "text", text: whole };
  if (to !== undefined) return isLink(to) ? { kind: "link", to, of: inline(label, depth) } : { kind: "text", text: whole };
  if (plain !== undefined) return { kind: "link", to: plain, of: [{ kind: "text", text: plain }] };
  const loud = strong ?? strong2;
  const soft = em ?? em2;
  if (loud !== undefined) return { kind: "strong", of: inline(loud, depth) };
  if (soft !== undefined) return { kind: "em", of: inline(soft, depth) };
  if (gone !== undefined) return { kind: "del", of: inline(gone, depth) };
  return { kind: "break" };
}

/** @param {string} address */
export const isPage = (address) => /^https?:\/\/[^\s/]/i.test(address);
/** @param {string} address */
const isLink = (address) => isPage(address) || /^mailto:[^\s]+@/i.test(address);
