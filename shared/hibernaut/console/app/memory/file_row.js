/** One file of a folder: how far it is read in, whether the agent has it open, and what the agent sees of it. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { count } from "../format.js";
import { Code } from "../markdown_view.js";
import { IconButton, Time } from "../ui.js";

/** @typedef {import("../types.js").FolderFile} FolderFile */
/** @typedef {import("../types.js").AgentFile} AgentFile */

const STATES = /** @type {Record<string, [string, string]>} */ ({
  pending: ["waiting", "waits for its bytes"],
  parsing: ["waiting", "its text is read"],
  embedding: ["busy", "searchable by words; meaning follows"],
  completed: ["asleep", "ready"],
  error: ["failed", "could not be read"],
});
const KILO = 1000;
const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte"];

/** @param {FolderFile} file  whether the server is not done with it */
export const isUnfinished = (file) => file.processing_status !== "completed" && file.processing_status !== "error";

/** @param {FolderFile} file */
export const nameOf = (file) => (file.file_name ?? file.original_file_name ?? file.id).split("/").pop() ?? file.id;

/** A size in bytes as a person reads it. @param {number} bytes */
function size(bytes) {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log(Math.max(bytes, 1)) / Math.log(KILO)));
  const unitDisplay = power ? "short" : "long"; // The short form of a byte has no plural.
  return new Intl.NumberFormat(navigator.language, { style: "unit", unit: UNITS[power], unitDisplay, maximumFractionDigits: 1 }).format(bytes / KILO ** power);
}

/**
 * @typedef {object} Acts
 * @property {(file: FolderFile) => void} open
 * @property {(file: FolderFile) => void} close
 * @property {(file: FolderFile) => void} remove
 */

/** @param {{file: FolderFile, seen: AgentFile | undefined, acts: Acts, busy: boolean}} props  `seen`: the agent's view of the file; there is none before its text is read */
export function FileRow({ file, seen, acts, busy }) {
  const [showing, setShowing] = useState(false);
  const name = nameOf(file);
  const [kind, words] = STATES[file.processing_status] ?? ["waiting", file.processing_status];
  const isOpen = seen?.is_open ?? false;
  const toggle = () => (isOpen ? acts.close(file) : acts.open(file));
  return html`<li class="file" aria-label=${`File ${name}`}>
    <div class="row">
      <span class="strong grow ellipsis" dir="auto">${name}</span>
      <span class="muted small">${file.file_size === null ? "" : size(file.file_size)}</span>
      ${seen && html`<button type="button" aria-pressed=${isOpen} aria-label=${`${isOpen ? "Close" : "Open"} ${name}`} disabled=${busy} onClick=${toggle}>${isOpen ? "Close" : "Open"}</button>`}
      ${isOpen && html`<button type="button" aria-expanded=${showing} aria-label=${`${showing ? "Hide" : "Show"} what the agent sees of ${name}`} onClick=${() => setShowing(!showing)}>${showing ? "Hide" : "Show"}</button>`}
      <${IconButton} icon="trash" label=${`Delete ${name}`} onClick=${() => acts.remove(file)} />
    </div>
    <div class="row small muted">
      <span class=${`state ${kind}`}>${words}</span>
      ${seen && html`<span>${isOpen ? `open: ${lines(seen)}` : "closed"}</span>`}
      ${seen?.last_accessed_at && html`<span>used <${Time} at=${seen.last_accessed_at} /></span>`}
    </div>
    ${isUnfinished(file) && html`<${Progress} file=${file} name=${name} />`}
    ${file.error_message && html`<p class="fault small" dir="auto">${file.error_message}</p>`}
    ${isOpen && showing && html`<${Code} label=${`Window on ${name}`} language=${lines(/** @type {AgentFile} */ (seen))} text=${seen?.visible_content ?? ""} />`}
  </li>`;
}

/** The lines that the window shows. @param {AgentFile} seen */
function lines(seen) {
  if (seen.start_line === null || seen.end_line === null) return "as much as fits from its beginning";
  return `lines ${count(seen.start_line)} to ${count(seen.end_line)}`;
}

/** @param {{file: FolderFile, name: string}} props */
function Progress({ file, name }) {
  const label = `Progress of ${name}`;
  if (!file.total_chunks) return html`<div class="meter"><progress aria-label=${label}></progress></div>`;
  return html`<div class="meter small muted"><progress max=${file.total_chunks} value=${file.chunks_embedded ?? 0} aria-label=${label}></progress>
    <span>${count(file.chunks_embedded ?? 0)} of ${count(file.total_chunks)} pieces${file.estimated_completion_at ? html`, done about ${clock(file.estimated_completion_at)}` : ""}</span></div>`;
}

/** @param {string} iso */
const clock = (iso) => new Intl.DateTimeFormat(navigator.language, { timeStyle: "medium" }).format(new Date(iso));
