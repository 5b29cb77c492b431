/** A group in a form: its kind, its agents in their order, its manager, and when a message to it is answered. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { call, get, post } from "../api.js";
import { FormDialog, useSettled } from "../forms.js";
import { useLoaded } from "../store.js";
import { Failure, IconButton, say } from "../ui.js";
import { KINDS, nameOf, sleeps, useNames } from "./words.js";

/** @typedef {import("./words.js").Group} Group */
/** @typedef {import("./words.js").Names} Names */
/** @typedef {{id: string, name: string}} Named */

const WAIT = 200;
const FOUND = 20;
const MINUTE = 60;

/** @param {FormDataEntryValue | null} text */
const numberOf = (text) => (text ? Number(text) : null);

/**
 * What a form says of the manager, as the API takes it. A null changes nothing.
 * @param {string} kind
 * @param {FormData} form
 * @param {Named | null} manager
 */
function managerOf(kind, form, manager) {
  const base = { manager_type: kind, ...(manager ? { manager_agent_id: manager.id } : {}) };
  if (kind.endsWith("sleeptime")) return { ...base, sleeptime_agent_frequency: numberOf(form.get("every")), sleeptime_idle_seconds: Math.round(Number(form.get("idle") || 0) * MINUTE) };
  if (kind === "supervisor") return base;
  return { ...base, max_turns: numberOf(form.get("turns")), ...(kind === "dynamic" ? { termination_token: form.get("token") || null } : {}) };
}

/**
 * Makes a group, or changes one. Its kind stays.
 * @param {{group?: Group, names?: Names, close: () => void, made: (group: Group) => void | Promise<void>}} props
 */
export function GroupForm({ group, names, close, made }) {
  const named = (/** @type {string} */ id) => ({ id, name: nameOf(id, names) });
  const [kind, setKind] = useState(group?.manager_type ?? KINDS[0][0]);
  const [agents, setAgents] = useState(/** @type {Named[]} */ (group?.agent_ids.map(named) ?? []));
  const [manager, setManager] = useState(/** @type {Named[]} */ (group?.manager_agent_id ? [named(group.manager_agent_id)] : []));
  const asleep = group ? sleeps(group) : false;
  const managed = kind !== "round_robin";
  /** @param {FormData} form */
  const save = async (form) => {
    if (!agents.length) throw new Error("A group has one agent at least: find it by its name, and add it.");
    if (managed && !manager.length) throw new Error("This kind of group has a manager: find it by its name, and choose it.");
    const config = managerOf(kind, form, managed ? manager[0] : null);
    const body = { description: String(form.get("description")), manager_config: config, ...(asleep ? {} : { agent_ids: agents.map((one) => one.id) }) };
    const done = /** @type {Group} */ (await (group ? call("PATCH", `groups/${group.id}`, { body }) : post("groups/", body)));
    say(group ? "The group was changed." : "The group was made.");
    await made(done); // The page shows it before the form closes, so that the next one begins with it.
  };
  return html`<${FormDialog} title=${group ? "Change the group" : "New group"} act=${group ? "Save" : "Make"} done=${save} close=${close}>
    <label class="field"><span>Description</span><input name="description" defaultValue=${group?.description ?? ""} maxlength="1000" autocomplete="off" dir="auto" autofocus /></label>
    ${!group && html`<fieldset class="stack"><legend>Who speaks</legend>${KINDS.map(
      ([name, title, text]) => html`<label class="check"><input type="radio" name="kind" value=${name} checked=${kind === name} onChange=${() => setKind(name)} /><span>${title}<small>${text}</small></span></label>`,
    )}</fieldset>`}
    ${!asleep && html`<${AgentPicker} legend="Agents, in their order" chosen=${agents} choose=${setAgents} />`}
    ${!asleep && managed && html`<${AgentPicker} legend=${kind === "supervisor" ? "Supervisor" : "Manager"} chosen=${manager} choose=${(/** @type {Named[]} */ found) => setManager(found.slice(-1))} />`}
    ${asleep ? html`<${Rhythm} group=${/** @type {Group} */ (group)} />` : kind !== "supervisor" && html`<label class="field"><span>Turns for one message, at most</span><input name="turns" type="number" min="1" max="200" defaultValue=${group?.max_turns ?? ""} placeholder="as many as it has agents" /></label>`}
    ${kind === "dynamic" && html`<label class="field"><span>The manager's word for the end</span><input name="token" defaultValue=${group?.termination_token ?? "DONE!"} autocomplete="off" dir="auto" /></label>`}
  <//>`;
}

/** When a sleep-time agent works. @param {{group: Group}} props */
function Rhythm({ group }) {
  return html`<label class="field"><span>After how many turns it works (0: after none)</span>
      <input name="every" type="number" min="0" max="10000" required defaultValue=${group.sleeptime_agent_frequency ?? 1} /></label>
    <label class="field"><span>After how many minutes without a turn (0: never)</span>
      <input name="idle" type="number" min="0" max="43200" step="any" required defaultValue=${(group.sleeptime_idle_seconds ?? 0) / MINUTE} /></label>
    <p class="small muted">For a time of the day add a schedule with sleep-time work.</p>`;
}

/**
 * Agents that are found by their names and chosen, in an order.
 * @param {{legend: string, chosen: Named[], choose: (chosen: Named[]) => void}} props
 */
export function AgentPicker({ legend, chosen, choose }) {
  const [text, setText] = useState("");
  const query = useSettled(text, WAIT);
  const { value, error } = useLoaded((signal) => /** @type {Promise<Named[]>} */ (get("agents/", { query_text: query, limit: FOUND, include_relationships: ["tags"] }, signal)), [query]);
  const known = useNames(chosen.map((one) => one.id));
  const taken = new Set(chosen.map((one) => one.id));
  const rest = value?.filter((one) => !taken.has(one.id)) ?? [];
  const first = (/** @type {number} */ place) => choose([chosen[place], ...chosen.filter((_, other) => other !== place)]);
  return html`<fieldset class="stack picker"><legend>${legend}</legend>
    ${chosen.length > 0 && html`<ol class="chosen">${chosen.map(
      (one, place) => html`<li key=${one.id}><div class="row tight"><span class="grow ellipsis" dir="auto">${known.value?.get(one.id) ?? one.name}</span>
        ${place > 0 && html`<button type="button" class="link" aria-label=${`Put ${one.name} first`} onClick=${() => first(place)}>first</button>`}
        <${IconButton} icon="close" label=${`Take ${one.name} out`} onClick=${() => choose(chosen.filter((other) => other.id !== one.id))} /></div></li>`,
    )}</ol>`}
    <label class="field"><span class="small">Find agents by name</span><input type="search" value=${text} autocomplete="off" dir="auto" onInput=${(/** @type {any} */ event) => setText(event.target.value)}
      onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Enter" && (event.preventDefault(), rest[0] && choose([...chosen, rest[0]]))} /></label>
    <${Failure} error=${error} />
    <ul class="plain found-agents" aria-label=${`Found for ${legend}`}>${rest.map(
      (one) => html`<li key=${one.id}><button type="button" onClick=${() => choose([...chosen, one])} aria-label=${`Add ${one.name}`} dir="auto">${one.name}</button></li>`,
    )}</ul>
    ${value && rest.length === 0 && html`<p class="small muted">${query ? "No other agent has this name." : "There is no other agent."}</p>`}
  </fieldset>`;
}
