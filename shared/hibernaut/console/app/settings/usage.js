/** Usage: tokens and cost of the last days, as a plot and as tables. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { count, dollars } from "../format.js";
import { useLoaded } from "../store.js";
import { Failure, Loading } from "../ui.js";
import { Plot, lastDays, usedSince } from "./plot.js";

/** @typedef {import("./plot.js").Row} Row */
/** @typedef {{name: string, tokens: number, steps: number, cost: number | null}} Sum */

const DAYS = 14;
const KINDS = [["tokens", "Tokens"], ["cost", "Cost in dollars"]];

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
  const [span] = useState(() => lastDays(DAYS));
  const [kind, setKind] = useState("tokens");
  const { value, error, again } = useLoaded((signal) => usedSince(span[0], signal), []);
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
    ${value.rows.length > 0 && html`<${Plot} title=${kind === "cost" ? "Cost by day" : "Tokens by day"} shown=${kind === "cost" ? dollars : count} told="The table below has the figures."
      bars=${daily.map((one) => ({ name: one.name, value: (kind === "cost" ? one.cost : one.tokens) ?? 0 }))} />
      <div class="sides"><${Table} title="By day" head="Day" rows=${[...daily].reverse()} /><${Table} title="By model" head="Model" rows=${models} /></div>`}`;
}

/** @param {{title: string, head: string, rows: Sum[]}} props */
function Table({ title, head, rows }) {
  return html`<div class="scroll card table-card" tabindex="0" role="region" aria-label=${title}><table>
    <caption>${title}</caption>
    <thead><tr><th scope="col">${head}</th><th scope="col">Tokens</th><th scope="col">Model calls</th><th scope="col">Cost</th></tr></thead>
    <tbody>${rows.map((one) => html`<tr><th scope="row" dir="auto">${one.name}</th><td>${count(one.tokens)}</td><td>${count(one.steps)}</td><td>${dollars(one.cost)}</td></tr>`)}</tbody>
  </table></div>`;
}
