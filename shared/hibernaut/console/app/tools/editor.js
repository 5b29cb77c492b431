/** The source of a tool with the schema beside it, which follows the source unless the tool has a schema of its own. */
import { html, useEffect, useRef, useState } from "../../vendor/htm-preact-3.1.1.js";
import { post } from "../api.js";
import { useSettled } from "../forms.js";
import { Code } from "../markdown_view.js";
import { useLoaded } from "../store.js";
import { NEW, same } from "./kinds.js";

/** @typedef {import("../types.js").Tool} Tool */
/** @typedef {import("./tool.js").Draft} Draft */
/** @typedef {{shown: any, own: boolean | null, error: unknown, derive: () => Promise<any>, follow: () => void}} Schema */

const WAIT = 350;
const PLACE = /\(line (\d+)(?:, column (\d+))?\)/;

/** @param {Draft} draft @returns {Promise<any>} */
const derived = (draft) => post("tools/generate-schema", { code: draft.source, source_type: draft.kind });

/**
 * The schema that the tool would have. A tool whose stored schema is not that of its stored source has one of its own, which stays.
 * @param {Tool} tool
 * @param {Draft} draft
 * @param {boolean} wanted  whether the tool has a source
 * @returns {Schema}
 */
export function useSchema(tool, draft, wanted) {
  const source = useSettled(draft.source, WAIT);
  const [own, setOwn] = useState(/** @type {boolean | null} */ (tool.id === NEW ? false : null));
  const { value, error } = useLoaded(() => (wanted ? derived({ ...draft, source }) : Promise.resolve(null)), [source, draft.kind]);
  const untouched = draft.source === (tool.source_code ?? "");
  useEffect(() => {
    if (own === null && wanted && (value || error)) setOwn(!same(value, tool.json_schema));
  }, [value, error]);
  return {
    shown: own === false && value ? value : tool.json_schema,
    own,
    error: untouched ? null : error,
    derive: () => derived(draft),
    follow: () => setOwn(false),
  };
}

/**
 * Where an error of the server is, by lines and columns from 1; null if it names no place.
 * @param {unknown} error
 */
export function placeOf(error) {
  const found = error instanceof Error ? PLACE.exec(error.message) : null;
  return found && { line: Number(found[1]), column: Number(found[2] ?? 1) };
}

/**
 * @param {{tool: Tool, draft: Draft, change: (some: Partial<Draft>) => void, schema: Schema, failed: unknown}} props
 */
export function Editor({ tool, draft, change, schema, failed }) {
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const error = schema.error ?? (placeOf(failed) ? failed : null);
  const place = placeOf(error);
  const jump = () => {
    if (!place || !area.current) return;
    const lines = draft.source.split("\n");
    const at = lines.slice(0, place.line - 1).reduce((sum, line) => sum + line.length + 1, 0) + place.column - 1;
    area.current.focus();
    area.current.setSelectionRange(at, at);
  };
  return html`<div class="sides editor">
    <div class="stack">
      ${tool.id === NEW && html`<label class="inline-field"><span>Language</span><select value=${draft.kind} onChange=${(/** @type {any} */ event) => change({ kind: event.target.value })}>
        <option value="python">Python</option><option value="typescript">TypeScript</option></select></label>`}
      <label class="field"><span>Source</span>
        <textarea ref=${area} rows="16" class="mono source" dir="ltr" spellcheck=${false} autocapitalize="off" aria-invalid=${error ? "true" : "false"} aria-describedby="source-fault"
          value=${draft.source} onInput=${(/** @type {any} */ event) => change({ source: event.target.value })}></textarea></label>
      <div id="source-fault" role="status">${error && html`<p class="fault small">${error instanceof Error ? error.message : String(error)}
        ${place && html` <button type="button" class="link" onClick=${jump}>Go to line ${place.line}, column ${place.column}</button>`}</p>`}</div>
    </div>
    <div class="stack">
      <${Code} label="Schema" language=${schema.own ? "schema of its own" : "schema, from the source"} text=${JSON.stringify(schema.shown, null, 2)} />
      ${schema.own && html`<p class="small muted">This schema was given with the tool, and stays when the source changes. <button type="button" class="link" onClick=${schema.follow}>Take that of the source</button></p>`}
    </div>
  </div>`;
}
