/** A test run of a tool: arguments in, its output, return and time out. Nothing is stored, and no agent is asked. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { post } from "../api.js";
import { useAction } from "../forms.js";
import { Code } from "../markdown_view.js";
import { shown as duration } from "../runs/timeline.js";
import { Failure } from "../ui.js";
import { blankArguments, requirementsOf } from "./kinds.js";

/** @typedef {import("../types.js").Tool} Tool */
/** @typedef {import("./tool.js").Draft} Draft */
/** @typedef {{status: string, value: unknown, output: string, milliseconds: number}} Outcome */

/**
 * Run the draft of a custom tool, or call the tool of an MCP server.
 * @param {Tool} tool
 * @param {Draft} draft
 * @param {any} schema
 * @param {unknown} args
 * @returns {Promise<Outcome>}
 */
async function tried(tool, draft, schema, args) {
  const began = performance.now();
  const server = tool.metadata_?.mcp?.server_id;
  const limit = draft.seconds ? { metadata_: { timeout_seconds: Number(draft.seconds) } } : {};
  const found =
    tool.tool_type === "custom"
      ? await post("tools/run", { source_code: draft.source, source_type: draft.kind, name: schema?.name, json_schema: schema, args, pip_requirements: requirementsOf(draft.packages), ...limit })
      : await post(`mcp-servers/${server}/tools/${tool.id}/run`, { args });
  const output = [...(found.stdout ?? []), ...(found.stderr ?? [])].join("\n");
  return { status: found.status, value: found.tool_return ?? found.func_return, output, milliseconds: performance.now() - began };
}

/** @param {string} text @returns {Record<string, unknown>} */
function argumentsOf(text) {
  let found;
  try {
    found = JSON.parse(text);
  } catch (error) {
    throw new Error(`The arguments are no JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (typeof found !== "object" || found === null || Array.isArray(found)) throw new Error("The arguments must be a JSON object, such as {}.");
  return found;
}

/** @param {{tool: Tool, draft: Draft, schema: any}} props */
export function Trial({ tool, draft, schema }) {
  const [given, setGiven] = useState(/** @type {string | null} */ (null));
  const [outcome, setOutcome] = useState(/** @type {Outcome | null} */ (null));
  const text = given ?? JSON.stringify(blankArguments(schema), null, 2);
  const running = useAction(async () => {
    setOutcome(null);
    setOutcome(await tried(tool, draft, schema, argumentsOf(text)));
  });
  const runnable = tool.tool_type === "custom" || (tool.tool_type === "external_mcp" && tool.metadata_?.mcp?.server_id);
  return html`<section class="card trial stack" aria-labelledby="trial">
    <div><h2 id="trial">Test run</h2><p class="muted small">${
      runnable ? "Runs once, without an agent and its secrets. What you have changed above counts, saved or not." : "This tool works for an agent: give it to one, and ask for it in the chat."
    }</p></div>
    ${runnable &&
    html`<form class="stack" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), running.run())}>
      <label class="field"><span>Arguments (JSON)</span><textarea rows=${Math.min(10, text.split("\n").length + 1)} class="mono" dir="ltr" spellcheck=${false} value=${text} onInput=${(/** @type {any} */ event) => setGiven(event.target.value)}></textarea></label>
      <div class="row"><button disabled=${running.busy}>${running.busy ? "Running …" : "Run"}</button>
        ${given !== null && html`<button type="button" class="link" onClick=${() => setGiven(null)}>Begin with the schema again</button>`}</div>
      <${Failure} error=${running.error} />
      <div role="status">${outcome && html`<p class=${`state ${outcome.status === "success" ? "busy" : "failed"}`}>${outcome.status === "success" ? "The tool returned" : "The tool failed"} after ${duration(outcome.milliseconds)}, the request included.</p>`}</div>
      ${outcome && html`<${Result} outcome=${outcome} />`}
    </form>`}
  </section>`;
}

/** @param {{outcome: Outcome}} props */
function Result({ outcome }) {
  const value = typeof outcome.value === "string" ? outcome.value : JSON.stringify(outcome.value, null, 2);
  return html`<${Code} label="Return" language="return" text=${value} />
    ${outcome.output ? html`<${Code} label="Output" language="output" text=${outcome.output} />` : html`<p class="small muted">It printed nothing.</p>`}`;
}
