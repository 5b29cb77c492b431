/** The versions of a block: who changed what, the differences, and the way back. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { get, post } from "../api.js";
import { useAction } from "../forms.js";
import { useLoaded } from "../store.js";
import { Failure, Loading, Time, say } from "../ui.js";

/** @typedef {import("../types.js").Version} Version */
/** @typedef {{field: string, before: unknown, after: unknown, lines: string[] | null}} Change */

const PAGE = 20;
const WORDS = /** @type {Record<string, string>} */ ({ created: "Created", updated: "Changed", rolled_back: "Rolled back", deleted: "Deleted", unrecorded: "Not recorded" });

/** @param {Version} version */
function author({ by }) {
  if (!by) return "unknown";
  if (by.source === "run") return by.tools.length ? `the agent, by ${by.tools.join(", ")}` : "the agent";
  return by.source === "api" ? "a person or a program" : "the server";
}

/** @param {{id: string, current: number, changed: () => Promise<void>}} props */
export function History({ id, current, changed }) {
  const [most, setMost] = useState(PAGE);
  const { value, error, again } = useLoaded((signal) => /** @type {Promise<Version[]>} */ (get(`blocks/${id}/versions`, { limit: most }, signal)), [id, current, most]);
  const [open, setOpen] = useState(/** @type {number | null} */ (null));
  const [failed, setFailed] = useState(/** @type {unknown} */ (null));
  /** @param {number} version @param {number} from @param {boolean} undoable */
  const restore = async (version, from, undoable) => {
    setFailed(null);
    try {
      const done = /** @type {Version} */ (await post(`blocks/${id}/rollback`, { version, current_version: from }));
      say(`Version ${version} is back.`, undoable ? () => restore(from, done.version, false) : undefined);
    } catch (problem) {
      setFailed(problem);
    }
    await changed();
  };
  return html`<section class="stack" aria-label="History">
    <${Failure} error=${error ?? failed} again=${error ? again : undefined} />
    ${!value && !error && html`<${Loading} label="Loading the history" />`}
    <ol class="versions" reversed>
      ${value?.map(
        (one) => html`<li key=${one.version}>
          <button type="button" aria-expanded=${open === one.version} onClick=${() => setOpen(open === one.version ? null : one.version)}>
            <strong>${one.version}</strong> ${WORDS[one.change] ?? one.change}${one.restored_version ? ` to ${one.restored_version}` : ""} by ${author(one)}
            ${one.at && html`<span class="muted"><${Time} at=${one.at} /></span>`}
          </button>
          ${open === one.version && html`<${Opened} id=${id} version=${one} current=${current} restore=${() => restore(one.version, current, true)} />`}
        </li>`,
      )}
    </ol>
    ${value?.length === most && html`<button type="button" onClick=${() => setMost(Math.min(200, most + PAGE))}>Older versions</button>`}
  </section>`;
}

/** @param {{id: string, version: Version, current: number, restore: () => Promise<void>}} props */
function Opened({ id, version, current, restore }) {
  const restoring = useAction(restore);
  const { value, error } = useLoaded((signal) => get(`blocks/${id}/versions/${version.version}/diff`, {}, signal), [id, version.version]);
  const changes = /** @type {Change[]} */ (value?.changes ?? []).filter((one) => version.change !== "created" || ["value", "label"].includes(one.field));
  return html`<div class="stack">
    <${Failure} error=${error} />
    ${!value && !error && html`<${Loading} />`}
    ${changes.map((one) => html`<div><p class="small muted">${one.field}</p><${Diff} change=${one} /></div>`)}
    ${version.version !== current && version.change !== "deleted" && html`<div class="row"><button type="button" disabled=${restoring.busy} onClick=${() => restoring.run()}>Bring version ${version.version} back</button></div>`}
  </div>`;
}

/** What differs in a field, by lines. @param {{change: Change}} props */
export function Diff({ change }) {
  const lines = change.lines?.filter((line) => !line.startsWith("@@")) ?? [...oneLine("-", change.before), ...oneLine("+", change.after)];
  return html`<div class="diff" tabindex="0" role="region" aria-label=${`Differences in ${change.field}`}>
    ${lines.map((line) => html`<span class=${{ "+": "add", "-": "gone" }[line[0]] ?? ""} dir="auto">${line}</span>`)}
  </div>`;
}

/** @param {string} mark @param {unknown} value */
function oneLine(mark, value) {
  if (value === null || value === undefined || value === "") return [];
  return [`${mark}${typeof value === "string" ? value : JSON.stringify(value)}`];
}
