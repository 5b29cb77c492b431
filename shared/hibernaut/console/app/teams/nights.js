/** What the sleep-time agents of a group did: their last runs with reason and cost, and the difference of each block that they changed. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { get } from "../api.js";
import { dollars, moment } from "../format.js";
import { Diff } from "../memory/history.js";
import { agentPlace } from "../router.js";
import { useLoaded } from "../store.js";
import { Failure, Loading, Time } from "../ui.js";
import { nameOf, runWord } from "./words.js";

/** @typedef {import("./words.js").Group} Group */
/** @typedef {import("./words.js").Names} Names */
/** @typedef {import("../types.js").Run & {metadata?: Record<string, any> | null}} Run */
/** @typedef {{block_id: string | null, label: string | null, passage_id: string | null, version: {version: number, change: string}, changes: any[]}} Version */
/** @typedef {{run: Run, versions: Version[], usage: {cost: number | null, total_tokens: number}}} Night */

const PAGE = 5;
/** Milliseconds that count as the last night. */
const NIGHT = 86_400_000;

/**
 * @param {Group} group
 * @param {number} most
 * @param {AbortSignal} signal
 * @returns {Promise<{nights: Night[], more: boolean}>}
 */
async function load(group, most, signal) {
  if (!group.agent_ids.length) return { nights: [], more: false };
  const runs = /** @type {Run[]} */ (await get("runs/", { agent_ids: group.agent_ids, limit: most }, signal));
  const own = runs.filter((run) => run.metadata?.group_id === group.id);
  const parts = await Promise.all(own.map((run) => Promise.all([get(`runs/${run.id}/versions`, {}, signal), get(`runs/${run.id}/usage`, {}, signal)])));
  return { nights: own.map((run, place) => ({ run, versions: parts[place][0], usage: parts[place][1] })), more: runs.length === most };
}

/** @param {{group: Group, names: Names | undefined}} props */
export function Nights({ group, names }) {
  const [most, setMost] = useState(PAGE);
  const { value, error, loading, again } = useLoaded((signal) => load(group, most, signal), [group.id, group.agent_ids.join(), most]);
  return html`<section class="stack" aria-label="What it did">
    <div class="row"><h2 class="grow">What it did</h2><button type="button" disabled=${loading} onClick=${again}>Read again</button></div>
    <${Failure} error=${error} again=${again} />
    ${!value && !error && html`<${Loading} label="Reading its runs" />`}
    ${value && html`<${Sum} nights=${value.nights} more=${value.more} />`}
    ${value?.nights.length === 0 && html`<p class="empty card">It has not worked yet. Talk to its partner, and look again.</p>`}
    <ul class="plain stack">${value?.nights.map((night) => html`<${NightCard} key=${night.run.id} night=${night} group=${group} names=${names} />`)}</ul>
    ${value?.more && html`<button type="button" onClick=${() => setMost(most + PAGE)}>Older runs</button>`}
  </section>`;
}

/** The last day in one line. @param {{nights: Night[], more: boolean}} props */
function Sum({ nights, more }) {
  const since = Date.now() - NIGHT;
  const last = nights.filter(({ run }) => new Date(run.created_at).getTime() >= since);
  if (!last.length) return nights.length ? html`<p class="muted">It did not work in the last 24 hours.</p>` : null;
  const labels = [...new Set(last.flatMap(({ versions }) => versions.map((one) => one.label)).filter(Boolean))];
  const known = last.map(({ usage }) => usage.cost).filter((cost) => cost !== null);
  const cost = known.length === last.length ? dollars(known.reduce((sum, one) => sum + one, 0)) : "an unknown price";
  const cut = more && last.length === nights.length;
  return html`<p>In the last 24 hours: ${cut && "at least "}${last.length === 1 ? "one run" : `${last.length} runs`} for ${cost}, ${
    labels.length ? html`changed ${labels.map((label, place) => html`${place > 0 && ", "}<strong dir="auto">${label}</strong>`)}` : "no block changed"
  }.</p>`;
}

/** @param {{night: Night, group: Group, names: Names | undefined}} props */
function NightCard({ night: { run, versions, usage }, group, names }) {
  const [word, kind] = runWord(run.status, run.stop_reason);
  const known = [...group.agent_ids, group.manager_agent_id ?? ""].filter((id) => names?.has(id));
  const reason = known.reduce((text, id) => text.replaceAll(id, nameOf(id, names)), String(run.metadata?.reason ?? ""));
  return html`<li class="card server"><article class="stack" aria-label=${`Run of ${moment(run.created_at)}`}>
    <div class="row"><span class=${`state ${kind}`}>${word}</span><strong class="grow" dir="auto">${reason || "no reason is known"}</strong>
      <span class="muted small"><${Time} at=${run.created_at} /> · ${usage.cost === null ? "unknown price" : dollars(usage.cost)}</span>
      <a class="small" href=${agentPlace(run.agent_id, "runs")}>its runs</a></div>
    ${versions.length === 0 && html`<p class="small muted">${run.completed_at ? "It changed nothing." : "It works."}</p>`}
    ${versions.map((one) => html`<div key=${`${one.block_id}${one.passage_id}${one.version.version}`} class="stack tight-stack"><p class="small">${titleOf(one)}</p>
      ${one.changes.filter((change) => !one.label || one.version.change !== "created" || change.field === "value").map((change) => html`<${Diff} change=${change} />`)}</div>`)}
  </article></li>`;
}

/** @param {Version} one */
function titleOf(one) {
  if (one.label) return html`Block <strong dir="auto">${one.label}</strong>, version ${one.version.version}`;
  return one.passage_id ? "A passage of the archive" : `Its own settings, version ${one.version.version}`;
}
