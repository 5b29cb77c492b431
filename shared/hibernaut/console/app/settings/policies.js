/** Tool policies: which calls are allowed, denied or asked about, in the order in which they are compared. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { call, get } from "../api.js";
import { useCommands } from "../commands.js";
import { useAction } from "../forms.js";
import { useLoaded } from "../store.js";
import { Confirm, Failure, Icon, IconButton, Loading, say } from "../ui.js";
import { PolicyForm } from "./policy_form.js";
import { PolicyTest } from "./policy_test.js";

/** @typedef {import("../types.js").ToolPolicy} ToolPolicy */

const ACTIONS = /** @type {Record<string, [string, string]>} */ ({ allow: ["allows", "busy"], deny: ["denies", "failed"], ask: ["asks a person", "waiting"] });

/** @param {ToolPolicy} policy */
function conditionsOf({ servers, agent_tags: tags, arguments: conditions, rate }) {
  return [
    servers && `of the MCP servers ${servers.join(", ")}`,
    tags && `by agents with the tags ${tags.join(", ")}`,
    ...conditions.map((one) => `where ${one.path || "an argument"} ${one.negate ? "is not" : "is"} ${one.matches.join(" or ")}`),
    rate && `at most ${rate.calls} in ${rate.seconds} s for each ${rate.per}`,
  ].filter(Boolean);
}

export function Policies() {
  const { value, error, again } = useLoaded((signal) => /** @type {Promise<ToolPolicy[]>} */ (get("tool-policies", {}, signal)), []);
  const [setting, setSetting] = useState(/** @type {ToolPolicy | "new" | null} */ (null));
  const [removing, setRemoving] = useState(/** @type {ToolPolicy | null} */ (null));
  const [testing, setTesting] = useState(false);
  useCommands(
    () => [
      { name: "New tool policy", hint: "Settings", act: () => setSetting("new") },
      { name: "Test the tool policies", hint: "Settings", act: () => setTesting(true) },
    ],
    [],
  );
  const changing = useAction(async (/** @type {string} */ method, /** @type {string} */ route, /** @type {object} */ body, /** @type {string} */ told) => {
    try {
      await call(method, `tool-policies/${route}`, { body });
      say(told);
    } finally {
      again();
    }
  });
  const toggle = (/** @type {ToolPolicy} */ one) => changing.run("PATCH", one.id, { enabled: !one.enabled }, one.enabled ? "The policy is passed over." : "The policy decides again.");
  const move = (/** @type {number} */ place, /** @type {number} */ by) => {
    const ids = (value ?? []).map((one) => one.id);
    ids.splice(place + by, 0, ...ids.splice(place, 1));
    return changing.run("PUT", "order", { policy_ids: ids }, "The order was changed.");
  };
  const remove = async () => {
    await call("DELETE", `tool-policies/${removing?.id}`);
    say("The policy was deleted.");
    again();
  };
  const last = (value?.length ?? 0) - 1;
  return html`<div class="row head"><div class="grow"><h1>Tool policies</h1><p class="muted small">The first policy that fits a call decides about it.</p></div>
      ${value && value.length > 0 && html`<button type="button" onClick=${() => setTesting(true)}>Test</button>`}
      ${value && html`<button type="button" class="primary" onClick=${() => setSetting("new")}><${Icon} name="plus" /> New policy</button>`}</div>
    <${Failure} error=${error} again=${again} />
    <${Failure} error=${changing.error} close=${changing.clear} />
    ${!value && !error && html`<${Loading} label="Loading policies" />`}
    ${value?.length === 0 && html`<p class="empty card">There is no policy: agents call the tools that they have. A policy allows, denies, or asks a person before a call is made.</p>`}
    <ol class="plain stack policies">${value?.map(
      (one, place) => html`<${Card} key=${one.id} one=${one} busy=${changing.busy} up=${place > 0 && (() => move(place, -1))} down=${place < last && (() => move(place, 1))}
        edit=${() => setSetting(one)} toggle=${() => toggle(one)} remove=${() => setRemoving(one)} />`,
    )}</ol>
    ${setting && html`<${PolicyForm} policy=${setting === "new" ? null : setting} close=${() => setSetting(null)} made=${again} />`}
    ${testing && html`<${PolicyTest} close=${() => setTesting(false)} />`}
    ${removing && html`<${Confirm} title="Delete this policy?" act="Delete" done=${remove} close=${() => setRemoving(null)} text=${`“${removing.name}” does not decide about calls any more. This cannot be undone.`} />`}`;
}

/** @param {{one: ToolPolicy, busy: boolean, up: false | (() => void), down: false | (() => void), edit: () => void, toggle: () => void, remove: () => void}} props */
function Card({ one, busy, up, down, edit, toggle, remove }) {
  const [word, kind] = ACTIONS[one.action] ?? [one.action, "asleep"];
  return html`<li class="card server"><article class="stack" aria-label=${`Policy ${one.name}`}>
    <div class="row"><h2 class="grow" dir="auto">${one.name}</h2>${!one.enabled && html`<span class="tag">switched off</span>`}<span class=${`state ${kind}`}>${word}</span>
      <${IconButton} icon="trash" label=${`Delete the policy ${one.name}`} onClick=${remove} /></div>
    <p>Calls of ${one.tools.map((tool) => html`<code>${tool}</code> `)}${conditionsOf(one).join(", ")}${one.waives_approval && ", without an approval"}</p>
    ${one.message && html`<p class="muted small">The model reads: <span dir="auto">${one.message}</span></p>`}
    <div class="row"><button type="button" onClick=${edit}>Change</button>
      <button type="button" disabled=${busy} onClick=${toggle}>${one.enabled ? "Switch off" : "Switch on"}</button>
      ${up && html`<button type="button" disabled=${busy} aria-label=${`Compare ${one.name} earlier`} onClick=${up}>Earlier</button>`}
      ${down && html`<button type="button" disabled=${busy} aria-label=${`Compare ${one.name} later`} onClick=${down}>Later</button>`}</div>
  </article></li>`;
}
