/** A schedule in a form: for whom, what, and when. One that exists keeps its agent and its action. */
import { html, useMemo, useState } from "../../vendor/htm-preact-3.1.1.js";
import { call, get, post } from "../api.js";
import { FormDialog } from "../forms.js";
import { say } from "../ui.js";
import { AgentPicker } from "./group_form.js";
import { UNITS, fieldsOf, fieldsOfForm, isOther, timingOf } from "./timing.js";
import { nameOf, ownZone, whatOf } from "./words.js";

/** @typedef {{id: string, name: string}} Named */
/** @typedef {import("./words.js").Schedule} Schedule */
/** @typedef {import("./timing.js").Fields} Fields */

const ACTIONS = [["message", "sends a message"], ["sleeptime", "lets the sleep-time partner work"], ["compaction", "compacts the conversation"]];
const TIMES = [["daily", "every day"], ["workdays", "from Monday to Friday"], ["weekly", "once a week"], ["once", "once"], ["rate", "again after some time"], ["cron", "by a cron expression"]];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const BY_CLOCK = ["daily", "workdays", "weekly"];
const options = (/** @type {string[][]} */ pairs) => pairs.map(([name, title]) => html`<option value=${name}>${title}</option>`);
const chosen = (/** @type {(value: string) => void} */ set) => (/** @type {any} */ event) => set(event.target.value);

/** The sleep-time group of an agent. @param {Named} agent */
async function groupOf(agent) {
  const { managed_group: group } = await get(`agents/${agent.id}`, { include: ["agent.managed_group"] });
  if (group?.manager_type !== "sleeptime") throw new Error(`${agent.name} has no sleep-time partner. Give it one at “Sleep time”, then come back.`);
  return group.id;
}

/** @param {{close: () => void, made: () => void | Promise<void>}} props */
export function ScheduleForm({ close, made }) {
  const [agents, setAgents] = useState(/** @type {Named[]} */ ([]));
  const [action, setAction] = useState("message");
  const [when, setWhen] = useState("daily");
  /** @param {FormData} form */
  const save = async (form) => {
    const [agent] = agents;
    if (!agent) throw new Error("Find an agent by its name, and choose it.");
    const what = action === "message" ? { messages: [{ role: form.get("role"), content: String(form.get("text")) }] } : action === "sleeptime" ? { action, group_id: await groupOf(agent) } : { action };
    await post(`agents/${agent.id}/schedule`, { schedule: timingOf(fieldsOfForm(when, form)), ...what });
    say("The schedule was made.");
    await made(); // The page shows it before the form closes, so that the next one begins with it.
  };
  return html`<${FormDialog} title="New schedule" act="Make" done=${save} close=${close}>
    <${AgentPicker} legend="Agent" chosen=${agents} choose=${(/** @type {Named[]} */ found) => setAgents(found.slice(-1))} />
    <label class="field"><span>It</span><select value=${action} onChange=${chosen(setAction)}>${options(ACTIONS)}</select></label>
    ${action === "message" && html`<${Message} />`}
    <${When} when=${when} choose=${setWhen} start=${fieldsOf()} />
  <//>`;
}

/**
 * The text of a schedule that sends one message of text; null: another one, whose messages stay as they are.
 * @param {Schedule} one
 */
function onlyText({ message: { messages } }) {
  const [first, ...more] = messages;
  if (!first || more.length) return null;
  if (typeof first.content === "string") return first.content;
  return first.content.length === 1 && first.content[0].type === "text" ? first.content[0].text : null;
}

