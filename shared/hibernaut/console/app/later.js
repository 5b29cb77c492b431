/** Views whose modules come when they are first shown. */
import { html, useEffect, useState } from "../vendor/htm-preact-3.1.1.js";
import { Failure, Loading } from "./ui.js";

const MISSING = new Error("A part of the console is missing: load the page again.");

/**
 * A view that loads itself. Once it is there, it is drawn at once.
 * @param {() => Promise<any>} load  its component
 * @param {{isDialog?: boolean}} [how]  `isDialog`: nothing stands in its place meanwhile
 */
export function later(load, { isDialog = false } = {}) {
  /** @type {any} */
  let View = null;
  /** @param {Record<string, unknown>} props */
  return function Later(props) {
    const [missing, setMissing] = useState(false);
    const [, draw] = useState({});
    useEffect(() => {
      if (View) return;
      const there = (/** @type {any} */ view) => {
        View = view;
        draw({});
      };
      load().then(there, () => setMissing(true));
    }, []);
    if (View) return html`<${View} ...${props} />`;
    if (missing) return html`<div class="page"><${Failure} error=${MISSING} again=${() => location.reload()} /></div>`;
    return isDialog ? null : html`<div class="page"><${Loading} /></div>`;
  };
}
