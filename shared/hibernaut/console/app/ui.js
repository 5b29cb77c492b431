/** The parts that all views are made of. */
import { html, useEffect, useRef, useState } from "../vendor/htm-preact-3.1.1.js";
import { ApiError } from "./api.js";
import { ago, moment } from "./format.js";
import { store, useStore } from "./store.js";

/** @typedef {import("../vendor/htm-preact-3.1.1.js").Child} Child */

const PATHS = {
  agent: "M12 3v3M7 9h10a3 3 0 0 1 3 3v5a3 3 0 0 1-3 3H7a3 3 0 0 1-3-3v-5a3 3 0 0 1 3-3zM9 14h.01M15 14h.01",
  alert: "M12 8v5M12 16.5v.01M10.3 3.9 2.4 17.6A2 2 0 0 0 4.1 20.6h15.8a2 2 0 0 0 1.7-3L13.7 3.9a2 2 0 0 0-3.4 0z",
  back: "M15 5l-7 7 7 7",
  check: "M5 12.5l4.5 4.5L19 7.5",
  chat: "M4 5h16v11H9l-5 4z",
  close: "M6 6l12 12M18 6L6 18",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  down: "M6 9l6 6 6-6",
  fork: "M6 3v12M6 21a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM18 9a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM18 9a9 9 0 0 1-9 9",
  history: "M4 12a8 8 0 1 0 2.4-5.7M4 4v4h4M12 8v4l3 2",
  home: "M4 11l8-7 8 7v9h-5v-6H9v6H4z",
  image: "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15.5 9v.01",
  memory: "M4 6c0-4 16-4 16 0v12c0 4-16 4-16 0zM4 6c0 4 16 4 16 0M4 12c0 4 16 4 16 0",
  moon: "M20 14A8 8 0 0 1 10 4a8 8 0 1 0 10 10z",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  plus: "M12 5v14M5 12h14",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4 4",
  send: "M5 12l14-7-5 14-3-6z",
  spark: "M12 4l1.8 5.2L19 11l-5.2 1.8L12 18l-1.8-5.2L5 11l5.2-1.8z",
  stop: "M7 7h10v10H7z",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M19 5l-1.4 1.4M6.4 17.6L5 19",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5",
  tool: "M14.5 4a5 5 0 0 0-4.6 6.9L4 16.8V20h3.2l5.9-5.9A5 5 0 0 0 20 9.5l-3 3-2.5-2.5 3-3a5 5 0 0 0-3-1z",
};

/** @param {{name: keyof typeof PATHS}} props */
export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d=${PATHS[name]} /></svg>`;
}

/**
 * A button with an icon alone: its label is its name for everybody.
 * @param {{icon: keyof typeof PATHS, label: string, onClick?: (event: Event) => void, disabled?: boolean, kind?: string, [more: string]: unknown}} props
 */
export function IconButton({ icon, label, onClick, disabled, kind = "quiet", ...more }) {
  return html`<button type="button" class=${`icon-button ${kind}`} aria-label=${label} title=${label} onClick=${onClick} disabled=${disabled} ...${more}>
    <${Icon} name=${icon} />
  </button>`;
}

/** @param {{text: string, label?: string}} props */
export function CopyButton({ text, label = "Copy" }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return undefined;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  if (!navigator.clipboard) return null;
  const copy = () => navigator.clipboard.writeText(text).then(() => (setDone(true), say("Copied.")), () => say("The browser refuses to copy."));
  return html`<${IconButton} icon=${done ? "check" : "copy"} label=${label} onClick=${copy} />`;
}

/** @param {{at: string}} props */
export function Time({ at }) {
  return html`<time datetime=${at} title=${moment(at)}>${ago(at)}</time>`;
}

/**
 * A failure: the route, the status, what the server said, and what to do.
 * @param {{error: unknown, again?: () => void, close?: () => void, advice?: string}} props  `advice`: what to do here, instead of what the status says
 */
export function Failure({ error, again, close, advice }) {
  if (!error) return null;
  const known = error instanceof ApiError ? error : null;
  return html`<div class="notice bad" role="alert">
    <${Icon} name="alert" />
    <div class="grow">
      <p class="strong">${error instanceof Error ? error.message : String(error)}</p>
      ${known && html`<p>${(known.status !== 0 && advice) || known.advice}</p><p class="small"><code>${known.route}</code> · ${known.status ? `status ${known.status}` : "no answer"}</p>`}
    </div>
    ${again && html`<button type="button" onClick=${again}>Try again</button>`}
    ${close && html`<${IconButton} icon="close" label="Close this message" onClick=${close} />`}
  </div>`;
}

/** What stands where something will be. `first`: nothing was there before, so what stands below waits (`base.css`). @param {{label?: string, first?: boolean}} props */
export function Loading({ label = "Loading", first = false }) {
  return html`<p class=${`muted loading ${first ? "first" : ""}`} role="status">${label} …</p>`;
}

/**
 * A dialog above the page. The browser keeps the focus inside, and Escape closes it.
 * @param {{title: string, close: () => void, children?: Child, wide?: boolean}} props
 */
export function Dialog({ title, close, children, wide = false }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    ref.current?.showModal();
    return () => before?.focus?.();
  }, []);
  /** @param {MouseEvent} event */
  const outside = (event) => event.target === ref.current && close();
  return html`<dialog ref=${ref} class=${wide ? "wide" : ""} aria-label=${title} onClose=${close} onMouseDown=${outside}>
    <header class="dialog-head"><h2>${title}</h2><${IconButton} icon="close" label="Close" onClick=${close} /></header>
    <div class="dialog-body">${children}</div>
  </dialog>`;
}

/**
 * Asks before something that cannot be undone.
 * @param {{title: string, text: string, act: string, done: () => void | Promise<void>, close: () => void}} props
 */
export function Confirm({ title, text, act, done, close }) {
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    try {
      await done();
      close();
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return html`<${Dialog} title=${title} close=${close}>
    <p>${text}</p>
    <${Failure} error=${error} />
    <div class="row end"><button type="button" onClick=${close}>Cancel</button><button type="button" class="danger" disabled=${busy} onClick=${run}>${act}</button></div>
  <//>`;
}

