/** Home: what runs, what waits for a person, what today cost, and the agents. */
import { html, useEffect, useState } from "../../vendor/htm-preact-3.1.1.js";
import { ApiError, call, get } from "../api.js";
import { useCommands } from "../commands.js";
import { count } from "../format.js";
import { agentPlace, go } from "../router.js";
import { useLoaded } from "../store.js";
import { Dialog, Failure, Icon, Time, say, useRepeated, useTitle } from "../ui.js";
import { AgentList } from "./agent_list.js";
import { NewAgent } from "./new_agent.js";
import { OneAgent } from "./one_agent.js";
import { TodaysCost } from "./today.js";

/** @typedef {import("../types.js").Agent} Agent */
/** @typedef {import("../types.js").Run} Run */

const REFRESH = 10_000;
const PAGE = 48;

/** @param {{q: string, tag: string}} asked */
async function load({ q, tag }, /** @type {AbortSignal} */ signal) {
  const relations = { include_relationships: ["tags", "pending_approval"] };
  const query = { ...relations, limit: PAGE, order_by: "last_run_completion", query_text: q, tags: tag ? [tag] : [] };
  const [agents, runs, tags] = await Promise.all([
    get("agents/", query, signal),
    get("runs/", { active: true, limit: 100 }, signal),
    get("tags/", { limit: 50 }, signal),
  ]);
  return { agents: /** @type {Agent[]} */ (agents), runs: /** @type {Run[]} */ (runs), tags: /** @type {string[]} */ (tags) };
}

export function Home() {
  const [asked, setAsked] = useState({ q: "", tag: "" });
  const [making, setMaking] = useState(false);
  const [imported, setImported] = useState(/** @type {any} */ (null));
  const [failed, setFailed] = useState(/** @type {unknown} */ (null));
  const { value, error, again } = useLoaded((signal) => load(asked, signal), [asked.q, asked.tag]);
  useTitle("Home");
  useRepeated(again, REFRESH, []);
  useCommands(() => [{ name: "New agent", hint: "Home", act: () => setMaking(true) }, { name: "Import an agent file", hint: "Home", act: choose }], []);
  const take = (/** @type {File} */ file) => importFile(file).then((done) => (setImported(done), again()), setFailed);
  const choose = () => {
    const input = Object.assign(document.createElement("input"), { type: "file", accept: ".af,.json" });
    input.onchange = () => input.files?.[0] && take(input.files[0]);
    input.click();
  };
  const dropping = useDrop(take);
  if (error instanceof ApiError && error.status === 403) return html`<div class="page narrow"><h1>Agents</h1><${OneAgent} error=${error} /></div>`;
  return html`<div class=${`page ${dropping ? "dropping" : ""}`}>
    <div class="row head">
      <h1 class="grow">Agents</h1>
      <button type="button" onClick=${choose}>Import a file</button>
      <button type="button" class="primary" onClick=${() => setMaking(true)}><${Icon} name="plus" /> New agent</button>
    </div>
    <${Failure} error=${failed} close=${() => setFailed(null)} />
    <${Failure} error=${error} again=${again} />
    <${Overview} value=${value} />
    <${AgentList} value=${value} asked=${asked} ask=${(/** @type {Partial<typeof asked>} */ change) => setAsked((old) => ({ ...old, ...change }))} make=${() => setMaking(true)} />
    ${making && html`<${NewAgent} close=${() => setMaking(false)} made=${(/** @type {Agent} */ agent) => go(agentPlace(agent.id))} />`}
    ${imported && html`<${Imported} result=${imported} close=${() => setImported(null)} />`}
    ${dropping && html`<p class="drop-hint" role="status">Drop the agent file to import it</p>`}
  </div>`;
}

/** @param {File} file */
async function importFile(file) {
  const form = new FormData();
  form.append("file", file, file.name);
  const done = await call("POST", "agents/import", { form });
  say(`${done.agent_ids.length === 1 ? "One agent was" : `${done.agent_ids.length} agents were`} imported.`);
  return done;
}

/**
 * Take files that are dropped on the page.
 * @param {(file: File) => void} take
 */
function useDrop(take) {
  const [over, setOver] = useState(false);
  useEffect(() => {
    /** @param {DragEvent} event */
    const holds = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
    const above = (/** @type {DragEvent} */ event) => holds(event) && (event.preventDefault(), setOver(true));
    const gone = (/** @type {DragEvent} */ event) => event.relatedTarget === null && setOver(false);
    const dropped = (/** @type {DragEvent} */ event) => {
      if (!holds(event)) return;
      event.preventDefault();
      setOver(false);
      const file = event.dataTransfer?.files[0];
      if (file) take(file);
    };
    addEventListener("dragover", above);
    addEventListener("dragleave", gone);
    addEventListener("drop", dropped);
    return () => (removeEventListener("dragover", above), removeEventListener("dragleave", gone), removeEventListener("drop", dropped));
  }, []);
  return over;
}

/** What an import did beside what the file says. @param {{result: any, close: () => void}} props */
function Imported({ result, close }) {
  const notes = /** @type {{detail: string, place: string}[]} */ (result.notes ?? []);
  return html`<${Dialog} title="Imported" close=${close}>
    <ul>${result.agent_ids.map((/** @type {string} */ id) => html`<li><a href=${agentPlace(id)}>${id}</a></li>`)}</ul>
    ${notes.length > 0 && html`<h3>What differs from the file</h3><ul>${notes.map((note) => html`<li>${note.detail} (${note.place})</li>`)}</ul>`}
  <//>`;
}

/** @param {{value: Awaited<ReturnType<typeof load>> | undefined}} props */
function Overview({ value }) {
  const waiting = value?.agents.filter((agent) => agent.pending_approval) ?? [];
  const names = new Map(value?.agents.map((agent) => [agent.id, agent.name]));
  return html`<section class="overview" aria-label="Now">
    <div class="card tile">
      <h2>Running</h2>
      <p class="figure">${value ? count(value.runs.length) : "–"}</p>
      <ul class="plain">${value?.runs.slice(0, 3).map((run) => html`<li><a href=${agentPlace(run.agent_id)} dir="auto">${names.get(run.agent_id) ?? run.agent_id}</a> <${Time} at=${run.created_at} /></li>`)}</ul>
    </div>
    <div class=${`card tile ${waiting.length ? "attention" : ""}`}>
      <h2>Waiting for you</h2>
      <p class="figure">${value ? count(waiting.length) : "–"}</p>
      <ul class="plain">${waiting.slice(0, 3).map((agent) => html`<li><a href=${agentPlace(agent.id)} dir="auto">${agent.name}</a> asks for <code>${agent.pending_approval?.tool_call?.name}</code></li>`)}</ul>
    </div>
    <${TodaysCost} />
  </section>`;
}
