/** Under which conditions a run was taken up after the death of a worker. */
import { html } from "../../vendor/htm-preact-3.1.1.js";
import { count, moment } from "../format.js";

/** @typedef {import("../types.js").RunMetrics} Metrics */

const REASONS = /** @type {Record<string, string>} */ ({
  lease_expired: "the lease of the worker had run out",
  process_gone: "the server was started anew, so the process of the worker was gone",
  death_reported: "the workflow had noticed the death, so nobody waited for the lease",
});

const times = (/** @type {number} */ number) => (number === 1 ? "once" : `${count(number)} times`);

/** @param {{metrics: Metrics}} props */
export function TakeUps({ metrics }) {
  const { take_ups: found, sweeps } = metrics;
  if (!found.length && !sweeps) return null;
  return html`<section class="stack" aria-label="Taken up"><h3>Taken up after a death</h3>
    <p class="small muted">${sweeps === 0 ? "The sweep never had to take this run up." : `The sweep took this run up ${times(sweeps)}.`} Its steps were taken ${times(metrics.attempts)} in all.</p>
    ${found.length > 0 && html`<ol class="take-ups">${found.map(
      (one) => html`<li key=${one.attempt}><strong>Step ${count(one.step)}, attempt ${count(one.attempt)}</strong>, ${moment(one.at)}: ${REASONS[one.reason] ?? one.reason}. The lease ran until ${moment(one.lease_until)}.
        ${one.reply_stored ? "The model's reply was stored, and the model was not asked again." : "No reply was stored, so the model was asked again."}</li>`,
    )}</ol>`}
  </section>`;
}
