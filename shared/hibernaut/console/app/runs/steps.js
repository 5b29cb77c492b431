/** The steps of a run: what each model call used, which calls failed before it, and exactly what was sent and received. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { get } from "../api.js";
import { count, dollars } from "../format.js";
import { Code } from "../markdown_view.js";
import { useLoaded } from "../store.js";
import { Failure, Loading } from "../ui.js";

/** @typedef {{model: string, code: string, waited: number | null}} FailedCall */
/** @typedef {{id: string, model_handle: string | null, model: string | null, prompt_tokens: number | null, completion_tokens: number | null, cached_input_tokens: number | null, cost: number | null, status: string | null, error_type: string | null, failed_calls?: FailedCall[]}} Step */

/** @param {{steps: Step[]}} props */
export function Steps({ steps }) {
  const [open, setOpen] = useState(/** @type {string | null} */ (null));
  if (!steps.length) return null;
  return html`<div class="stack"><h3>Steps</h3>
    <div class="scroll" tabindex="0" role="region" aria-label="Steps"><table>
      <thead><tr><th scope="col">Model</th><th scope="col">Prompt</th><th scope="col">Cached</th><th scope="col">Reply</th><th scope="col">Cost</th><th scope="col">Retries</th><th scope="col">Request and reply</th></tr></thead>
      <tbody>${steps.map(
        (step) => html`<tr key=${step.id}>
          <td>${step.model_handle ?? step.model ?? "—"}${step.error_type && html` <span class="status bad">${step.error_type}</span>`}</td>
          <td>${count(step.prompt_tokens ?? 0)}</td><td>${count(step.cached_input_tokens ?? 0)}</td><td>${count(step.completion_tokens ?? 0)}</td><td>${dollars(step.cost)}</td>
          <td>${count(retries(step))}</td>
          <td><button type="button" aria-expanded=${open === step.id} onClick=${() => setOpen(open === step.id ? null : step.id)}>${open === step.id ? "Hide" : "Show"}</button></td>
        </tr>`,
      )}</tbody>
    </table></div>
    <${FailedCalls} steps=${steps} />
    ${open && html`<${Bodies} key=${open} id=${open} />`}
  </div>`;
}

/** The calls after the first one: each failed call had one after it, but the last of a failed step. @param {Step} step */
function retries(step) {
  const failed = step.failed_calls?.length ?? 0;
  return Math.max(0, failed - (step.status === "failed" ? 1 : 0));
}

/** @param {{steps: Step[]}} props */
function FailedCalls({ steps }) {
  const failed = steps.flatMap((step, place) => (step.failed_calls ?? []).map((call) => ({ ...call, step: place + 1 })));
  if (!failed.length) return null;
  return html`<div><h3>Model calls that failed</h3><ul>
    ${failed.map((call) => html`<li>Step ${call.step}: <code>${call.model}</code> failed by <code>${call.code}</code>${call.waited === null ? "; it was not called again" : `; called again after ${call.waited.toFixed(1)} s`}</li>`)}
  </ul></div>`;
}

/** The bodies as the provider saw them, without headers and secrets. @param {{id: string}} props */
function Bodies({ id }) {
  const { value, error, loading } = useLoaded((signal) => get(`steps/${id}/trace`, {}, signal), [id]);
  if (error) return html`<${Failure} error=${error} />`;
  if (loading) return html`<${Loading} />`;
  if (!value) return html`<p class="muted">The bodies of this step are not kept.</p>`;
  return html`<div class="sides">
    <${Code} label="Request" language="request" text=${JSON.stringify(value.request_json, null, 2)} />
    <${Code} label="Reply" language="reply" text=${JSON.stringify(value.response_json, null, 2)} />
  </div>`;
}
