/** The cached share of the prompts over the last runs, as a plot and in figures. */
import { html } from "../../vendor/htm-preact-3.1.1.js";
import { get } from "../api.js";
import { count, moment } from "../format.js";
import { useLoaded } from "../store.js";
import { Failure, Loading } from "../ui.js";

/** @typedef {{run_id: string | null, prompt_tokens: number | null, cached_input_tokens: number | null, cost: number | null}} Step */
/** @typedef {{id: string, steps: number, prompt: number, cached: number}} RunShare */

/** How many steps one view reads, and how many runs it shows. */
const [MOST_STEPS, MOST_RUNS] = [200, 30];

/**
 * The prompts of each run, oldest first. The last run of a full page may lack its first steps, and is left out.
 * @param {Step[]} steps  newest first
 * @returns {RunShare[]}
 */
export function sharesOf(steps) {
  /** @type {Map<string, RunShare>} */
  const found = new Map();
  for (const step of steps) {
    if (!step.run_id || !step.prompt_tokens) continue;
    const old = found.get(step.run_id) ?? { id: step.run_id, steps: 0, prompt: 0, cached: 0 };
    found.set(step.run_id, { ...old, steps: old.steps + 1, prompt: old.prompt + step.prompt_tokens, cached: old.cached + (step.cached_input_tokens ?? 0) });
  }
  const whole = [...found.values()];
  if (steps.length === MOST_STEPS) whole.pop();
  return whole.slice(0, MOST_RUNS).reverse();
}

/** The moment that a run's id begins with. @param {string} id */
const begun = (id) => moment(new Date(parseInt(id.replace(/^run-/, "").replaceAll("-", "").slice(0, 12), 16)).toISOString());
const percent = (/** @type {number} */ share) => `${(share * 100).toFixed(0)} %`;
const shareOf = (/** @type {RunShare} */ run) => Math.min(1, run.cached / run.prompt);

/** @param {{agentId: string, at: unknown}} props */
export function CachedShare({ agentId, at }) {
  const { value, error, again } = useLoaded((signal) => /** @type {Promise<Step[]>} */ (get("steps/", { agent_id: agentId, limit: MOST_STEPS }, signal)), [agentId, at]);
  const runs = sharesOf(value ?? []);
  const [prompt, cached] = [runs.reduce((sum, run) => sum + run.prompt, 0), runs.reduce((sum, run) => sum + run.cached, 0)];
  return html`<section class="stack" aria-labelledby="cached">
    <div><h2 id="cached">Cached share of the last runs</h2><p class="muted small">What of each run's prompts the provider read from its cache, which costs less.</p></div>
    <${Failure} error=${error} again=${again} />
    ${!value && !error && html`<${Loading} first />`}
    ${value && runs.length === 0 && html`<p class="empty card">No run of this agent has reported the tokens of a prompt.</p>`}
    ${runs.length > 0 && html`<figure class="card plot">
      <figcaption class="row small"><span class="grow strong">Cached, of all tokens of prompts</span><span class="muted">in all ${percent(cached / prompt)} of ${count(prompt)} tokens</span></figcaption>
      <svg viewBox=${`0 0 ${runs.length * 10} 100`} preserveAspectRatio="none" role="img" aria-label=${`Cached share of the last ${count(runs.length)} runs, oldest first: ${runs.map((run) => percent(shareOf(run))).join(", ")}`}>
        <line class="base" x1="0" x2=${runs.length * 10} y1="100" y2="100" />
        ${runs.map((run, place) => html`<rect class="bar-whole" x=${place * 10 + 1.5} width="7" y="0" height="100" />
          <rect class="bar-of-day" x=${place * 10 + 1.5} width="7" y=${100 - shareOf(run) * 100} height=${shareOf(run) * 100}><title>${begun(run.id)}: ${percent(shareOf(run))} of ${count(run.prompt)} tokens in ${count(run.steps)} steps</title></rect>`)}
      </svg>
      <div class="row small muted"><span class="grow">${begun(runs[0].id)}</span><span>${begun(runs[runs.length - 1].id)}</span></div>
    </figure>`}
  </section>`;
}
