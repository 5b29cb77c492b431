/**
 * What today cost. The server adds up the day's steps each time it is asked, so the more they are, the less often this asks: after an answer it waits
 * `REST` times as long as the answer took. An open page thus costs the server at most a four-hundredth of its time, however many steps the day has.
 */
import { html, useEffect, useRef } from "../../vendor/htm-preact-3.1.1.js";
import { get, key } from "../api.js";
import { count, dollars } from "../format.js";
import { address, beginOf } from "../request.js";
import { useLoaded } from "../store.js";
import { useRepeated } from "../ui.js";
import { today, usageOf } from "./questions.js";

/** @typedef {import("../types.js").UsageTotal} UsageTotal */

const REFRESH = 10_000;
const REST = 400;
/** How many reports are read at most: each covers 10,000 steps. */
const MOST = 10;

/** What Home showed when the server was asked. @typedef {{runs: unknown[]} | undefined} Shown */
/** The newest answer. `due`: when the server may be asked again, in milliseconds. @type {{day: string, secret: string | null, due: number, of: Shown, total: UsageTotal} | null} */
let kept = null;

/** The sum of two costs; unknown if neither is known. @param {number | null} one @param {number | null} other */
const both = (one, other) => (one === null && other === null ? null : (one ?? 0) + (other ?? 0));

/** @param {UsageTotal} one @param {UsageTotal} other @returns {UsageTotal} */
function added(one, other) {
  return {
    steps: one.steps + other.steps,
    unpriced_steps: one.unpriced_steps + other.unpriced_steps,
    total_tokens: one.total_tokens + other.total_tokens,
    cost: both(one.cost, other.cost),
    aws_cost: both(one.aws_cost, other.aws_cost),
  };
}

/**
 * The usage since midnight UTC, from the server if its newest answer is old enough and runs have used something since. A first call of a page asks the
 * server.
 * @param {boolean} first
 * @param {Shown} of  the same object as last time if no run has begun or ended since
 * @param {AbortSignal} signal
 * @returns {Promise<UsageTotal>}
 */
async function usage(first, of, signal) {
  const day = today();
  const [path, query] = usageOf(day);
  const began = beginOf(address(path, query));
  const secret = key.get();
  const isQuiet = kept !== null && kept.of === of && !of?.runs.length;
  if (!first && kept?.day === day && kept.secret === secret && (isQuiet || began < kept.due)) return kept.total;
  let report = await get(path, query, signal);
  let total = /** @type {UsageTotal} */ (report.total);
  for (let page = 1; page < MOST && report.next; page += 1) {
    report = await get(path, { ...query, before: report.next }, signal);
    total = added(total, report.total);
  }
  const now = performance.now();
  kept = { day, secret, due: now + (now - began) * REST, of, total };
  return total;
}

/** The tile of Home with what today cost. It comes when it is added up; the agents do not wait for it. @param {{of: Shown}} props */
export function TodaysCost({ of }) {
  const shown = useRef(false);
  const { value: total, error, refresh } = useLoaded((signal) => usage(!shown.current, of, signal), []);
  useEffect(() => {
    shown.current = true;
  }, []);
  useRepeated(refresh, REFRESH, []);
  const cost = total?.steps ? total.cost : 0;
  return html`<div class="card tile">
    <h2>Today's cost</h2>
    ${total ? html`<p class=${`figure ${cost === null ? "unknown" : ""}`}>${cost === null ? "unknown" : dollars(cost)}</p>` : html`<p class="figure">–</p>`}
    ${error && html`<p class="small">${error instanceof Error ? error.message : String(error)}</p>`}
    ${total && html`<p class="muted small">${count(total.total_tokens)} tokens in ${count(total.steps)} steps since midnight UTC${total.unpriced_steps ? `; ${count(total.unpriced_steps)} without a known price` : ""}</p>`}
  </div>`;
}
