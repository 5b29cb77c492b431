/** One tool: its source with its schema, what holds for its calls, and a test run. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { call, get, post } from "../api.js";
import { useCommands } from "../commands.js";
import { useAction } from "../forms.js";
import { Code } from "../markdown_view.js";
import { go } from "../router.js";
import { useLoaded } from "../store.js";
import { Confirm, Failure, Icon, IconButton, Loading, say, useTitle } from "../ui.js";
import { Editor, useSchema } from "./editor.js";
import { NEW, kindOf, lostAt, packagesOf, requirementLines, requirementsOf } from "./kinds.js";
import { Trial } from "./trial.js";

/** @typedef {import("../types.js").Tool} Tool */
/**
 * What a person has changed and not saved yet.
 * @typedef {{source: string, kind: string, approval: boolean, parallel: boolean, seconds: string, packages: string}} Draft
 */

const EXAMPLE = `def greet(name: str, times: int = 1) -> str:
    """
    Greet somebody.

    Args:
        name: Who is greeted.
        times: How often.
    """
    return ("Hello " + name + "! ") * times
`;
/** @type {Tool} */
const BLANK = { id: NEW, name: null, description: null, tool_type: "custom", source_type: "python", source_code: EXAMPLE, json_schema: null, default_requires_approval: null, enable_parallel_execution: false, pip_requirements: null, packages: null, metadata_: {} };

/** @param {{id: string}} props */
export function ToolPage({ id }) {
  const { value, error, again } = useLoaded((signal) => (id === NEW ? Promise.resolve(BLANK) : /** @type {Promise<Tool>} */ (get(`tools/${id}`, {}, signal))), [id]);
  if (error && !value) return html`<${Failure} error=${error} again=${again} />`;
  return value ? html`<${Opened} initial=${value} />` : html`<${Loading} />`;
}

/** @param {Tool} tool @returns {Draft} */
function draftOf(tool) {
  return {
    source: tool.source_code ?? "",
    kind: tool.source_type === "typescript" ? "typescript" : "python",
    approval: Boolean(tool.default_requires_approval),
    parallel: Boolean(tool.enable_parallel_execution),
    seconds: String(tool.metadata_?.timeout_seconds ?? ""),
    packages: requirementLines(tool.pip_requirements),
  };
}

/**
 * The fields that a save sends: those that differ, so that packages are not chosen anew without need.
 * @param {Tool} tool
 * @param {Draft} draft
 */
export function changesOf(tool, draft) {
  const before = draftOf(tool);
  const { timeout_seconds: _old, ...metadata } = tool.metadata_ ?? {};
  const again = Boolean(tool.pip_requirements?.length) && !tool.packages;
  return {
    ...(draft.source !== before.source || tool.id === NEW ? { source_code: draft.source } : {}),
    ...(draft.kind !== before.kind || tool.id === NEW ? { source_type: draft.kind } : {}),
    ...(draft.packages !== before.packages || again ? { pip_requirements: requirementsOf(draft.packages) } : {}),
    ...(draft.approval !== before.approval ? { default_requires_approval: draft.approval } : {}),
    ...(draft.parallel !== before.parallel ? { enable_parallel_execution: draft.parallel } : {}),
    ...(draft.seconds !== before.seconds ? { metadata_: { ...metadata, ...(draft.seconds ? { timeout_seconds: Number(draft.seconds) } : {}) } } : {}),
  };
}

