/** Draws the entries of a transcript. Everything that a model, a tool or a person wrote is text. */
import { html, useMemo, useState } from "../../vendor/htm-preact-3.1.1.js";
import { get } from "../api.js";
import { count, lasted, textOf } from "../format.js";
import { Code, Markdown } from "../markdown_view.js";
import { useLoaded } from "../store.js";
import { Icon, Time } from "../ui.js";
import { Pictures, lineOf } from "./images.js";

/** @typedef {import("./transcript.js").Entry} Entry */
/** @typedef {import("./transcript.js").Call} Call */

/** An entry, which is another object whenever it changes. @param {{entry: Entry}} props */
export function EntryView({ entry }) {
  return useMemo(() => drawn(entry), [entry]);
}

/** @param {Entry} entry */
function drawn(entry) {
  switch (entry.kind) {
    case "said":
      return html`<${SaidView} entry=${entry} />`;
    case "thought":
      return entry.text ? html`<${ThoughtView} entry=${entry} />` : null;
    case "call":
      return html`<article class="entry" data-id=${entry.id}><${CallView} call=${entry} /></article>`;
    case "note":
      return html`<p class=${entry.bad ? "notice bad" : "entry note"} dir="auto">${entry.text}</p>`;
  }
}

/** @param {{entry: import("./transcript.js").Said}} props */
function SaidView({ entry }) {
  const text = textOf(entry.content);
  if (entry.who === "system" && text.length > 400)
    return html`<article class="entry" data-id=${entry.id}><${Fold} title=${`System message, ${count(text.length)} characters`} text=${text} /></article>`;
  const who = { user: "You", assistant: "Agent", system: "System" }[entry.who];
  return html`<article class=${`entry ${entry.who}`} data-id=${entry.id} aria-label=${`${who}: ${lineOf(entry.content).slice(0, 60)}`}>
    <p class="meta"><span>${entry.name || who}</span>${entry.date && html`<${Time} at=${entry.date} />`}${entry.live && html`<span class="pending-dot"><span class="sr">writing</span></span>`}</p>
    ${entry.who === "assistant" ? html`<${Markdown} text=${text} live=${entry.live} />` : text && html`<div class="said" dir="auto">${text}</div>`}
    <${Pictures} content=${entry.content} />
  </article>`;
}

/** @param {{entry: import("./transcript.js").Thought}} props */
function ThoughtView({ entry }) {
  return html`<article class="entry" data-id=${entry.id}><${Fold} title="Reasoning" text=${entry.text} live=${entry.live} /></article>`;
}

/** A text that is drawn when it is opened. @param {{title: string, text: string, live?: boolean}} props */
function Fold({ title, text, live = false }) {
  const [open, setOpen] = useState(false);
  return html`<details class="fold" open=${open} onToggle=${(/** @type {any} */ event) => setOpen(event.target.open)}>
    <summary class=${live ? "pending-dot" : ""}>${title}</summary>
    ${open && html`<div class="text" dir="auto">${text}</div>`}
  </details>`;
}

/**
 * JSON text, laid out; any other text as it is.
 * @param {string} text
 */
export function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** @param {Call} call @returns {[string, string]} */
function statusOf(call) {
  if (call.result) return call.result.status === "success" ? ["done", "good"] : ["failed", "bad"];
  if (call.answer) return call.answer.approve ? ["approved", "good"] : ["denied", "bad"];
  if (call.needsAnswer && !call.live) return ["waits for you", "wait"];
  return call.live ? ["running", ""] : ["no result", ""];
}

/** How long the call took; where that is not known, such as that of an agent, how long the tools of its step took. @param {{call: Call, step: string}} props */
function ToolTime({ call, step }) {
  const { value } = useLoaded((signal) => /** @type {Promise<import("../types.js").StepMetrics>} */ (get(`steps/${step}/metrics`, {}, signal)), [step]);
  const own = value?.call_times?.filter((one) => one.tool_call_id === call.callId) ?? [];
  const all = value?.tool_execution_ns;
  const told = own.length === 1 ? `This call took ${lasted(own[0].execution_ns / 1e6)}.` : typeof all === "number" ? `The tools of this step took ${lasted(all / 1e6)}.` : " ";
  return html`<p class="small muted">${told}</p>`;
}

/** @param {{call: Call, children?: import("../../vendor/htm-preact-3.1.1.js").Child}} props */
export function CallView({ call, children }) {
  const [word, kind] = statusOf(call);
  const [open, setOpen] = useState(call.needsAnswer && !call.result);
  const result = call.result;
  const output = [...(result?.stdout ?? []), ...(result?.stderr ?? [])].join("\n");
  return html`<div class=${`tool ${kind === "wait" ? "waiting" : ""}`}>
    <details open=${open} onToggle=${(/** @type {any} */ event) => setOpen(event.target.open)}>
      <summary><${Icon} name="tool" /><code class="ellipsis">${call.name || "tool"}</code><span class=${`status ${kind}`}>${word}</span></summary>
      ${open &&
      html`<div class="body">
        ${call.args && call.args !== "{}" && html`<${Code} label="Arguments" language="arguments" text=${pretty(call.args)} />`}
        ${call.answer?.reason && html`<p class="small">Reason: <span dir="auto">${call.answer.reason}</span></p>`}
        ${result && html`<${Code} label="Result" language="result" text=${pretty(textOf(result.tool_return))} /><${Pictures} content=${result.tool_return} what="result" />`}
        ${output && html`<${Code} label="Output" language="output" text=${output} />`}
        ${result && call.ran && !call.live && html`<${ToolTime} call=${call} step=${call.ran} />`}
      </div>`}
    </details>
    ${children}
  </div>`;
}