/** What the live region says, and an action that takes it back. */
const told = store(/** @type {{text: string, undo?: () => void} | null} */ (null));
/** @type {ReturnType<typeof setTimeout> | undefined} */
let fading;

/**
 * Tell in the live region; with `undo`, a message with that button stays longer. It stays as long as somebody points at it or is on its button.
 * @param {string} text
 * @param {() => void} [undo]
 */
export function say(text, undo) {
  told.set({ text, undo });
  fade();
}

function fade() {
  hold();
  fading = setTimeout(() => told.set(null), told.get()?.undo ? 10_000 : 4000);
}

function hold() {
  clearTimeout(fading);
}

/** What only screen readers hear. */
const heard = store("");

/**
 * Tell screen readers what everybody else sees.
 * @param {string} text
 */
export function announce(text) {
  heard.set(text);
}

export function Announcer() {
  const now = useStore(told);
  const spoken = useStore(heard);
  const undo = () => (now?.undo?.(), told.set(null));
  return html`<div class=${`toast ${now ? "" : "hidden"}`} role="status" aria-live="polite" onPointerEnter=${hold} onPointerLeave=${fade} onFocusCapture=${hold} onBlurCapture=${fade}>
      <span>${now?.text}</span>${now?.undo && html`<button type="button" onClick=${undo}>Undo</button>`}
    </div>
    <div class="sr" role="status" aria-live="polite">${spoken}</div>`;
}

/**
 * The title of the page and of the browser's tab.
 * @param {string} title
 */
export function useTitle(title) {
  useEffect(() => {
    document.title = title ? `${title} · Hibernaut` : "Hibernaut";
  }, [title]);
}

/**
 * A page that asks again rests so many times as long as the answer took, so that it has at most a hundredth of the server's time, however much the
 * server has to do; but no longer than this many milliseconds.
 */
const [REST, LONGEST_REST] = [100, 60_000];
/** The longest pause in milliseconds where something is under way whose end a person waits for, on a slow network too. */
const AWAITED = 5000;

/**
 * Do something again and again while the page is visible, and at once when it becomes visible after a time in which it would have been done.
 * @param {() => unknown} act  a promise: the pause begins when it is settled
 * @param {number} every  milliseconds of the shortest pause
 * @param {unknown[]} inputs
 * @param {boolean} [awaited]  whether a person waits for what it will find
 */
export function useRepeated(act, every, inputs, awaited = false) {
  useEffect(() => {
    let ended = false;
    let isDue = false;
    /** @type {ReturnType<typeof setTimeout>} */
    let timer;
    const turn = async () => {
      isDue = document.visibilityState !== "visible";
      if (isDue) return;
      const began = performance.now();
      await act();
      const rest = Math.min((performance.now() - began) * REST, awaited ? AWAITED : LONGEST_REST);
      if (!ended) timer = setTimeout(turn, Math.max(every, rest));
    };
    const shown = () => isDue && turn();
    timer = setTimeout(turn, every);
    document.addEventListener("visibilitychange", shown);
    return () => {
      ended = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", shown);
    };
  }, [every, awaited, ...inputs]);
}