/** @param {{one: Schedule, names: import("./words.js").Names | undefined, close: () => void, made: () => void | Promise<void>}} props */
export function ChangeSchedule({ one: newest, names, close, made }) {
  const one = useMemo(() => newest, []); // What the form began with, whatever others do meanwhile.
  const start = useMemo(() => fieldsOf(one.schedule), []);
  const [when, setWhen] = useState(start.when);
  const text = one.action === "message" ? onlyText(one) : null;
  const [said] = one.message.messages;
  /** @param {FormData} form */
  const save = async (form) => {
    const now = fieldsOfForm(when, form);
    const other = text !== null && (form.get("text") !== text || form.get("role") !== said.role);
    const messages = other ? { messages: [{ ...said, role: form.get("role"), content: String(form.get("text")) }] } : {};
    // A rate that is sent begins anew, and a moment that has passed is refused: what stays is not sent.
    const body = { ...messages, ...(isOther(start, now) ? { schedule: timingOf(now) } : {}) };
    if (Object.keys(body).length) await call("PATCH", `agents/${one.agent_id}/schedule/${one.id}`, { body });
    say(Object.keys(body).length ? "The schedule was changed." : "Nothing was changed.");
    await made(); // The page shows it before the form closes, so that the next one begins with it.
  };
  return html`<${FormDialog} title="Change the schedule" act="Save" done=${save} close=${close}>
    <p class="small">For <span dir="auto">${nameOf(one.agent_id, names)}</span>${text === null && html`: <span dir="auto">${whatOf(one)}</span>${one.action === "message" && ". Several messages are changed by the API alone."}`}</p>
    ${text !== null && html`<${Message} text=${text} role=${said.role} />`}
    <${When} when=${when} choose=${setWhen} start=${start} />
  <//>`;
}

/** @param {{text?: string, role?: string}} props */
function Message({ text = "", role = "user" }) {
  const roles = ["user", "system", ...(role === "assistant" ? [role] : [])];
  return html`<label class="field"><span>Message</span><textarea name="text" rows="3" required dir="auto" defaultValue=${text}></textarea></label>
    <label class="inline-field"><span>As</span><select name="role">${roles.map((one) => html`<option value=${one} selected=${one === role}>${one}</option>`)}</select></label>`;
}

/** @param {{when: string, choose: (when: string) => void, start: Fields}} props  `start`: what the fields have at first */
function When({ when, choose, start }) {
  const first = { ...fieldsOf(), ...start };
  return html`<label class="field"><span>When</span><select value=${when} onChange=${chosen(choose)}>${options(TIMES)}</select></label>
    ${when === "once" && html`<label class="field"><span>Day and time, in your time zone</span><input type="datetime-local" name="at" required defaultValue=${first.at ?? ""} /></label>`}
    ${when === "rate" &&
    html`<div class="sides"><label class="field"><span>After</span><input type="number" name="every" min="1" step="1" defaultValue=${first.every} required /></label>
      <label class="field"><span>Unit</span><select name="unit">${UNITS.map((unit) => html`<option value=${unit} selected=${unit === first.unit}>${unit}</option>`)}</select></label></div>`}
    ${(BY_CLOCK.includes(when) || when === "cron") && html`<${ByClock} when=${when} first=${first} />`}`;
}

/** @param {{when: string, first: Fields}} props */
function ByClock({ when, first }) {
  return html`<div class="sides">
      ${when === "weekly" && html`<label class="field"><span>Day</span><select name="day">${DAYS.map((day, place) => html`<option value=${place} selected=${String(place) === first.day}>${day}</option>`)}</select></label>`}
      ${when !== "cron" && html`<label class="field"><span>At</span><input type="time" name="clock" required defaultValue=${first.clock} /></label>`}
      ${when === "cron" && html`<label class="field"><span>Minute, hour, day, month, weekday</span><input name="cron" required maxlength="200" placeholder="0 18 * * 1-5" dir="ltr" class="mono" autocomplete="off" defaultValue=${first.cron ?? ""} /></label>`}
      <label class="field"><span>Time zone</span><input name="zone" required list="zones" defaultValue=${first.zone ?? ownZone} dir="ltr" autocomplete="off" /></label>
    </div><datalist id="zones">${Intl.supportedValuesOf("timeZone").map((zone) => html`<option value=${zone}></option>`)}</datalist>`;
}
