/**
 * The log as a list of which only the part near the screen is drawn. Entries lie in chunks; a chunk away from the screen is an empty box of its height.
 */
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../../vendor/htm-preact-3.1.1.js";
import { EntryView } from "./entry.js";

/** @typedef {import("./transcript.js").Entry} Entry */
/** @typedef {{number: number, entries: Entry[]}} Chunk */

const SIZE = 30;
const GUESS = 90;
const NEAR = 1200;
const STICKY = 60;

/**
 * Entries in chunks whose borders stay where they are when older entries come before them.
 * @param {Entry[]} entries
 * @param {number} prepended  how many entries came before the first ones
 * @returns {Chunk[]}
 */
export function chunked(entries, prepended) {
  /** @type {Chunk[]} */
  const found = [];
  entries.forEach((entry, place) => {
    const number = Math.floor((place - prepended) / SIZE);
    const last = found[found.length - 1];
    if (last?.number === number) last.entries.push(entry);
    else found.push({ number, entries: [entry] });
  });
  return found;
}

/**
 * @param {{session: import("./session.js").ChatSession, version: number, target: string | null, children?: import("../../vendor/htm-preact-3.1.1.js").Child}} props
 * `version`: changes with the session. `target`: the message to show, instead of the end.
 */
export function Log({ session, version, target, children }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const sticks = useRef(true);
  const height = useRef(0);
  // A token of a followed run changes none of these, so that it costs the same below a long log as below a short one.
  const chunks = useMemo(() => chunked(session.history.entries, session.prepended), [session.history, session.prepended, session.crossing]);
  const asked = useMemo(() => new Set(/** @type {Entry[]} */ (session.waiting)), [chunks, session.busy]);
  const past = useMemo(() => chunks.map((chunk) => html`<${ChunkView} key=${chunk.number} chunk=${chunk} asked=${asked} box=${box} shown=${chunk === chunks[chunks.length - 1] || chunk.entries.some((one) => one.id === target)} />`), [chunks, asked, target]);
  const scrolled = (/** @type {{currentTarget: HTMLElement}} */ { currentTarget: element }) => {
    // This event comes late: what has grown meanwhile is below the end that was scrolled to, and the log may have left the page.
    // Only a way up leaves the end.
    if (element.scrollHeight - element.scrollTop - element.clientHeight < STICKY) sticks.current = true;
    else if (element.scrollTop < height.current) sticks.current = false;
    height.current = element.scrollTop;
    if (element.scrollTop < NEAR && session.loaded) session.loadOlder();
    if (element.scrollTop === 0) element.scrollTop = 1; // The browser anchors the view only where something is above it.
  };
  useLayoutEffect(() => {
    if (box.current && sticks.current && !target) box.current.scrollTop = box.current.scrollHeight;
  }, [version]);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const grown = new ResizeObserver(() => {
      if (sticks.current) element.scrollTop = element.scrollHeight;
    });
    grown.observe(/** @type {Element} */ (element.firstElementChild));
    grown.observe(element);
    return () => grown.disconnect();
  }, []);
  useEffect(() => {
    if (!target || !session.knows(target)) return;
    sticks.current = false;
    document.querySelector(`[data-id="${CSS.escape(target)}"]`)?.scrollIntoView({ block: "center" });
  }, [target, session.history]);
  return html`<div class="log" ref=${box} onScroll=${scrolled} tabindex="0" role="log" aria-live="off" aria-label="Conversation" aria-busy=${session.busy}>
    <div class="log-inner">
      ${session.loaded && !session.hasOlder && html`<p class="note">The beginning of the conversation.</p>`}
      ${past}
      ${session.liveEntries.map((entry) => html`<${EntryView} key=${entry.key} entry=${entry} />`)}
      ${session.notes.map((entry) => html`<${EntryView} key=${entry.key} entry=${entry} />`)}
      ${children}
    </div>
  </div>`;
}

/**
 * @param {{chunk: Chunk, asked: Set<Entry>, box: {current: HTMLElement | null}, shown: boolean}} props
 * `asked`: the calls that are shown where they are answered. `shown`: drawn at once, before it is known to be near.
 */
function ChunkView({ chunk, asked, box, shown }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const [near, setNear] = useState(shown);
  const height = useRef(chunk.entries.length * GUESS);
  useEffect(() => {
    const element = /** @type {HTMLElement} */ (place.current);
    const watching = new IntersectionObserver(
      ([seen]) => {
        if (!seen.isIntersecting) height.current = element.offsetHeight;
        setNear(seen.isIntersecting);
      },
      { root: box.current, rootMargin: `${NEAR}px 0px` },
    );
    watching.observe(element);
    return () => watching.disconnect();
  }, []);
  const drawn = near || shown;
  const list = chunk.entries.filter((one) => !asked.has(one));
  const inside = useMemo(() => (drawn ? list.map((entry) => html`<${EntryView} key=${entry.key} entry=${entry} />`) : null), [drawn, ...list]);
  return html`<div ref=${place} style=${drawn ? null : { height: `${height.current}px` }}>${inside}</div>`;
}
