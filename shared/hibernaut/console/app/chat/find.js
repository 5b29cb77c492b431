/** Search in what was said, by words and by meaning. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { call } from "../api.js";
import { useLoaded } from "../store.js";
import { Dialog, Failure, Loading, Time } from "../ui.js";

/** @typedef {import("../types.js").MessageHit} MessageHit */

const MOST = 20;

/** @param {{agentId: string, close: () => void, show: (hit: MessageHit) => void}} props */
export function Find({ agentId, close, show }) {
  const [query, setQuery] = useState("");
  const { value: hits, error, loading, again } = useLoaded(
    async (signal) => (query ? /** @type {MessageHit[]} */ (await call("POST", "messages/search", { body: { query, agent_id: agentId, limit: MOST }, signal })) : null),
    [query],
  );
  const busy = loading && query !== "";
  /** @param {SubmitEvent} event */
  const search = (event) => {
    event.preventDefault();
    const wanted = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("query"));
    if (wanted === query) again();
    else setQuery(wanted);
  };
  return html`<${Dialog} title="Search this agent's messages" close=${close}>
    <form class="row tight" onSubmit=${search}>
      <label class="grow"><span class="sr">What was said</span><input name="query" type="search" required dir="auto" autofocus /></label><button class="primary">Search</button>
    </form>
    <${Failure} error=${error} />
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
