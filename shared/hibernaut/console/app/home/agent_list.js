/** The list of agents with its search. */
import { html, useEffect, useState } from "../../vendor/htm-preact-3.1.1.js";
import { agentPlace } from "../router.js";
import { Icon, Loading, Time } from "../ui.js";

/** @typedef {import("../types.js").Agent} Agent */
/** @typedef {import("./overview.js").Now} Now */
/** @typedef {import("./questions.js").Asked} Asked */

const WAIT = 200;
const FURTHER = 48;
const WELL = new Set(["end_turn", "tool_rule", "max_steps", "requires_approval", "cancelled"]);

/**
 * What an agent does: its word, and the colour of its mark.
 * @param {Agent} agent
 * @param {Now} now
 * @returns {[string, string]}
 */
export function stateOf(agent, { runs, waiting }) {
  if (runs.some((run) => run.agent_id === agent.id)) return ["running", "busy"];
  if (agent.pending_approval || waiting.some((one) => one.agent_id === agent.id)) return ["waits for an answer", "waiting"];
  if (agent.last_stop_reason && !WELL.has(agent.last_stop_reason)) return [`failed: ${agent.last_stop_reason.replaceAll("_", " ")}`, "failed"];
  return agent.last_run_completion ? ["asleep", "asleep"] : ["new", "asleep"];
}

/**
 * @param {{value: Now & {agents: Agent[], tags: string[], more: boolean} | undefined, asked: Asked, ask: (change: Partial<Asked>) => void, make: () => void}} props
 */
export function AgentList({ value, asked, ask, make }) {
  const [text, setText] = useState(asked.q);
  useEffect(() => {
    const timer = setTimeout(() => text !== asked.q && ask({ q: text }), WAIT);
    return () => clearTimeout(timer);
  }, [text]);
  const searches = asked.q !== "" || asked.tag !== "";
  return html`<section aria-label="All agents">
    <div class="row filters">
      <label class="search"><span class="sr">Search agents by name</span><${Icon} name="search" />
        <input type="search" placeholder="Search by name" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label>
      ${value &&
      value.tags.length > 0 &&
      html`<label class="inline-field"><span>Tag</span>
        <select value=${asked.tag} onChange=${(/** @type {any} */ event) => ask({ tag: event.target.value })}>
          <option value="">all</option>
          ${value.tags.map((tag) => html`<option value=${tag}>${tag}</option>`)}
        </select></label>`}
    </div>
    ${!value && html`<${Loading} label="Loading agents" />`}
    ${value && value.agents.length === 0 && (searches ? html`<p class="empty">No agent fits this search.</p>` : html`<${First} make=${make} />`)}
    <ul class="cards">${value?.agents.map((agent) => html`<${AgentCard} key=${agent.id} agent=${agent} now=${value} />`)}</ul>
    ${value?.more && html`<p class="further"><button type="button" onClick=${() => ask({ most: asked.most + FURTHER })}>More agents</button></p>`}
  </section>`;
}

/** @param {{agent: Agent, now: Now}} props */
function AgentCard({ agent, now }) {
  const [word, kind] = stateOf(agent, now);
  return html`<li class="card agent-card">
    <a class="cover" href=${agentPlace(agent.id)} dir="auto">${agent.name}</a>
    <p class="muted small ellipsis">${agent.model ?? "no model"}</p>
    <p class="row small"><span class=${`state ${kind}`}>${word}</span>${agent.last_run_completion && html`<span class="muted"><${Time} at=${agent.last_run_completion} /></span>`}</p>
    ${agent.tags.length > 0 && html`<p class="tags">${agent.tags.slice(0, 6).map((tag) => html`<span class="tag" dir="auto">${tag}</span>`)}</p>`}
  </li>`;
}

/** What a newcomer sees. @param {{make: () => void}} props */
function First({ make }) {
  return html`<div class="card first">
    <h2>Make your first agent</h2>
    <p>An agent remembers what you tell it, changes its own memory, and costs nothing while it sleeps. Give it a name, and say hello.</p>
    <button type="button" class="primary" onClick=${make}><${Icon} name="plus" /> New agent</button>
  </div>`;
}
