/** What a compaction would drop from the window now: which messages, and what would stay. No model is asked for it. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { get } from "../api.js";
import { count } from "../format.js";
import { useLoaded } from "../store.js";
import { Failure, Loading, Time } from "../ui.js";

/** @typedef {import("../types.js").CompactionPlan} Plan */

const ROLES = /** @type {Record<string, string>} */ ({ user: "user", assistant: "agent", tool: "tool", summary: "summary", system: "system" });
/** How many of the dropped messages are listed at first. */
const FEW = 10;

/** @param {{agentId: string, at: unknown}} props  `at`: the window that is shown; another one asks anew */
export function Forecast({ agentId, at }) {
  const { value, error, again } = useLoaded((signal) => /** @type {Promise<Plan>} */ (get(`agents/${agentId}/context/compaction`, {}, signal)), [agentId, at]);
  const [all, setAll] = useState(false);
  return html`<section class="stack" aria-labelledby="forecast">
    <div><h2 id="forecast">What a compaction would drop</h2>
      ${value && html`<p class="muted small">A run compacts by itself when a request has more than ${count(value.threshold)} tokens. As the provider counts, it has ${count(value.tokens)} now.</p>`}</div>
    <${Failure} error=${error} again=${again} />
    ${!value && !error && html`<${Loading} first />`}
    ${value && value.mode === null && html`<p class="empty card">Nothing could be dropped now: the window is too short to be divided.</p>`}
    ${value && value.mode !== null && html`<${Dropped} plan=${value} all=${all} show=${() => setAll(true)} />`}
  </section>`;
}

/** @param {{plan: Plan, all: boolean, show: () => void}} props */
function Dropped({ plan, all, show }) {
  const shown = all ? plan.dropped : plan.dropped.slice(0, FEW);
  return html`<p>The oldest <strong>${count(plan.dropped.length)}</strong> of ${count(plan.num_messages)} messages would leave the window. <strong>${count(plan.tokens_after)}</strong> tokens would
      remain, and a summary of at most ${count(plan.summary_limit)}. The log keeps every message.</p>
    <div class="scroll card table-card" tabindex="0" role="region" aria-label="Messages that would leave"><table>
      <thead><tr><th scope="col">From</th><th scope="col">Tokens</th><th scope="col">Said</th><th scope="col">When</th></tr></thead>
      <tbody>${shown.map((one) => html`<tr key=${one.id}><th scope="row">${ROLES[one.role] ?? one.role}</th><td>${count(one.tokens)}</td><td class="excerpt" dir="auto">${one.text || "—"}</td><td><${Time} at=${one.created_at} /></td></tr>`)}</tbody>
    </table></div>
    ${shown.length < plan.dropped.length && html`<button type="button" onClick=${show}>Show all ${count(plan.dropped.length)}</button>`}`;
}