/** @param {{initial: Tool}} props */
function Opened({ initial }) {
  const [tool, setTool] = useState(initial);
  const [draft, setDraft] = useState(() => draftOf(initial));
  const [deleting, setDeleting] = useState(false);
  const custom = tool.tool_type === "custom";
  const schema = useSchema(tool, draft, custom);
  const changes = changesOf(tool, draft);
  useTitle(tool.name ?? "New tool");
  useCommands(() => (custom && tool.id !== NEW ? [{ name: "Delete this tool", hint: "This tool", act: () => setDeleting(true) }] : []), [tool.id]);
  const saving = useAction(async () => {
    const described = "source_code" in changes && schema.own === false ? { json_schema: await schema.derive() } : {};
    const body = { ...changes, ...described };
    const saved = tool.id === NEW ? await created(body) : await call("PATCH", `tools/${tool.id}`, { body });
    say("The tool was saved.");
    if (tool.id === NEW) return go(`#/tools/${saved.id}`); // The page of its own loads it: what is typed there is not lost.
    setTool(saved);
    setDraft(draftOf(saved));
  });
  const remove = async () => {
    await call("DELETE", `tools/${tool.id}`);
    say("The tool was deleted.");
    go("#/tools");
  };
  const change = (/** @type {Partial<Draft>} */ some) => setDraft((old) => ({ ...old, ...some }));
  const lost = lostAt(tool);
  return html`<div class="row head">
      <h1 class="grow ellipsis" dir="auto">${tool.name ?? "New tool"}</h1><span class="tag" dir="auto">${kindOf(tool)}</span>
      ${custom && tool.id !== NEW && html`<${IconButton} icon="trash" label="Delete this tool" onClick=${() => setDeleting(true)} />`}
    </div>
    ${lost && html`<p class="notice warn"><${Icon} name="alert" />${lost}</p>`}
    <form class="stack" aria-label="Tool" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), saving.run())}>
      ${custom
        ? html`<${Editor} tool=${tool} draft=${draft} change=${change} schema=${schema} failed=${saving.error} />`
        : html`<p class="text" dir="auto">${tool.description}</p><${Code} label="Schema" language="schema" text=${JSON.stringify(tool.json_schema, null, 2)} />`}
      <${Rules} tool=${tool} draft=${draft} change=${change} />
      <${Failure} error=${saving.error} close=${saving.clear} />
      <div class="row end">
        <button type="button" disabled=${!Object.keys(changes).length} onClick=${() => setDraft(draftOf(tool))}>Undo changes</button>
        <button class="primary" disabled=${saving.busy || !Object.keys(changes).length}>${saving.busy ? "Saving …" : "Save"}</button>
      </div>
    </form>
    <${Trial} tool=${tool} draft=${draft} schema=${schema.shown} />
    ${deleting && html`<${Confirm} title="Delete this tool?" act="Delete" done=${remove} close=${() => setDeleting(false)} text=${`${tool.name} is taken from all agents that have it. This cannot be undone.`} />`}`;
}

/**
 * A new tool. A request to create one replaces the tool of its name, so the name is looked up first.
 * @param {any} body
 */
async function created({ json_schema, ...body }) {
  const [taken] = await get("tools/", { name: json_schema.name, limit: 1 });
  if (taken) throw new Error(`There is a tool with the name ${json_schema.name} already. Give the function another name, or change that tool.`);
  return post("tools/", body);
}

/** What holds for the calls of a tool. @param {{tool: Tool, draft: Draft, change: (some: Partial<Draft>) => void}} props */
function Rules({ tool, draft, change }) {
  const given = (/** @type {keyof Draft} */ name) => (/** @type {any} */ event) => change({ [name]: event.target.type === "checkbox" ? event.target.checked : event.target.value });
  const python = tool.tool_type === "custom" && draft.kind === "python";
  const limited = tool.tool_type === "custom" || tool.tool_type === "external_mcp";
  return html`<div class="sides">
    <fieldset class="stack"><legend>Calls</legend>
      <label class="check"><input type="checkbox" role="switch" checked=${draft.approval} onChange=${given("approval")} /><span>A person approves each call<small>For agents that get the tool from now on. Agents that have it keep their own rule.</small></span></label>
      <label class="check"><input type="checkbox" role="switch" checked=${draft.parallel} onChange=${given("parallel")} /><span>Calls may be made at once<small>With other such calls of the same reply.</small></span></label>
      ${limited && html`<label class="field"><span>Time limit in seconds</span><input type="number" min="0.1" step="any" value=${draft.seconds} placeholder="the server's limit" onInput=${given("seconds")} /></label>`}
    </fieldset>
    ${python && html`<fieldset class="stack"><legend>Packages</legend>
      <label class="field"><span>One a line, with a version or a condition if you like</span>
        <textarea rows="3" dir="ltr" spellcheck=${false} class="mono" placeholder="requests >=2,<3" value=${draft.packages} onInput=${given("packages")}></textarea></label>
      <${Packages} tool=${tool} />
    </fieldset>`}
  </div>`;
}

/** @param {{tool: Tool}} props */
function Packages({ tool }) {
  const state = packagesOf(tool);
  if (!state) return html`<p class="small muted">The tool needs no packages of its own.</p>`;
  return html`<div class="small"><p class=${`state ${state[1]}`}>${state[0]}</p>
    ${tool.packages ? html`<ul>${tool.packages.pins.map((pin) => html`<li>${pin.name} ${pin.version}</li>`)}</ul>` : html`<p>Save the tool to install them.</p>`}</div>`;
}
