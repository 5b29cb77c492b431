/** A run that goes on, as it is written: its stream from the first event, taken up again after a lost network. */
import { html, useEffect, useState } from "../../vendor/htm-preact-3.1.1.js";
import { EntryView } from "../chat/entry.js";
import { Transcript } from "../chat/transcript.js";
import { follow } from "../sse.js";
import { Failure } from "../ui.js";

/** @typedef {import("../chat/transcript.js").Entry} Entry */

/** @param {{runId: string, ended: () => void}} props */
export function Live({ runId, ended }) {
  const [entries, setEntries] = useState(/** @type {Entry[]} */ ([]));
  const [failed, setFailed] = useState(/** @type {unknown} */ (null));
  useEffect(() => {
    const stop = new AbortController();
    const transcript = new Transcript();
    let drawing = 0;
    const draw = () => {
      drawing = 0;
      setEntries([...transcript.entries]);
    };
    const hear = (/** @type {import("../types.js").Message} */ event) => {
      transcript.take(event, true);
      drawing ||= requestAnimationFrame(draw); // At most once for each frame of the screen.
    };
    follow(runId, hear, stop.signal).then(() => stop.signal.aborted || ended(), setFailed);
    return () => (stop.abort(), cancelAnimationFrame(drawing));
  }, [runId]);
  return html`<div class="live stack" role="log" aria-label="The run as it is written" tabindex="0">
    <h3>Live</h3>
    <${Failure} error=${failed} />
    ${entries.length === 0 && !failed && html`<p class="muted small">Nothing is written yet.</p>`}
    ${entries.map((entry) => html`<${EntryView} key=${entry.key} entry=${entry} />`)}
  </div>`;
}
