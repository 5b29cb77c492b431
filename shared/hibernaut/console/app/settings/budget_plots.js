/** How a budget was used day by day, beside its limit: days for limits of a day, the sum of the month for those of a month. */
import { html } from "../../vendor/htm-preact-3.1.1.js";
import { count, dollars } from "../format.js";
import { Failure } from "../ui.js";
import { Plot, lastDays } from "./plot.js";

/** @typedef {import("../types.js").Budget} Budget */
/** @typedef {import("./plot.js").Row} Row */
/** @typedef {{value: {rows: Row[], cut: boolean} | null | undefined, error: unknown, again: () => void}} Used */

const DAYS = 14;
/** What limits count, by the first part of their names. */
const FIGURES = /** @type {Record<string, (row: Row) => number>} */ ({ tokens: (row) => row.total_tokens, cost: (row) => row.cost ?? 0, steps: (row) => row.steps });
const TITLES = /** @type {Record<string, string>} */ ({ tokens: "Tokens", cost: "Cost", steps: "Model calls" });

/** The first day that the plots show, in UTC. */
export function firstDay(now = Date.now()) {
  const month = `${new Date(now).toISOString().slice(0, 7)}-01`;
  const [first] = lastDays(DAYS, now);
  return month < first ? month : first;
}

/**
 * The rows that count for a budget.
 * @param {Budget} budget
 * @param {Row[]} rows
 */
function counted({ scope, subject }, rows) {
  if (scope === "tenant") return rows;
  return rows.filter((row) => (scope === "agent" ? row.agent_id : row.key_id) === subject);
}

/**
 * The bars of one limit.
 * @param {string} name
 * @param {Row[]} rows
 */
function barsOf(name, rows, now = Date.now()) {
  const figure = FIGURES[name.split("_")[0]];
  const monthly = name.endsWith("_month");
  const days = monthly ? lastDays(new Date(now).getUTCDate(), now) : lastDays(DAYS, now);
  let sum = 0;
  return days.map((day) => {
    const used = rows.filter((row) => row.day === day).reduce((total, row) => total + figure(row), 0);
    sum += used;
    return { name: day, value: monthly ? sum : used };
  });
}

/** @param {{budget: Budget, used: Used}} props */
export function BudgetPlots({ budget, used }) {
  const names = Object.keys(budget).filter((name) => name.split("_")[0] in FIGURES && /_per_(day|month)$/.test(name) && budget[name] !== null);
  if (!names.length) return null;
  if (used.error) return html`<${Failure} error=${used.error} again=${used.again} />`;
  const rows = counted(budget, used.value?.rows ?? []);
  return html`<details class="small" open=${budget.scope === "tenant"}><summary>Day by day</summary>
    ${used.value?.cut && html`<p class="notice warn">There were more model calls than one view reads: the oldest are missing.</p>`}
    <div class="sides">${names.map((name) => {
      const [kind] = name.split("_");
      return html`<${Plot} key=${name} title=${name.endsWith("_month") ? `${TITLES[kind]} this month` : `${TITLES[kind]} by day`} bars=${barsOf(name, rows)} limit=${Number(budget[name])} pending=${!used.value}
        shown=${kind === "cost" ? dollars : count} told="The figures above say what is used now. Summaries are not in the plot." />`;
    })}</div></details>`;
}
