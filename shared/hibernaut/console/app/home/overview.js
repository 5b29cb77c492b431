/** What runs now, what waits for a person, and what today cost: of all agents, whatever the list below shows. */
import { html } from "../../vendor/htm-preact-3.1.1.js";
import { get } from "../api.js";
import { count } from "../format.js";
import { agentPlace } from "../router.js";
import { Time } from "../ui.js";
import { APPROVALS, MOST, OPEN_RUNS } from "./questions.js";
import { TodaysCost } from "./today.js";

/** @typedef {import("../types.js").Agent} Agent */
/** @typedef {import("../types.js").Run} Run */
/** @typedef {import("../types.js").RunApproval} RunApproval */
/** @typedef {{runs: Run[], waiting: RunApproval[]}} Now */

const SHOWN = 3;
/** Names of agents that were seen, by id: they hardly change. @type {Map<string, string>} */
const names = new Map();

/** The runs that have not ended. @param {AbortSignal} signal */
export const openRuns = (signal) => /** @type {Promise<Run[]>} */ (get(...OPEN_RUNS, signal));

/**
 * @param {Promise<Run[]>} open  the runs that have not ended
 * @param {Promise<Agent[]>} listed  agents that are read anyway, whose names are known then
 * @param {AbortSignal} signal
 * @returns {Promise<Now>}
 */
export async function loadNow(open, listed, signal) {
  const [runs, waiting, shown] = await Promise.all([open, /** @type {Promise<RunApproval[]>} */ (get(...APPROVALS, signal)), listed]);
  for (const agent of shown) names.set(agent.id, agent.name);
  await named([...runs.slice(0, SHOWN), ...waiting.slice(0, SHOWN)].map((one) => one.agent_id), signal);
  return { runs, waiting };
}

/** Learn the names of agents. @param {string[]} ids @param {AbortSignal} signal */
async function named(ids, signal) {
  const unknown = [...new Set(ids)].filter((id) => !names.has(id));
  if (!unknown.length) return;
  const found = /** @type {Agent[]} */ (await get("agents/", { agent_ids: unknown, include_relationships: ["tags"] }, signal).catch(() => []));
  for (const agent of found) names.set(agent.id, agent.name);
}

/** The tool that a person is asked about. @param {RunApproval} one */
const toolOf = (one) => one.calls.find((call) => call.needs_answer)?.name;

/** @param {{value: Now | undefined}} props */
export function Overview({ value }) {
  const waiting = value?.waiting ?? [];
  return html`<section class="overview" aria-label="Now">
    <div class="card tile">
      <h2>Running</h2>
      <p class="figure">${value ? atLeast(value.runs.length) : "–"}</p>
      <ul class="plain">${value?.runs.slice(0, SHOWN).map((run) => html`<li><a href=${placeOf(run.agent_id, run.conversation_id)} dir="auto">${names.get(run.agent_id) ?? run.agent_id}</a> <${Time} at=${run.created_at} /></li>`)}</ul>
    </div>
    <div class=${`card tile ${waiting.length ? "attention" : ""}`}>
      <h2>Waiting for you</h2>
      <p class="figure">${value ? atLeast(waiting.length) : "–"}</p>
      <ul class="plain">${waiting.slice(0, SHOWN).map((one) => html`<li><a href=${placeOf(one.agent_id, one.conversation_id)} dir="auto">${names.get(one.agent_id) ?? one.agent_id}</a> asks for <code>${toolOf(one)}</code></li>`)}</ul>
    </div>
    <${TodaysCost} of=${value} />
  </section>`;
}

/** @param {number} found  at most MOST are asked for */
const atLeast = (found) => `${count(found)}${found === MOST ? " or more" : ""}`;

/** @param {string} agentId @param {string | null} conversation  null: the agent's own */
const placeOf = (agentId, conversation) => agentPlace(agentId, "chat", conversation ? { conversation } : {});
