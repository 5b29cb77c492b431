/** The spans of a run as bars on one line of time. */
import { html } from "../../vendor/htm-preact-3.1.1.js";

/** @typedef {{Timestamp: string, SpanId: string, ParentSpanId: string, SpanName: string, Duration: number, StatusCode: string, StatusMessage: string}} Span */

const NANO = 1e6;
const NAMES = /** @type {Record<string, string>} */ ({ root_span: "Run", agent_step: "Step", llm_request: "Model", tool_executions: "Tools", time_to_first_token: "First token" });

/** @param {number} milliseconds */
export const shown = (milliseconds) => (milliseconds >= 1000 ? `${(milliseconds / 1000).toFixed(2)} s` : `${Math.round(milliseconds)} ms`);

/** @param {{spans: Span[]}} props */
export function Timeline({ spans }) {
  if (!spans.length) return null;
  const from = Math.min(...spans.map((one) => new Date(one.Timestamp).getTime()));
  const to = Math.max(...spans.map((one) => new Date(one.Timestamp).getTime() + one.Duration / NANO));
  const whole = Math.max(to - from, 1);
  return html`<ol class="timeline" aria-label="Timeline">
    ${spans.map((one) => {
      const left = ((new Date(one.Timestamp).getTime() - from) / whole) * 100;
      const width = Math.max((one.Duration / NANO / whole) * 100, 0.5);
      return html`<li key=${one.SpanId}>
        <span class="ellipsis" dir="auto">${NAMES[one.SpanName] ?? one.SpanName}</span>
        <span class="track" aria-hidden="true"><span class=${`span ${one.StatusCode === "Error" ? "bad" : ""}`} style=${{ insetInlineStart: `${Math.min(left, 99.5)}%`, width: `${Math.min(width, 100 - Math.min(left, 99.5))}%` }}></span></span>
        <span class="muted small">${shown(one.Duration / NANO)}${one.StatusMessage ? ` · ${one.StatusMessage}` : ""}</span>
      </li>`;
    })}
  </ol>`;
}
