/** A new schedule: for whom, what, and when. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { get, post } from "../api.js";
import { FormDialog } from "../forms.js";
import { say } from "../ui.js";
import { AgentPicker } from "./group_form.js";
import { ownZone } from "./words.js";

/** @typedef {{id: string, name: string}} Named */
/** @typedef {import("./words.js").Timing} Timing */

const ACTIONS = [["message", "sends a message"], ["sleeptime", "lets the sleep-time partner work"], ["compaction", "compacts the conversation"]];
const TIMES = [["daily", "every day"], ["workdays", "from Monday to Friday"], ["weekly", "once a week"], ["once", "once"], ["rate", "again after some time"], ["cron", "by a cron expression"]];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const UNITS = ["minutes", "hours", "days"];
const BY_CLOCK = ["daily", "workdays", "weekly"];

/**
 * What the form says of the time, as the API takes it.
 * @param {string} when
 * @param {FormData} form
 * @returns {Timing}
 */
export function timingOfForm(when, form) {
  const text = (/** @type {string} */ name) => String(form.get(name) ?? "").trim();
  if (when === "once") return { type: "one-time", scheduled_at: new Date(text("at")).getTime() };
  if (when === "rate") return { type: "rate", rate_expression: `${text("every")} ${text("unit")}` };
  if (when === "cron") return { type: "recurring", cron_expression: text("cron"), timezone: text("zone") };
  const [hour, minute] = text("clock").split(":").map(Number);
  const days = { daily: "*", workdays: "1-5" }[when] ?? text("day");
  return { type: "recurring", cron_expression: `${minute} ${hour} * * ${days}`, timezone: text("zone") };
}

/** The sleep-time group of an agent. @param {Named} agent */
async function groupOf(agent) {
  const { managed_group: group } = await get(`agents/${agent.id}`, { include: ["agent.managed_group"] });
  if (group?.manager_type !== "sleeptime") throw new Error(`${agent.name} has no sleep-time partner. Give it one at “Sleep time”, then come back.`);
  return group.id;
}

/** @param {{close: () => void, made: () => void}} props */
export function ScheduleForm({ close, made }) {
  const [agents, setAgents] = useState(/** @type {Named[]} */ ([]));
  const [action, setAction] = useState("message");
  const [when, setWhen] = useState("daily");
  /** @param {FormData} form */
  const save = async (form) => {
    const [agent] = agents;
    if (!agent) throw new Error("Find an agent by its name, and choose it.");
    const what = action === "message" ? { messages: [{ role: form.get("role"), content: String(form.get("text")) }] } : action === "sleeptime" ? { action, group_id: await groupOf(agent) } : { action };
    await post(`agents/${agent.id}/schedule`, { schedule: timingOfForm(when, form), ...what });
    say("The schedule was made.");
    made();
  };
  const chosen = (/** @type {(value: string) => void} */ set) => (/** @type {any} */ event) => set(event.target.value);
  const options = (/** @type {string[][]} */ pairs) => pairs.map(([name, title]) => html`<option value=${name}>${title}</option>`);
  return html`<${FormDialog} title="New schedule" act="Make" done=${save} close=${close}>
    <${AgentPicker} legend="Agent" chosen=${agents} choose=${(/** @type {Named[]} */ found) => setAgents(found.slice(-1))} />
    <label class="field"><span>It</span><select value=${action} onChange=${chosen(setAction)}>${options(ACTIONS)}</select></label>
    ${action === "message" &&
    html`<label class="field"><span>Message</span><textarea name="text" rows="3" required dir="auto"></textarea></label>
      <label class="inline-field"><span>As</span><select name="role"><option value="user">user</option><option value="system">system</option></select></label>`}
    <label class="field"><span>When</span><select value=${when} onChange=${chosen(setWhen)}>${options(TIMES)}</select></label>
    <${When} when=${when} />
  <//>`;
}

/** @param {{when: string}} props */
function When({ when }) {
  if (when === "once") return html`<label class="field"><span>Day and time, in your time zone</span><input type="datetime-local" name="at" required /></label>`;
  if (when === "rate")
    return html`<div class="sides"><label class="field"><span>After</span><input type="number" name="every" min="1" step="1" defaultValue="2" required /></label>
      <label class="field"><span>Unit</span><select name="unit">${UNITS.map((unit) => html`<option value=${unit} selected=${unit === "hours"}>${unit}</option>`)}</select></label></div>`;
  return html`<div class="sides">
      ${when === "weekly" && html`<label class="field"><span>Day</span><select name="day">${DAYS.map((day, place) => html`<option value=${place} selected=${place === 1}>${day}</option>`)}</select></label>`}
      ${BY_CLOCK.includes(when) && html`<label class="field"><span>At</span><input type="time" name="clock" required defaultValue="09:00" /></label>`}
      ${when === "cron" && html`<label class="field"><span>Minute, hour, day, month, weekday</span><input name="cron" required maxlength="200" placeholder="0 18 * * 1-5" dir="ltr" class="mono" autocomplete="off" /></label>`}
      <label class="field"><span>Time zone</span><input name="zone" required list="zones" defaultValue=${ownZone} dir="ltr" autocomplete="off" /></label>
    </div><datalist id="zones">${Intl.supportedValuesOf("timeZone").map((zone) => html`<option value=${zone}></option>`)}</datalist>`;
}
