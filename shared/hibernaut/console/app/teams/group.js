/** One group: its graph, its settings, and what is said in it, or what its sleep-time agent did. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { call, get } from "../api.js";
import { useCommands } from "../commands.js";
import { agentPlace, go } from "../router.js";
import { useLoaded } from "../store.js";
import { Confirm, Failure, IconButton, Loading, say, useRepeated, useTitle } from "../ui.js";
import { Graph, Members } from "./graph.js";
import { GroupForm } from "./group_form.js";
import { titleOf } from "./groups.js";
import { Log } from "./log.js";
import { Nights } from "./nights.js";
import { everybody, kindOf, rhythmOf, sleeps, useNames } from "./words.js";

/** @typedef {import("./words.js").Group} Group */
/** @typedef {import("../types.js").Run & {metadata?: Record<string, any> | null}} Turn */

const LOOK = 2000;

/** @param {{id: string}} props */
export function GroupPage({ id }) {
  const { value: group, error, again } = useLoaded((signal) => /** @type {Promise<Group>} */ (get(`groups/${id}`, {}, signal)), [id]);
  if (error && !group) return html`<${Failure} error=${error} again=${again} />`;
  return group ? html`<${Opened} group=${group} changed=${again} />` : html`<${Loading} label="Loading the group" />`;
}

/** The runs of a group that go on: its own, and those of its agents. @param {Group} group */
function useTurns(group) {
  const ids = [group.id, ...everybody(group)];
  const { value, error, again, refresh } = useLoaded((signal) => /** @type {Promise<Turn[]>} */ (get("runs/", { active: true, agent_ids: ids, limit: 100 }, signal)), [ids.join()]);
  const mine = value?.filter((run) => run.agent_id === group.id || run.metadata?.group_id === group.id) ?? [];
  useRepeated(refresh, LOOK, [group.id], mine.length > 0);
  return { error, again, runs: mine.filter((run) => run.agent_id === group.id), speaking: new Set(mine.filter((run) => run.status === "running").map((run) => run.agent_id)) };
}

/** @param {{group: Group, changed: () => void}} props */
function Opened({ group, changed }) {
  const { value: names, error } = useNames(everybody(group));
  const turns = useTurns(group);
  const [open, setOpen] = useState(/** @type {"" | "change" | "delete" | "forget"} */ (""));
  const title = titleOf(group, names);
  const close = () => setOpen("");
  useTitle(title);
  useCommands(
    () => [
      { name: "Change this group", hint: "This group", act: () => setOpen("change") },
      { name: "Delete this group", hint: "This group", act: () => setOpen("delete") },
    ],
    [group.id],
  );
  const remove = async () => {
    await call("DELETE", `groups/${group.id}`);
    say("The group was deleted.");
    go("#/teams/groups");
  };
  const forget = async () => {
    await call("PATCH", `groups/${group.id}/reset-messages`);
    say("Its agents forget what they were not told yet.");
  };
  return html`<div class="row head"><h1 class="grow" dir="auto">${title}</h1><span class="tag">${kindOf(group)[0]}</span>
      <button type="button" onClick=${() => setOpen("change")}>Change</button>
      <${IconButton} icon="trash" label="Delete this group" onClick=${() => setOpen("delete")} /></div>
    <${Failure} error=${error ?? turns.error} />
    <section class="card team" aria-label="Who speaks to whom"><${Graph} group=${group} names=${names} speaking=${turns.speaking} /><${Members} group=${group} names=${names} speaking=${turns.speaking} /></section>
    <${Settings} group=${group} />
    ${sleeps(group)
      ? html`<${Nights} group=${group} names=${names} /><p class="small">A message to this group is one to the agent that talks: <a href=${agentPlace(group.manager_agent_id ?? "")}>open its chat</a>.</p>`
      : html`<${Log} group=${group} runs=${turns.runs} look=${turns.again} />
        <div class="row end"><button type="button" class="link" onClick=${() => setOpen("forget")}>Forget what was not told yet</button></div>`}
    ${open === "change" && html`<${GroupForm} group=${group} names=${names} close=${close} made=${changed} />`}
    ${open === "delete" && html`<${Confirm} title="Delete this group?" act="Delete" done=${remove} close=${close} text=${`${title}, with all that was said in it, is erased. Its agents remain. This cannot be undone.`} />`}
    ${open === "forget" && html`<${Confirm} title="Let the agents forget?" act="Forget" done=${forget} close=${close} text="What was said and not yet told to each agent is told to none. The log below keeps it. This cannot be undone." />`}`;
}

/** @param {{group: Group}} props */
function Settings({ group }) {
  const blocks = useLoaded((signal) => Promise.all(group.shared_block_ids.map((id) => get(`blocks/${id}`, {}, signal))), [group.shared_block_ids.join()]);
  const turns = group.max_turns ? `at most ${group.max_turns}` : `as many as it has agents (${group.agent_ids.length})`;
  const rows = sleeps(group)
    ? [["Rhythm", rhythmOf(group)]]
    : [...(group.manager_type === "supervisor" ? [] : [["Turns for one message", turns]]), ...(group.manager_type === "dynamic" ? [["Word for the end", group.termination_token ?? "DONE!"]] : [])];
  return html`<${Failure} error=${blocks.error} />
    <dl class="facts small">${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd dir="auto">${value}</dd></div>`)}
      ${group.shared_block_ids.length > 0 && html`<div><dt>Shared blocks</dt><dd dir="auto">${blocks.value?.map((/** @type {any} */ one) => one.label).join(", ") ?? "…"}</dd></div>`}</dl>`;
}
