/** What runs now, what waits for a person, and what today cost: of all agents, whatever the list below shows. */
import { html } from "../../vendor/htm-preact-3.1.1.js";
import { get } from "../api.js";
import { count } from "../format.js";
import { agentPlace } from "../router.js";
import { Time } from "../ui.js";
import { ASKERS, MOST, OPEN_RUNS } from "./questions.js";
import { TodaysCost } from "./today.js";

/** @typedef {import("../types.js").Agent} Agent */
/** @typedef {import("../types.js").Run} Run */
/** @typedef {{id: string, name: string, tool: string | undefined, conversation: string | null}} Waiting */
/** @typedef {{runs: Run[], waiting: Waiting[]}} Now */

const SHOWN = 3;
/** Names of agents that were seen, by id: they hardly change. @type {Map<string, string>} */
const names = new Map();
/** Runs whose calls were answered: they never wait again. @type {Set<string>} */
const answered = new Set();

/** The runs that have not ended. @param {AbortSignal} signal */
export const openRuns = (signal) => /** @type {Promise<Run[]>} */ (get(...OPEN_RUNS, signal));

/**
 * @param {Promise<Run[]>} open  the runs that have not ended
 * @param {Promise<Agent[]>} listed  agents that are read anyway, with what they wait for
 * @param {boolean} all  whether these are all agents, so that no others have to be asked for
 * @param {AbortSignal} signal
 * @returns {Promise<Now>}
 */
export async function loadNow(open, listed, all, signal) {
  const others = all ? [] : /** @type {Promise<Agent[]>} */ (get(...ASKERS, signal));
  const [runs, asked, shown] = await Promise.all([open, others, listed]);
  const agents = new Map([...asked, ...shown].map((agent) => [agent.id, agent]));
  for (const agent of agents.values()) names.set(agent.id, agent.name);
  await Promise.all(runs.slice(0, SHOWN).map((run) => named(run.agent_id, signal)));
  const waiting = [...agents.values()].filter((agent) => agent.pending_approval).map((agent) => ({ id: agent.id, name: agent.name, tool: agent.pending_approval?.tool_call?.name ?? undefined, conversation: null }));
  const askers = [...agents.values()].filter((agent) => agent.last_stop_reason === "requires_approval" && !agent.pending_approval);
  const elsewhere = await Promise.all(askers.slice(0, SHOWN).map((agent) => inConversations(agent, signal)));
  return { runs, waiting: [...waiting, ...elsewhere.flat()] };
}

/**
 * What waits in the further conversations of an agent whose newest run has asked: its newest runs that did.
 * @param {Agent} agent @param {AbortSignal} signal @returns {Promise<Waiting[]>}
 */
async function inConversations({ id, name }, signal) {
  const runs = /** @type {Run[]} */ (await get("runs/", { agent_id: id, stop_reason: "requires_approval", limit: SHOWN }, signal));
  const open = runs.filter((run) => run.conversation_id && !answered.has(run.id));
  const found = await Promise.all(open.map((run) => /** @type {Promise<import("../types.js").RunApproval | null>} */ (get(`runs/${run.id}/approval`, {}, signal).catch(() => null))));
  return open.flatMap((run, place) => {
    if (found[place]?.how) answered.add(run.id);
    return found[place] && !found[place].how ? [{ id, name, tool: found[place].calls.find((one) => one.needs_answer)?.name, conversation: run.conversation_id }] : [];
  });
}

/** @param {string} id @param {AbortSignal} signal */
async function named(id, signal) {
  if (names.has(id)) return;
  const agent = await get(`agents/${id}`, { include_relationships: ["tags"] }, signal).catch(() => null);
  if (agent) names.set(id, agent.name);
}

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
      <ul class="plain">${waiting.slice(0, SHOWN).map((one) => html`<li><a href=${placeOf(one.id, one.conversation)} dir="auto">${one.name}</a> asks for <code>${one.tool}</code></li>`)}</ul>
    </div>
    <${TodaysCost} of=${value} />
  </section>`;
}

/** @param {number} found  at most MOST are asked for */
const atLeast = (found) => `${count(found)}${found === MOST ? " or more" : ""}`;

/** @param {string} agentId @param {string | null} conversation  null: the agent's own */
const placeOf = (agentId, conversation) => agentPlace(agentId, "chat", conversation ? { conversation } : {});
