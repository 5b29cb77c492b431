/** Identities: the people and organisations to whom agents and blocks belong. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { call, get, post } from "../api.js";
import { useCommands } from "../commands.js";
import { FormDialog, useAction, useSettled } from "../forms.js";
import { agentPlace } from "../router.js";
import { useLoaded } from "../store.js";
import { Confirm, Failure, Icon, IconButton, Loading, say } from "../ui.js";
import { Erase, Erasures } from "./erasures.js";

/** @typedef {import("../types.js").Identity} Identity */
/** @typedef {import("../types.js").Agent} Agent */

const PAGE = 50;
const WAIT = 200;
const TYPES = /** @type {[string, string][]} */ ([["user", "a person"], ["org", "an organisation"], ["other", "something else"]]);

export function Identities() {
  const [text, setText] = useState("");
  const [most, setMost] = useState(PAGE);
  const [adding, setAdding] = useState(false);
  const [begun, setBegun] = useState(0);
  const name = useSettled(text, WAIT);
  const { value, error, again } = useLoaded((signal) => /** @type {Promise<Identity[]>} */ (get("identities/", { name, limit: most }, signal)), [name, most]);
  useCommands(() => [{ name: "New identity", hint: "Settings", act: () => setAdding(true) }], []);
  return html`<div class="row head"><div class="grow"><h1>Identities</h1><p class="muted small">People and organisations outside of this server, to whom agents and blocks belong.</p></div>
      <button type="button" class="primary" onClick=${() => setAdding(true)}><${Icon} name="plus" /> New identity</button></div>
    <div class="row filters"><label class="search"><span class="sr">Search identities by name</span><${Icon} name="search" />
      <input type="search" placeholder="Search by name" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label></div>
    <${Failure} error=${error} again=${again} />
    ${!value && !error && html`<${Loading} label="Loading identities" />`}
    ${value?.length === 0 && html`<p class="empty card">${name ? "No identity fits this search." : "There is none. Make one for each of your application's users, and attach their agents to it."}</p>`}
    <ul class="plain stack">${value?.map((one) => html`<${Card} key=${one.id} identity=${one} changed=${again} erased=${() => (again(), setBegun(begun + 1))} />`)}</ul>
    ${value?.length === most && html`<button type="button" onClick=${() => setMost(most + PAGE)}>More identities</button>`}
    <${Erasures} key=${begun} />
    ${adding && html`<${NewIdentity} close=${() => setAdding(false)} made=${again} />`}`;
}

/** @param {{close: () => void, made: () => void}} props */
function NewIdentity({ close, made }) {
  /** @param {FormData} form */
  const add = async (form) => {
    await post("identities/", { name: form.get("name"), identifier_key: form.get("identifier"), identity_type: form.get("type") });
    say("The identity was made.");
    made();
  };
  return html`<${FormDialog} title="New identity" act="Create" done=${add} close=${close}>
    <label class="field"><span>Name</span><input name="name" required maxlength="100" autocomplete="off" dir="auto" autofocus /></label>
    <label class="field"><span>Its key in your application, such as the number of a user</span><input name="identifier" required autocomplete="off" dir="ltr" /></label>
    <label class="field"><span>It is</span><select name="type">${TYPES.map(([type, title]) => html`<option value=${type}>${title}</option>`)}</select></label>
  <//>`;
}

/** @param {{identity: Identity, changed: () => void, erased: () => void}} props */
function Card({ identity, changed, erased }) {
  const [doing, setDoing] = useState("");
  const kind = TYPES.find(([type]) => type === identity.identity_type)?.[1] ?? identity.identity_type;
  const close = () => setDoing("");
  const remove = async () => {
    await call("DELETE", `identities/${identity.id}`);
    say("The identity was deleted. Its agents stay.");
    changed();
  };
  return html`<li class="card server"><article class="stack" aria-label=${`Identity ${identity.name}`}>
    <div class="row"><h2 class="grow ellipsis" dir="auto">${identity.name}</h2><span class="tag">${kind}</span>
      <${IconButton} icon="trash" label="Delete this identity" onClick=${() => setDoing("delete")} /></div>
    <p class="small"><code dir="auto">${identity.identifier_key}</code> <span class="muted">· ${identity.agent_ids.length === 1 ? "1 agent" : `${identity.agent_ids.length} agents`}, ${identity.block_ids.length === 1 ? "1 block" : `${identity.block_ids.length} blocks`}</span></p>
    <div class="row">
      <button type="button" aria-expanded=${doing === "agents"} onClick=${() => setDoing(doing === "agents" ? "" : "agents")}>${doing === "agents" ? "Hide its agents" : "Its agents"}</button>
      <button type="button" class="danger" onClick=${() => setDoing("erase")}>Erase this person</button>
    </div>
    ${doing === "agents" && html`<${Agents} identity=${identity} changed=${changed} />`}
    ${doing === "erase" && html`<${Erase} identity=${identity} close=${close} begun=${erased} />`}
    ${doing === "delete" && html`<${Confirm} title="Delete this identity?" act="Delete" done=${remove} close=${close} text=${`${identity.name} is detached from its agents and blocks, which stay with all they know. To remove what is known about a person, erase the person instead.`} />`}
  </article></li>`;
}

/** The agents of an identity: attach one, detach one. @param {{identity: Identity, changed: () => void}} props */
function Agents({ identity, changed }) {
  const { value, error, again } = useLoaded(
    (signal) => /** @type {Promise<[Agent[], Agent[]]>} */ (Promise.all([get(`identities/${identity.id}/agents`, { limit: PAGE }, signal), get("agents/", { limit: PAGE }, signal)])),
    [identity.id],
  );
  const doing = useAction(async (/** @type {"attach" | "detach"} */ act, /** @type {string} */ agent) => {
    await call("PATCH", `agents/${encodeURIComponent(agent)}/identities/${act}/${identity.id}`);
    say(act === "attach" ? "The agent was attached." : "The agent was detached.", () => doing.run(act === "attach" ? "detach" : "attach", agent));
    again();
    changed();
  });
  /** @param {SubmitEvent} event */
  const attach = (event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    doing.run("attach", String(new FormData(form).get("agent")).trim());
    form.reset();
  };
  const [own, all] = value ?? [[], []];
  const others = all.filter((one) => !own.some((mine) => mine.id === one.id));
  const list = `agents-${identity.id}`;
  return html`<div class="stack">
    <${Failure} error=${error} again=${again} />
    ${!value && !error && html`<${Loading} label="Loading its agents" />`}
    ${value && own.length === 0 && html`<p class="muted small">No agent belongs to it.</p>`}
    ${own.length > 0 && html`<ul class="plain stack small" aria-label=${`Agents of ${identity.name}`}>${own.map((one) => html`<li key=${one.id} class="row"><a class="grow" href=${agentPlace(one.id)} dir="auto">${one.name}</a>
      <button type="button" disabled=${doing.busy} aria-label=${`Detach ${one.name}`} onClick=${() => doing.run("detach", one.id)}>Detach</button></li>`)}</ul>`}
    ${value && html`<form class="row" onSubmit=${attach}><label class="field grow"><span>Attach an agent, by its id</span><input name="agent" required list=${list} dir="ltr" autocomplete="off" placeholder="agent-…" /></label>
      <datalist id=${list}>${others.map((one) => html`<option value=${one.id}>${one.name}</option>`)}</datalist>
      <button disabled=${doing.busy}>Attach</button></form>`}
    <${Failure} error=${doing.error} close=${doing.clear} />
  </div>`;
}
