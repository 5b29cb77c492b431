/** Sleep time: the agents that have a partner, when that one works, and what it did. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { call } from "../api.js";
import { FormDialog } from "../forms.js";
import { go } from "../router.js";
import { usePages } from "../settings/parts.js";
import { Failure, Icon, Loading, say, useTitle } from "../ui.js";
import { AgentPicker, GroupForm } from "./group_form.js";
import { Nights } from "./nights.js";
import { AgentLink, everybody, nameOf, rhythmOf, useNames } from "./words.js";

/** @typedef {import("./words.js").Group} Group */
/** @typedef {import("./words.js").Names} Names */

const PAGE = 20;

/** @param {{making: boolean}} props */
export function Sleep({ making }) {
  const { value, error, again, more } = usePages("groups/?order=desc&manager_type=sleeptime", PAGE, "id");
  const groups = /** @type {Group[] | undefined} */ (value);
  const { value: names, error: unnamed } = useNames((groups ?? []).flatMap(everybody));
  useTitle("Sleep time");
  return html`<div class="row head">
      <div class="grow"><h1>Sleep time</h1><p class="muted small">Agents that bring the memory of another one up to date while that one does not talk.</p></div>
      <a class="button primary" href="#/teams/sleep?new=1"><${Icon} name="plus" /> Give an agent a partner</a>
    </div>
    <${Failure} error=${error ?? unnamed} again=${error ? again : undefined} />
    ${!groups && !error && html`<${Loading} label="Loading sleep-time agents" />`}
    ${groups?.length === 0 && html`<p class="empty card">No agent has a sleep-time partner yet. Give one to an agent, and it goes over the memory after conversations.</p>`}
    <ul class="plain stack">${groups?.map((group) => html`<${Pair} key=${group.id} group=${group} names=${names} changed=${again} />`)}</ul>
    ${more && html`<button type="button" onClick=${more}>More pairs</button>`}
    ${making && html`<${NewPartner} close=${() => go("#/teams/sleep")} made=${again} />`}`;
}

/** @param {{group: Group, names: Names | undefined, changed: () => void}} props */
function Pair({ group, names, changed }) {
  const [open, setOpen] = useState(false);
  const [changing, setChanging] = useState(false);
  const talks = group.manager_agent_id ?? "";
  return html`<li class="card server"><article class="stack" aria-label=${`Sleep time of ${nameOf(talks, names)}`}>
    <div class="row"><h2 class="grow"><${AgentLink} id=${talks} names=${names} place="memory" /></h2>
      <button type="button" onClick=${() => setChanging(true)}>Change</button><a class="button" href=${`#/teams/${group.id}`}>Open</a></div>
    <p class="small">Partner: ${group.agent_ids.map((id, place) => html`${place > 0 && ", "}<${AgentLink} id=${id} names=${names} />`)}. <span class="muted">${rhythmOf(group)}</span></p>
    <div class="row"><button type="button" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? "Hide what it did" : "Show what it did"}</button></div>
    ${open && html`<${Nights} group=${group} names=${names} />`}
    ${changing && html`<${GroupForm} group=${group} names=${names} close=${() => setChanging(false)} made=${changed} />`}
  </article></li>`;
}

/** @param {{close: () => void, made: () => void}} props */
function NewPartner({ close, made }) {
  const [agents, setAgents] = useState(/** @type {{id: string, name: string}[]} */ ([]));
  const save = async () => {
    if (!agents.length) throw new Error("Find an agent by its name, and choose it.");
    await call("PATCH", `agents/${agents[0].id}`, { body: { enable_sleeptime: true } });
    say(`${agents[0].name} has a sleep-time partner.`);
    made();
  };
  return html`<${FormDialog} title="Give an agent a partner" act="Give" done=${save} close=${close}>
    <p class="small">The partner is an agent of its own. It shares all blocks, and is told the newest 50 messages at first.</p>
    <${AgentPicker} legend="Agent" chosen=${agents} choose=${(/** @type {{id: string, name: string}[]} */ found) => setAgents(found.slice(-1))} />
  <//>`;
}
