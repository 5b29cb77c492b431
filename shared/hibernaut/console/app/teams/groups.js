/** The groups of agents, and a new one. */
import { html } from "../../vendor/htm-preact-3.1.1.js";
import { get } from "../api.js";
import { go } from "../router.js";
import { usePages } from "../settings/parts.js";
import { useLoaded } from "../store.js";
import { Failure, Icon, Loading, useRepeated, useTitle } from "../ui.js";
import { GroupForm } from "./group_form.js";
import { everybody, kindOf, nameOf, useNames } from "./words.js";

/** @typedef {import("./words.js").Group} Group */
/** @typedef {import("./words.js").Names} Names */

const PAGE = 50;
const LOOK = 10_000;
const SHOWN = 6;

/** @param {{making: boolean}} props */
export function Groups({ making }) {
  const { value, error, again, more } = usePages("groups/?order=desc", PAGE, "id");
  const groups = /** @type {Group[] | undefined} */ (value);
  const { value: names, error: unnamed } = useNames((groups ?? []).flatMap(everybody));
  const running = useLoaded((signal) => get("runs/", { active: true, limit: 100 }, signal), []);
  useTitle("Groups");
  useRepeated(running.refresh, LOOK, []);
  const busy = new Set((running.value ?? []).map((/** @type {import("../types.js").Run} */ run) => run.agent_id));
  const close = () => location.hash.startsWith("#/teams/groups") && go("#/teams/groups"); // A new group has taken the place already.
  return html`<div class="row head">
      <div class="grow"><h1>Groups</h1><p class="muted small">Agents that answer a message together.</p></div>
      <a class="button primary" href="#/teams/groups?new=1"><${Icon} name="plus" /> New group</a>
    </div>
    <${Failure} error=${error ?? unnamed ?? running.error} again=${error ? again : undefined} />
    ${!groups && !error && html`<${Loading} label="Loading groups" />`}
    ${groups?.length === 0 && html`<p class="empty card">There is no group yet. Make one of two agents or more, and what you say to it is answered by them in turn, or by those that a manager chooses.</p>`}
    <ul class="cards">${groups?.map((group) => html`<${Card} key=${group.id} group=${group} names=${names} busy=${busy.has(group.id)} />`)}</ul>
    ${more && html`<button type="button" onClick=${more}>More groups</button>`}
    ${making && html`<${GroupForm} close=${close} made=${(/** @type {Group} */ group) => go(`#/teams/${group.id}`)} />`}`;
}

/** @param {{group: Group, names: Names | undefined, busy: boolean}} props */
function Card({ group, names, busy }) {
  const members = group.agent_ids.slice(0, SHOWN).map((id) => nameOf(id, names)).join(", ");
  const hidden = group.agent_ids.length - SHOWN;
  return html`<li class="card agent-card">
    <a class="cover ellipsis" href=${`#/teams/${group.id}`} dir="auto">${titleOf(group, names)}</a>
    <p class="muted small" dir="auto">${members || "no agents"}${hidden > 0 && ` and ${hidden} more`}</p>
    <p class="row small"><span class="tag">${kindOf(group)[0]}</span>${busy && html`<span class="state busy">running</span>`}</p>
  </li>`;
}

/** What a group is called. @param {Group} group @param {Names | undefined} names */
export function titleOf(group, names) {
  if (group.description.trim()) return group.description;
  return group.manager_agent_id ? `Group of ${nameOf(group.manager_agent_id, names)}` : "Group without a description";
}
