/** Runs: what an agent did, when, by which model calls, and what each of them sent and received. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { get } from "../api.js";
import { count, dollars, moment } from "../format.js";
import { useLoaded } from "../store.js";
import { Failure, Loading, Time, useRepeated } from "../ui.js";
import { Live } from "./live.js";
import { Steps } from "./steps.js";
import { TakeUps } from "./take_ups.js";
import { Timeline } from "./timeline.js";

/** @typedef {import("../types.js").Run} Run */

const PAGE = 30;
const LOOK = 5000;
const FILTERS = /** @type {[string, string, Record<string, any>][]} */ ([
  ["all", "all", {}],
  ["active", "going on", { active: true }],
  ["completed", "completed", { statuses: ["completed"] }],
  ["failed", "failed", { statuses: ["failed"] }],
  ["cancelled", "stopped", { statuses: ["cancelled"] }],
]);
const STOPS = ["end_turn", "tool_rule", "requires_approval", "max_steps", "cancelled", "error", "llm_api_error", "invalid_llm_response", "budget_exceeded"];
const KINDS = /** @type {Record<string, string>} */ ({ running: "busy", created: "waiting", failed: "failed" });
const WORDS = /** @type {Record<string, string>} */ ({ running: "running", created: "waits", completed: "completed", failed: "failed", cancelled: "stopped" });

/** @param {{agent: import("../types.js").Agent}} props */
export function Runs({ agent }) {
  const [filter, setFilter] = useState("all");
  const [stop, setStop] = useState("");
  const [most, setMost] = useState(PAGE);
  const [open, setOpen] = useState(/** @type {string | null} */ (null));
  const query = FILTERS.find(([name]) => name === filter)?.[2] ?? {};
  const { value, error, again, refresh } = useLoaded(
    (signal) => /** @type {Promise<Run[]>} */ (get("runs/", { agent_id: agent.id, limit: most, stop_reason: stop, ...query }, signal)),
    [agent.id, filter, stop, most],
  );
  useRepeated(refresh, LOOK, [], value?.some((run) => !run.completed_at));
  return html`<div class="page">
    <div class="row"><div class="grow"><h2>Runs</h2><p class="muted small">Each message to the agent is a run: model calls, and the tools that they call.</p></div>
      <label class="inline-field"><span>Show</span><select value=${filter} onChange=${(/** @type {any} */ event) => setFilter(event.target.value)}>
        ${FILTERS.map(([name, title]) => html`<option value=${name}>${title}</option>`)}</select></label>
      <label class="inline-field"><span>Ended by</span><select value=${stop} onChange=${(/** @type {any} */ event) => setStop(event.target.value)}>
        <option value="">anything</option>${STOPS.map((name) => html`<option value=${name}>${name.replaceAll("_", " ")}</option>`)}</select></label></div>
    <${Failure} error=${error} again=${again} />
    ${!value && !error && html`<${Loading} label="Loading runs" />`}
    ${value?.length === 0 && html`<p class="empty card">There is no such run.</p>`}
    <ul class="plain stack">${value?.map(
      (run) => html`<li key=${run.id} class="card run">
        <button type="button" class="run-head" aria-expanded=${open === run.id} onClick=${() => setOpen(open === run.id ? null : run.id)}>
          <span class=${`state ${KINDS[run.status] ?? "asleep"}`}>${WORDS[run.status] ?? run.status}</span>
          <span>${reason(run)}</span><span class="grow"></span><span class="muted">${duration(run)} <${Time} at=${run.created_at} /></span>
        </button>
        ${open === run.id && html`<${Opened} key=${`${run.id}-${run.status}`} run=${run} changed=${again} />`}
      </li>`,
    )}</ul>
    ${value?.length === most && html`<button type="button" onClick=${() => setMost(most + PAGE)}>Older runs</button>`}
  </div>`;
}

/** @param {Run} run */
const reason = (run) => (run.stop_reason && run.stop_reason !== "end_turn" ? run.stop_reason.replaceAll("_", " ") : "");

/** @param {Run} run */
function duration(run) {
  if (!run.completed_at) return "";
  const seconds = (new Date(run.completed_at).getTime() - new Date(run.created_at).getTime()) / 1000;
  return `${seconds.toFixed(1)} s ·`;
}

/** @param {{run: Run, changed: () => void}} props */
function Opened({ run, changed }) {
  const { value, error, again, refresh } = useLoaded(
    (signal) => Promise.all([get(`runs/${run.id}/trace`, {}, signal), get(`runs/${run.id}/steps`, { order: "asc" }, signal), get(`runs/${run.id}/usage`, {}, signal), get(`runs/${run.id}/versions`, {}, signal), get(`runs/${run.id}/metrics`, {}, signal)]),
    [run.id],
  );
  useRepeated(() => !run.completed_at && refresh(), LOOK, [run.completed_at], true);
  return html`<div class="run-body stack">
    <${Failure} error=${error} again=${again} />
    ${!value && !error && html`<${Loading} />`}
    ${value && html`<${Done} run=${run} read=${value} />`}
    ${!run.completed_at && html`<${Live} runId=${run.id} ended=${changed} />`}
  </div>`;
}

/** What has been committed of a run. @param {{run: Run, read: any[]}} props */
function Done({ run, read: [spans, steps, usage, versions, metrics] }) {
  return html`<p class="small muted"><code>${run.id}</code> · begun ${moment(run.created_at)} · ${count(usage.total_tokens)} tokens · ${usage.cost === null ? "unknown price" : dollars(usage.cost)}</p>
    <${Timeline} spans=${spans} createdAt=${run.created_at} />
    <${TakeUps} metrics=${metrics} />
    <${Steps} steps=${steps} />
    ${versions.length > 0 && html`<div><h3>What it changed</h3><ul>${versions.map((/** @type {any} */ one) => html`<li dir="auto">${changeOf(one)}</li>`)}</ul></div>`}`;
}

/** @param {any} one */
function changeOf(one) {
  if (one.label) return `Block ${one.label}, version ${one.version.version}: ${one.changes.map((/** @type {any} */ change) => change.field).join(", ")}`;
  return one.passage_id ? "A passage of the archive" : `Settings, version ${one.version.version}`;
}
