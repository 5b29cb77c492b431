/**
 * The calls that wait: each is answered in its place, and the answers are sent together. A call of the agent's own tools is approved or denied; one of the
 * client's tools gets its return, which a person may write where the client does not answer.
 */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { get } from "../api.js";
import { moment, soon } from "../format.js";
import { useLoaded } from "../store.js";
import { Failure, Loading } from "../ui.js";
import { CallView } from "./entry.js";

/** @typedef {import("./transcript.js").Call} Call */
/** @typedef {import("../types.js").RunApproval} RunApproval */
/** @typedef {{type: "approval", tool_call_id: string, approve: boolean, reason: string | null}
 *   | {type: "tool", tool_call_id: string, tool_return: string, status: "success" | "error"}} Decision */
/** @typedef {{call: Call, until: string | null, decide: (decision: Decision) => void, decision?: Decision}} Asking */

/** @param {{calls: Call[], answer: (decisions: Decision[], clientTools: RunApproval["client_tools"]) => void}} props */
export function Approvals({ calls, answer }) {
  const [decided, setDecided] = useState(/** @type {Decision[]} */ ([]));
  const run = calls[0].run;
  const { value, error, again } = useLoaded((signal) => /** @type {Promise<RunApproval | null>} */ (run ? get(`runs/${run}/approval`, {}, signal) : Promise.resolve(null)), [run]);
  /** @param {Decision} decision */
  const decide = (decision) => {
    const all = [...decided.filter((one) => one.tool_call_id !== decision.tool_call_id), decision];
    setDecided(all);
    if (calls.every((call) => all.some((one) => one.tool_call_id === call.callId))) answer(all, value?.client_tools ?? []);
  };
  return html`<div class="stack">
    ${calls.map((call) => {
      const known = value?.calls.find((one) => one.tool_call_id === call.callId);
      const asking = { call, decide, until: value?.deadline ?? null, decision: decided.find((one) => one.tool_call_id === call.callId) };
      return html`<${CallView} key=${call.callId} call=${call}>
        ${value === undefined && !error && html`<div class="asked"><${Loading} label="Asking what waits" /></div>`}
        ${(value !== undefined || error) && (known?.by_client ? html`<${OfClient} ...${asking} about=${value?.client_tools.find((one) => one.name === call.name)?.description} />` : html`<${OfAgent} ...${asking} policy=${known?.policy} />`)}
      <//>`;
    })}
    ${calls.length > 1 && html`<p class="small">The agent goes on when all ${calls.length} calls are answered.</p>`}
    <${Failure} error=${error} again=${again} />
  </div>`;
}

/** Until when a call waits. @param {{until: string | null}} props */
function Until({ until }) {
  return until ? html` <span class="small">Without an answer it is denied ${soon(until)}, at <time datetime=${until}>${moment(until)}</time>.</span>` : null;
}

/** @param {Asking & {policy?: string | null}} props */
function OfAgent({ call, until, decide, decision, policy }) {
  const [reason, setReason] = useState("");
  const choose = (/** @type {boolean} */ approve) => decide({ type: "approval", tool_call_id: call.callId, approve, reason: approve ? null : reason || null });
  const chosen = decision?.type === "approval" ? decision.approve : null;
  return html`<div class="asked" role="group" aria-label=${`Approval of ${call.name}`}>
    <p><strong>${call.name}</strong> runs only if you approve it.${policy && html` The tool policy <span dir="auto">“${policy}”</span> asks for it.`}<${Until} until=${until} /></p>
    <label class="field"><span>Reason, if you deny it</span><input value=${reason} dir="auto" onInput=${(/** @type {any} */ event) => setReason(event.target.value)} /></label>
    <div class="row">
      <button type="button" class="primary" aria-pressed=${chosen === null ? undefined : chosen} onClick=${() => choose(true)}>Approve</button>
      <button type="button" class="danger" aria-pressed=${chosen === null ? undefined : !chosen} onClick=${() => choose(false)}>Deny</button>
    </div>
  </div>`;
}

/** @param {Asking & {about?: string | null}} props */
function OfClient({ call, until, decide, decision, about }) {
  const [text, setText] = useState("");
  const send = (/** @type {"success" | "error"} */ status) => decide({ type: "tool", tool_call_id: call.callId, tool_return: text, status });
  const chosen = decision?.type === "tool" ? decision.status : null;
  return html`<div class="asked" role="group" aria-label=${`Return of ${call.name}`}>
    <p>The program that sent the message runs <strong>${call.name}</strong>${about && html` (<span dir="auto">${about}</span>)`}. You may answer in its place; the first answer counts.<${Until} until=${until} /></p>
    <label class="field"><span>What it returns, or what went wrong</span>
      <textarea rows="3" dir="auto" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)}></textarea></label>
    <div class="row">
      <button type="button" class="primary" aria-pressed=${chosen === null ? undefined : chosen === "success"} onClick=${() => send("success")}>Send the return</button>
      <button type="button" class="danger" aria-pressed=${chosen === null ? undefined : chosen === "error"} disabled=${!text.trim()} onClick=${() => send("error")}>Send it as an error</button>
    </div>
  </div>`;
}
