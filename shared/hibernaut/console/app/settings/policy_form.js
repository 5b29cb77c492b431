/** A tool policy in a form: what it decides, and which calls it fits. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { call } from "../api.js";
import { FormDialog } from "../forms.js";
import { Icon, IconButton, say } from "../ui.js";

/** @typedef {import("../types.js").ToolPolicy} ToolPolicy */
/** @typedef {import("../types.js").ArgumentCondition} Condition */
/** @typedef {{key: number, start: Condition}} Row */

const ACTIONS = [["deny", "denies", "The call is not made, and the model reads why."], ["ask", "asks a person", "The call waits for an approval."], ["allow", "allows", "The call is made. The agent's own rules hold as well."]];
const SUBJECTS = [["key", "each API key"], ["agent", "each agent"], ["tenant", "all together"]];
/** @type {Condition} */
const BLANK = { path: "", matches: [], negate: false, ignore_case: false };

/** The lines of a field, without empty ones. @param {FormDataEntryValue | null} text */
const lines = (text) => String(text ?? "").split("\n").map((line) => line.trim()).filter(Boolean);
/** The same, or null. @param {FormDataEntryValue | null} text */
const linesOrNull = (text) => (lines(text).length ? lines(text) : null);

/**
 * What the form says, as the API takes it.
 * @param {string} action
 * @param {Row[]} rows
 * @param {FormData} form
 */
export function policyOf(action, rows, form) {
  const allows = action === "allow";
  const calls = String(form.get("calls") ?? "");
  return {
    name: String(form.get("name")).trim(),
    action,
    tools: lines(form.get("tools")),
    servers: linesOrNull(form.get("servers")),
    agent_tags: linesOrNull(form.get("tags")),
    arguments: rows.map(({ key }) => ({
      path: String(form.get(`path-${key}`)).trim(),
      matches: String(form.get(`matches-${key}`)).split("\n").filter(Boolean),
      negate: form.get(`negate-${key}`) === "not",
      ignore_case: form.has(`case-${key}`),
    })),
    message: String(form.get("message") ?? "").trim() || null,
    waives_approval: allows && form.has("waives"),
    rate: allows && calls ? { calls: Number(calls), seconds: Number(form.get("seconds")), per: form.get("per") } : null,
  };
}

/** @param {{policy: ToolPolicy | null, close: () => void, made: () => void | Promise<void>}} props  `policy`: null for a new one */
export function PolicyForm({ policy, close, made }) {
  const [action, setAction] = useState(policy?.action ?? "deny");
  const [rows, setRows] = useState(/** @type {Row[]} */ ((policy?.arguments ?? []).map((start, key) => ({ key, start }))));
  /** @param {FormData} form */
  const save = async (form) => {
    const body = policyOf(action, rows, form);
    await (policy ? call("PATCH", `tool-policies/${policy.id}`, { body }) : call("POST", "tool-policies", { body }));
    say(policy ? "The policy was changed." : "The policy was made. It is compared after all others.");
    await made(); // The page shows it before the form closes, so that the next one begins with it.
  };
  const add = () => setRows((old) => [...old, { key: Math.max(-1, ...old.map((one) => one.key)) + 1, start: BLANK }]);
  return html`<${FormDialog} title=${policy ? "Change the policy" : "New tool policy"} act=${policy ? "Save" : "Make"} done=${save} close=${close}>
    <label class="field"><span>Name</span><input name="name" required maxlength="100" autocomplete="off" dir="auto" defaultValue=${policy?.name ?? ""} autofocus /></label>
    <fieldset class="stack"><legend>What it does with a call</legend>${ACTIONS.map(
      ([name, title, text]) => html`<label class="check"><input type="radio" name="action" value=${name} checked=${action === name} onChange=${() => setAction(name)} /><span>${title}<small>${text}</small></span></label>`,
    )}</fieldset>
    <${Lines} name="tools" title="Tools, one name a line; * stands for any characters" value=${policy?.tools ?? ["*"]} required />
    <div class="sides"><${Lines} name="servers" title="Only of these MCP servers" value=${policy?.servers ?? []} /><${Lines} name="tags" title="Only of agents with one of these tags" value=${policy?.agent_tags ?? []} /></div>
    <fieldset class="stack"><legend>Only if all of these hold</legend>
      ${rows.map((one, place) => html`<${ConditionRow} key=${one.key} row=${one} place=${place + 1} remove=${() => setRows((old) => old.filter((other) => other !== one))} />`)}
      <div class="row"><button type="button" disabled=${rows.length >= 10} onClick=${add}><${Icon} name="plus" /> Add a condition</button></div></fieldset>
    ${action === "allow" ? html`<${Allowing} policy=${policy} />` : html`<${Told} policy=${policy} action=${action} />`}
  <//>`;
}

/** @param {{name: string, title: string, value: string[], required?: boolean}} props */
function Lines({ name, title, value, required = false }) {
  return html`<label class="field"><span>${title}</span><textarea name=${name} rows="2" dir="ltr" class="mono" required=${required} defaultValue=${value.join("\n")}></textarea></label>`;
}

/** @param {{row: Row, place: number, remove: () => void}} props */
function ConditionRow({ row: { key, start }, place, remove }) {
  return html`<div class="stack condition" role="group" aria-label=${`Condition ${place}`}>
    <div class="row tight"><label class="field grow"><span>Argument, such as message.to (empty: any)</span><input name=${`path-${key}`} maxlength="200" dir="ltr" class="mono" autocomplete="off" defaultValue=${start.path} /></label>
      <label class="field"><span>It</span><select name=${`negate-${key}`}>${[["is", "is"], ["not", "is not"]].map(([value, title]) => html`<option value=${value} selected=${start.negate === (value === "not")}>${title}</option>`)}</select></label>
      <${IconButton} icon="close" label=${`Take condition ${place} out`} onClick=${remove} /></div>
    <label class="field"><span>One of these values, one a line; * stands for any characters</span><textarea name=${`matches-${key}`} rows="2" required dir="ltr" class="mono" defaultValue=${start.matches.join("\n")}></textarea></label>
    <label class="inline-field"><input type="checkbox" name=${`case-${key}`} defaultChecked=${start.ignore_case} /><span>Upper and lower case are the same</span></label>
  </div>`;
}

/** @param {{policy: ToolPolicy | null, action: string}} props */
function Told({ policy, action }) {
  return html`<label class="field"><span>What the model reads ${action === "ask" ? "if a call cannot wait for a person" : ""} (else the server says it)</span>
    <textarea name="message" rows="2" maxlength="1000" dir="auto" defaultValue=${policy?.message ?? ""}></textarea></label>`;
}

/** @param {{policy: ToolPolicy | null}} props */
function Allowing({ policy }) {
  const rate = policy?.rate;
  return html`<label class="inline-field"><input type="checkbox" name="waives" defaultChecked=${policy?.waives_approval ?? false} /><span>Without an approval, whatever the agent's rules say</span></label>
    <div class="sides"><label class="field"><span>At most so many calls of a tool</span><input type="number" name="calls" min="1" max="1000000" placeholder="no limit" defaultValue=${rate?.calls ?? ""} /></label>
      <label class="field"><span>In so many seconds</span><input type="number" name="seconds" min="1" max="86400" required defaultValue=${rate?.seconds ?? 3600} /></label>
      <label class="field"><span>For</span><select name="per">${SUBJECTS.map(([value, title]) => html`<option value=${value} selected=${value === (rate?.per ?? "key")}>${title}</option>`)}</select></label></div>`;
}
