/** Server-sent events of a run: read them, and take them up again after the last one that arrived (docs/api.md, Streams). */
import { ApiError, backOnline, lost, open } from "./api.js";

const ENDED = "[DONE]";
/** Milliseconds before a stream that broke off is resumed: the first time, and at most. */
const [SHORTEST, LONGEST] = [200, 5000];

/**
 * Cuts a stream of text into events. `push` answers the data of the events that a piece completes.
 */
export function eventCutter() {
  let rest = "";
  return {
    /** @param {string} piece */
    push(piece) {
      const parts = (rest + piece).split(/\r?\n\r?\n/);
      rest = parts.pop() ?? "";
      return parts.map(dataOf).filter((data) => data !== "");
    },
  };
}

/** @param {string} event */
function dataOf(event) {
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith("data:"));
  return lines.map((line) => line.slice(5).replace(/^ /, "")).join("\n");
}

/**
 * @typedef {{path: string, body: object, query?: Record<string, string>}} Opening
 * @typedef {import("./types.js").Message} Message
 */

/**
 * Follow a run to its end. A stream that breaks off is resumed by its run's id and the last number; before a run is known, the
 * request is repeated, which its `otid` makes harmless. Raises ApiError if the server refuses.
 * @param {Opening | string} begin  a request that sends, or the id of a run
 * @param {(event: Message) => void} heard
 * @param {AbortSignal} signal
 */
export async function follow(begin, heard, signal) {
  let run = typeof begin === "string" ? begin : null;
  let seen = 0;
  let wait = SHORTEST;
  for (;;) {
    const opening = run === null ? /** @type {Opening} */ (begin) : { path: `runs/${run}/stream`, body: { starting_after: seen } };
    try {
      const response = await open("POST", opening.path, { body: opening.body, query: opening.query, signal });
      const done = await read(response, (event) => {
        if (event.run_id) run = event.run_id;
        if (typeof event.seq_id === "number") seen = Math.max(seen, event.seq_id);
        wait = SHORTEST;
        heard(event);
      });
      if (done) return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status !== 0 && error.status !== 503) throw error;
      if (!(error instanceof ApiError)) lost();
    }
    if (signal.aborted) return;
    await backOnline();
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, LONGEST);
  }
}

/**
 * @param {Response} response
 * @param {(event: Message) => void} heard
 * @returns {Promise<boolean>} whether the stream was complete
 */
async function read(response, heard) {
  if (response.body === null) return false;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const cutter = eventCutter();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return false;
    for (const data of cutter.push(value)) {
      if (data === ENDED) return true;
      heard(JSON.parse(data));
    }
  }
}
