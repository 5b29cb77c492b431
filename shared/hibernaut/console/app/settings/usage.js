/** Usage: tokens and cost of the last days, as a plot and as tables. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { get } from "../api.js";
import { count, dollars } from "../format.js";
import { useLoaded } from "../store.js";
import { Failure, Loading } from "../ui.js";

/** @typedef {import("../types.js").UsageTotal} UsageTotal */
/** @typedef {UsageTotal & {day: string, model: string | null}} Row */
/** @typedef {{name: string, tokens: number, steps: number, cost: number | null}} Sum */

const DAYS = 14;
const DAY = 86_400_000;
/** How many reports are read at most: each covers 10,000 steps. */
const MOST = 10;
const KINDS = [["tokens", "Tokens"], ["cost", "Cost in dollars"]];

/** The days of the span in UTC, oldest first. */
const days = (now = Date.now()) => Array.from({ length: DAYS }, (_, place) => new Date(now - (DAYS - 1 - place) * DAY).toISOString().slice(0, 10));

/** @param {string} first @param {AbortSignal} signal */
async function load(first, signal) {
  /** @type {Row[]} */
  const rows = [];
  let next = null;
  for (let page = 0; page < MOST && (page === 0 || next); page += 1) {
    const report = await get("usage", { start_date: `${first}T00:00:00Z`, before: next }, signal);
    rows.push(...report.rows);
    next = report.next;
  }
  return { rows, cut: next !== null };
}

/**
 * The sums of rows by a name. A cost is unknown if that of no row is known.
 * @param {Row[]} rows
 * @param {(row: Row) => string} named
 */
function sums(rows, named) {
  /** @type {Map<string, Sum>} */
  const found = new Map();
  for (const row of rows) {
    const old = found.get(named(row)) ?? { name: named(row), tokens: 0, steps: 0, cost: null };
    const cost = row.cost === null ? old.cost : (old.cost ?? 0) + row.cost;
    found.set(old.name, { ...old, tokens: old.tokens + row.total_tokens, steps: old.steps + row.steps, cost });
  }
  return found;
}

export function Usage() {
  const [span] = useState(() => days());
  const [kind, setKind] = useState("tokens");
  const { value, error, again } = useLoaded((signal) => load(span[0], signal), []);
  if (error) return html`<h1>Usage</h1><${Failure} error=${error} again=${again} />`;
  if (!value) return html`<h1>Usage</h1><${Loading} label="Adding up" />`;
  const byDay = sums(value.rows, (row) => row.day);
  const daily = span.map((name) => byDay.get(name) ?? { name, tokens: 0, steps: 0, cost: 0 });
  const models = [...sums(value.rows, (row) => row.model ?? "unknown model").values()].sort((one, other) => other.tokens - one.tokens);
  return html`<div class="row head"><div class="grow"><h1>Usage</h1><p class="muted small">What model calls used in the last ${DAYS} days, by UTC. Summaries are not counted here.</p></div>
      <label class="inline-field"><span>Show</span><select value=${kind} onChange=${(/** @type {any} */ event) => setKind(event.target.value)}>${KINDS.map(([name, title]) => html`<option value=${name}>${title}</option>`)}</select></label>
      <button type="button" onClick=${again}>Read again</button></div>
    ${value.cut && html`<p class="notice warn">There were more model calls than one view reads: the oldest are missing.</p>`}
    ${value.rows.length === 0 && html`<p class="empty card">No model was called in these days. Talk to an agent, and look again.</p>`}
    ${value.rows.length > 0 && html`<${Plot} days=${daily} kind=${kind} />
      <div class="sides"><${Table} title="By day" head="Day" rows=${[...daily].reverse()} /><${Table} title="By model" head="Model" rows=${models} /></div>`}`;
}

/** One bar a day. The tables say the same in figures. @param {{days: Sum[], kind: string}} props */
function Plot({ days: daily, kind }) {
  const figure = (/** @type {Sum} */ one) => (kind === "cost" ? one.cost : one.tokens) ?? 0;
  const shown = (/** @type {number} */ value) => (kind === "cost" ? dollars(value) : count(value));
  const title = kind === "cost" ? "Cost" : "Tokens";
  const most = Math.max(...daily.map(figure));
  const height = (/** @type {Sum} */ one) => (most ? Math.max((figure(one) / most) * 100, figure(one) ? 1 : 0) : 0);
  return html`<figure class="card plot">
    <figcaption class="row small"><span class="grow strong">${title} by day</span><span class="muted">highest: ${shown(most)}</span></figcaption>
    <svg viewBox=${`0 0 ${daily.length * 10} 100`} preserveAspectRatio="none" role="img" aria-label=${`${title} by day from ${daily[0].name} to ${daily.at(-1)?.name}, at most ${shown(most)}. The table below has the figures.`}>
      <line class="base" x1="0" x2=${daily.length * 10} y1="100" y2="100" />
      ${daily.map((one, place) => html`<rect class="bar-of-day" x=${place * 10 + 1.5} width="7" y=${100 - height(one)} height=${height(one)}><title>${one.name}: ${shown(figure(one))}</title></rect>`)}
    </svg>
    <div class="row small muted"><span class="grow">${daily[0].name}</span><span>${daily.at(-1)?.name}</span></div>
  </figure>`;
}

/** @param {{title: string, head: string, rows: Sum[]}} props */
function Table({ title, head, rows }) {
  return html`<div class="scroll card table-card" tabindex="0" role="region" aria-label=${title}><table>
    <caption>${title}</caption>
    <thead><tr><th scope="col">${head}</th><th scope="col">Tokens</th><th scope="col">Model calls</th><th scope="col">Cost</th></tr></thead>
    <tbody>${rows.map((one) => html`<tr><th scope="row" dir="auto">${one.name}</th><td>${count(one.tokens)}</td><td>${count(one.steps)}</td><td>${dollars(one.cost)}</td></tr>`)}</tbody>
  </table></div>`;
}
