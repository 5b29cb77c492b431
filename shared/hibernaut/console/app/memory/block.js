/** One block: its value with used and limit, its edit, and who shares it. An edit names the version that it began with. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { ApiError, call, get } from "../api.js";
import { count } from "../format.js";
import { agentPlace } from "../router.js";
import { useAction } from "../forms.js";
import { useLoaded } from "../store.js";
import { Failure, Loading, say, useRepeated } from "../ui.js";
import { History } from "./history.js";

/** @typedef {import("../types.js").Block} Block */
/** @typedef {import("../types.js").Version} Version */

const LOOK = 10_000;

/**
 * The newest version of a block, with the block as that version left it: both are of the same moment.
 * @param {string} id
 * @param {AbortSignal} [signal]
 * @returns {Promise<{version: number, block: Block}>}
 */
async function newest(id, signal) {
  const [head] = /** @type {Version[]} */ (await get(`blocks/${id}/versions`, { limit: 1 }, signal));
  const { block } = await get(`blocks/${id}/versions/${head.version}`, {}, signal);
  return { version: head.version, block };
}

/**
 * As `newest`; for a key that reaches some agents only, and so no versions, the block as the agent has it, with version 0.
 * @param {string} id
 * @param {string} agentId
 * @param {AbortSignal} signal
 */
async function reachable(id, agentId, signal) {
  try {
    return await newest(id, signal);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    const blocks = /** @type {Block[]} */ (await get(`agents/${agentId}/core-memory/blocks/`, { limit: 200 }, signal));
    const block = blocks.find((one) => one.id === id);
    if (!block) throw error;
    return { version: 0, block };
  }
}

/** @param {{id: string, label: string, agentId: string}} props */
export function BlockCard({ id, label, agentId }) {
  const { value, error, again, refresh } = useLoaded((signal) => reachable(id, agentId, signal), [id]);
  const sharers = useLoaded((signal) => get(`blocks/${id}/agents`, { limit: 20, include_relationships: ["tags"] }, signal), [id]);
  const [editing, setEditing] = useState(false);
  const [showing, setShowing] = useState(false);
  useRepeated(refresh, LOOK, []);
  const others = (sharers.value ?? []).filter((/** @type {any} */ one) => one.id !== agentId);
  return html`<article class="card block" aria-label=${`Block ${label}`}>
    <div class="row"><h3 class="grow" dir="auto">${label}</h3>
      ${value?.version !== 0 && html`<button type="button" aria-expanded=${showing} onClick=${() => setShowing(!showing)}>History</button>`}
      ${value && value.version !== 0 && !editing && !value.block.read_only && html`<button type="button" onClick=${() => setEditing(true)}>Edit</button>`}
    </div>
    ${value?.block.description && html`<p class="muted small" dir="auto">${value.block.description}</p>`}
    <${Failure} error=${error} again=${again} />
    ${!value && !error && html`<${Loading} first />`}
    ${value?.version === 0 && html`<p class="muted small">Your key reaches no history of blocks, so it does not edit them here.</p>`}
    ${value && !editing && html`<${Value} block=${value.block} />`}
    ${value && editing && html`<${Edit} id=${id} began=${value} close=${() => (setEditing(false), again())} />`}
    ${others.length > 0 && html`<p class="small muted">Shared with ${others.map((/** @type {any} */ one, /** @type {number} */ place) => html`${place > 0 && ", "}<a href=${agentPlace(one.id, "memory")} dir="auto">${one.name}</a>`)}</p>`}
    ${showing && value && html`<${History} id=${id} current=${value.version} changed=${again} />`}
  </article>`;
}

/** @param {{block: Block}} props */
function Value({ block }) {
  return html`<div class="value" dir="auto" tabindex="0" role="region" aria-label=${`Value of ${block.label}`}>${block.value || html`<span class="muted">Empty</span>`}</div>
    <${Meter} used=${block.value.length} limit=${block.limit} />`;
}

/** @param {{used: number, limit: number}} props */
function Meter({ used, limit }) {
  return html`<div class="meter small muted"><progress max=${limit} value=${Math.min(used, limit)} aria-label="Used of the limit"></progress>
    <span>${count(used)} of ${count(limit)} characters</span></div>`;
}

/** @param {{id: string, began: {version: number, block: Block}, close: () => void}} props */
function Edit({ id, began, close }) {
  const [base] = useState(began);
  const [text, setText] = useState(began.block.value);
  const [theirs, setTheirs] = useState(/** @type {{version: number, block: Block} | null} */ (null));
  const saving = useAction(async (/** @type {number} */ version) => {
    try {
      await call("PATCH", `blocks/${id}`, { body: { value: text, current_version: version } });
      say("Saved.");
      close();
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "version_conflict") throw error;
      setTheirs(await newest(id).catch(() => null));
    }
  });
  return html`<form class="stack" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), saving.run(theirs?.version ?? base.version))}>
    <label class="field"><span class="sr">Value of ${base.block.label}</span>
      <textarea rows=${Math.min(16, Math.max(5, text.split("\n").length + 1))} dir="auto" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} autofocus></textarea></label>
    <${Meter} used=${text.length} limit=${base.block.limit} />
    ${theirs &&
    html`<div class="notice warn" role="alert"><div class="stack grow">
      <p class="strong">Somebody changed this block while you edited it. Nothing is saved yet.</p>
      <div><p class="small">It says now (version ${theirs.version}):</p><p class="value" dir="auto">${theirs.block.value || "(empty)"}</p></div>
      <div class="row"><button type="button" onClick=${close}>Keep theirs</button><button class="danger" disabled=${saving.busy}>Replace it by mine</button></div>
    </div></div>`}
    <${Failure} error=${saving.error} />
    ${!theirs && html`<div class="row end"><button type="button" onClick=${close}>Cancel</button><button class="primary" disabled=${saving.busy || text === base.block.value}>Save</button></div>`}
  </form>`;
}
