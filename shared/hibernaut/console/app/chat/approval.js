/** The calls that wait for a person: each is approved or denied in its place, and the answers are sent together. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { moment } from "../format.js";
import { CallView } from "./entry.js";

/** @typedef {import("./transcript.js").Call} Call */
/** @typedef {{tool_call_id: string, approve: boolean, reason: string | null}} Decision */

/**
 * @param {{calls: Call[], deadline: number | null, answer: (decisions: Decision[]) => void}} props  deadline: the agent's, in seconds
 */
export function Approvals({ calls, deadline, answer }) {
  const [decided, setDecided] = useState(/** @type {Decision[]} */ ([]));
  /** @param {Decision} decision */
  const decide = (decision) => {
    const all = [...decided.filter((one) => one.tool_call_id !== decision.tool_call_id), decision];
    setDecided(all);
    if (calls.every((call) => all.some((one) => one.tool_call_id === call.callId))) answer(all);
  };
  return html`<div class="stack">
    ${calls.map((call) => html`<${Asked} key=${call.callId} call=${call} decide=${decide} until=${untilOf(call, deadline)} several=${calls.length > 1}
      decision=${decided.find((one) => one.tool_call_id === call.callId)} />`)}
  </div>`;
}

/** @param {Call} call @param {number | null} deadline */
function untilOf(call, deadline) {
  return call.date && deadline ? moment(new Date(new Date(call.date).getTime() + deadline * 1000).toISOString()) : null;
}

/** @param {{call: Call, decide: (decision: Decision) => void, until: string | null, several: boolean, decision?: Decision}} props */
function Asked({ call, decide, until, several, decision }) {
  const [reason, setReason] = useState("");
  const choose = (/** @type {boolean} */ approve) => decide({ tool_call_id: call.callId, approve, reason: approve ? null : reason || null });
  return html`<${CallView} call=${call}>
    <div class="asked" role="group" aria-label=${`Approval of ${call.name}`}>
      <p><strong>${call.name}</strong> runs only if you approve it.${until && html` <span class="small">Without an answer it is denied, by the agent's setting at ${until}.</span>`}</p>
      <label class="field"><span>Reason, if you deny it</span><input value=${reason} dir="auto" onInput=${(/** @type {any} */ event) => setReason(event.target.value)} /></label>
      <div class="row">
        <button type="button" class="primary" aria-pressed=${several ? decision?.approve === true : undefined} onClick=${() => choose(true)}>Approve</button>
        <button type="button" class="danger" aria-pressed=${several ? decision?.approve === false : undefined} onClick=${() => choose(false)}>Deny</button>
        ${several && html`<span class="small">The agent goes on when all calls are answered.</span>`}
      </div>
    </div>
  <//>`;
}
