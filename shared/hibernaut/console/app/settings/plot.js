/** Bars by day as a picture, and the sums that they show. */
import { html } from "../../vendor/htm-preact-3.1.1.js";
import { get } from "../api.js";

/** @typedef {import("../types.js").UsageTotal} UsageTotal */
/** @typedef {UsageTotal & {day: string, model: string | null, agent_id: string | null, key_id: string | null}} Row */
/** @typedef {{name: string, value: number}} Bar */

const DAY = 86_400_000;
/** How many reports are read at most: each covers 10,000 steps. */
const MOST = 10;

/**
 * The last days in UTC, oldest first.
 * @param {number} length
 */
export const lastDays = (length, now = Date.now()) => Array.from({ length }, (_, place) => new Date(now - (length - 1 - place) * DAY).toISOString().slice(0, 10));

/**
 * What was used since a day, and whether the oldest of it is missing.
 * @param {string} first
 * @param {AbortSignal} signal
 */
export async function usedSince(first, signal) {
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
 * One bar a day, and a line where the limit is. What it shows stands in words and figures beside it.
 * @param {{title: string, bars: Bar[], shown: (value: number) => string, limit?: number, told: string, pending?: boolean}} props  `pending`: the figures are not there yet
 */
export function Plot({ title, bars, shown, limit, told, pending = false }) {
  const most = Math.max(...bars.map((one) => one.value));
  const top = Math.max(most, limit ?? 0);
  const height = (/** @type {number} */ value) => (top ? Math.max((value / top) * 100, value ? 1 : 0) : 0);
  const first = bars[0].name;
  const last = bars.at(-1)?.name;
  return html`<figure class="card plot">
    <figcaption class="row small"><span class="grow strong">${title}</span><span class="muted">${pending ? "adding up …" : `highest: ${shown(most)}`}${limit !== undefined && `, limit: ${shown(limit)}`}</span></figcaption>
    <svg viewBox=${`0 0 ${bars.length * 10} 100`} preserveAspectRatio="none" role="img" aria-label=${`${title} from ${first} to ${last}, at most ${shown(most)}. ${told}`}>
      <line class="base" x1="0" x2=${bars.length * 10} y1="100" y2="100" />
      ${bars.map((one, place) => html`<rect class=${`bar-of-day ${limit !== undefined && one.value >= limit ? "over" : ""}`} x=${place * 10 + 1.5} width="7" y=${100 - height(one.value)} height=${height(one.value)}><title>${one.name}: ${shown(one.value)}</title></rect>`)}
      ${limit !== undefined && html`<line class="limit" x1="0" x2=${bars.length * 10} y1=${100 - height(limit)} y2=${100 - height(limit)} />`}
    </svg>
    <div class="row small muted"><span class="grow">${first}</span><span>${last}</span></div>
  </figure>`;
}
