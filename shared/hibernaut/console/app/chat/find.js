/** Search in what was said, by words and by meaning. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { post } from "../api.js";
import { Dialog, Failure, Loading, Time } from "../ui.js";

/** @typedef {import("../types.js").MessageHit} MessageHit */

const MOST = 20;

/** @param {{agentId: string, close: () => void, show: (hit: MessageHit) => void}} props */
export function Find({ agentId, close, show }) {
  const [hits, setHits] = useState(/** @type {MessageHit[] | null} */ (null));
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState(/** @type {unknown} */ (null));
  /** @param {SubmitEvent} event */
  const search = async (event) => {
    event.preventDefault();
    const query = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("query"));
    setBusy(true);
    setFailed(null);
    try {
      setHits(await post("messages/search", { query, agent_id: agentId, limit: MOST }));
    } catch (error) {
      setFailed(error);
    }
    setBusy(false);
  };
  return html`<${Dialog} title="Search this agent's messages" close=${close}>
    <form class="row tight" onSubmit=${search}>
      <label class="grow"><span class="sr">What was said</span><input name="query" type="search" required dir="auto" autofocus /></label><button class="primary">Search</button>
    </form>
    <${Failure} error=${failed} />
    ${busy && html`<${Loading} label="Searching" />`}
    ${hits && !busy && hits.length === 0 && html`<p class="muted" role="status">Nothing was found.</p>`}
    <ul class="plain found">
      ${hits?.map(
        (hit) => html`<li><button type="button" onClick=${() => show(hit)}>
          <span class="muted small">${hit.message_type === "user_message" ? "You" : "Agent"} · <${Time} at=${hit.created_at} /></span><br />
          <span dir="auto">${hit.content.slice(0, 240)}</span>
        </button></li>`,
      )}
    </ul>
  <//>`;
}
