/** The spans of a run as bars on one line of time, and what they leave open: the time before and between steps, and that of the table. */
import { html } from "../../vendor/htm-preact-3.1.1.js";

/** @typedef {{Timestamp: string, SpanId: string, ParentSpanId: string, SpanName: string, Duration: number, StatusCode: string, StatusMessage: string}} Span */
/** @typedef {{from: number, to: number}} Part  milliseconds since 1970 */
/** @typedef {{key: string, name: string, kind: string, parts: Part[], message: string}} Row */

const NANO = 1e6;
const NAMES = /** @type {Record<string, string>} */ ({ root_span: "Run", agent_step: "Step", llm_request: "Model", tool_executions: "Tools", time_to_first_token: "First token" });

/** @param {number} milliseconds */
export const shown = (milliseconds) => (milliseconds >= 1000 ? `${(milliseconds / 1000).toFixed(2)} s` : `${Math.round(milliseconds)} ms`);

/** @param {Span} span @returns {Part} */
function partOf(span) {
  const from = new Date(span.Timestamp).getTime();
  return { from, to: from + span.Duration / NANO };
}

/** What is left of a time without some parts of it. @param {Part} whole @param {Part[]} parts @returns {Part[]} */
export function without(whole, parts) {
  const left = [];
  let from = whole.from;
  for (const part of [...parts].sort((one, other) => one.from - other.from)) {
    if (part.from > from) left.push({ from, to: Math.min(part.from, whole.to) });
    from = Math.max(from, part.to);
  }
  if (whole.to > from) left.push({ from, to: whole.to });
  return left;
}

/**
 * The rows of a timeline: the spans, then the time in which no worker was at the run, and the time of steps beside model and tools.
 * @param {Span[]} spans
 * @param {string} createdAt  of the run
 * @returns {Row[]}
 */
export function rowsOf(spans, createdAt) {
  const rows = spans.map((one) => ({ key: one.SpanId, name: NAMES[one.SpanName] ?? one.SpanName, kind: one.StatusCode === "Error" ? "bad" : "", parts: [partOf(one)], message: one.StatusMessage }));
  const steps = spans.filter((one) => one.SpanName === "agent_step");
  if (!steps.length) return rows;
  const whole = { from: new Date(createdAt).getTime(), to: Math.max(...spans.map((one) => partOf(one).to)) };
  const beside = steps.flatMap((step) => without(partOf(step), spans.filter((one) => one.ParentSpanId === step.SpanId).map(partOf)));
  return [
    ...rows,
    { key: "waiting", name: "Waiting", kind: "idle", parts: without(whole, steps.map(partOf)), message: "" },
    { key: "table", name: "Table", kind: "own", parts: beside, message: "" },
  ];
}

/** @param {{spans: Span[], createdAt: string}} props */
export function Timeline({ spans, createdAt }) {
  if (!spans.length) return null;
  const rows = rowsOf(spans, createdAt);
  const parts = rows.flatMap((row) => row.parts);
  const from = Math.min(...parts.map((part) => part.from));
  const whole = Math.max(Math.max(...parts.map((part) => part.to)) - from, 1);
  return html`<ol class="timeline" aria-label="Timeline">
    ${rows.map(
      (row) => html`<li key=${row.key}>
        <span class="ellipsis" dir="auto">${row.name}</span>
        <span class="track" aria-hidden="true">${row.parts.map((part) => html`<${Bar} kind=${row.kind} left=${((part.from - from) / whole) * 100} width=${((part.to - part.from) / whole) * 100} />`)}</span>
        <span class="muted small">${shown(row.parts.reduce((sum, part) => sum + part.to - part.from, 0))}${row.message ? ` · ${row.message}` : ""}</span>
      </li>`,
    )}
  </ol>
  <p class="small muted">Waiting: no step was at work. Table: what steps took beside model and tools, with the server's own time.</p>`;
}

/** @param {{kind: string, left: number, width: number}} props  in hundredths of the track */
function Bar({ kind, left, width }) {
  const start = Math.min(left, 99.5);
  return html`<span class=${`span ${kind}`} style=${{ insetInlineStart: `${start}%`, width: `${Math.min(Math.max(width, 0.5), 100 - start)}%` }}></span>`;
}
