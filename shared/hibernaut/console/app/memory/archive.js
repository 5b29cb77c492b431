/** Archival memory: what the agent searches when it needs it. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { call, get, open, post } from "../api.js";
import { FormDialog, useAction } from "../forms.js";
import { useLoaded } from "../store.js";
import { Failure, Icon, IconButton, Loading, Time, say } from "../ui.js";

/** @typedef {import("../types.js").Passage} Passage */
/** @typedef {import("../types.js").PassageHit} PassageHit */

const MOST = 25;
const LIMITS = /** @type {Record<string, string>} */ ({
  "words-only": "No embedding model answers, so this search went by words alone.",
  incomplete: "Much was written lately: the newest passages may be missing.",
  asleep: "The index does not answer: only the newest passages were searched, by words.",
});

/**
 * @param {string} agentId @param {string} query @param {string} mode
 * @returns {Promise<{hits: PassageHit[], limited: string | null}>}
 */
async function search(agentId, query, mode, /** @type {AbortSignal} */ signal) {
  const body = { agent_id: agentId, query: query || null, search_mode: mode, limit: MOST };
  const response = await open("POST", "passages/search", { body, signal });
  return { hits: await response.json(), limited: response.headers.get("x-hibernaut-search") };
}

/** @param {{agentId: string}} props */
export function Archive({ agentId }) {
  const [asked, setAsked] = useState({ query: "", mode: "hybrid" });
  const { value, error, loading, again } = useLoaded((signal) => search(agentId, asked.query, asked.mode, signal), [agentId, asked.query, asked.mode]);
  const [adding, setAdding] = useState(false);
  const [failed, setFailed] = useState(/** @type {unknown} */ (null));
  /** @param {Event} event */
  const ask = (event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget));
    setAsked({ query: String(form.get("query")), mode: String(form.get("mode")) });
  };
  /** @param {Passage} passage */
  const remove = async (passage) => {
    try {
      await call("DELETE", `agents/${agentId}/archival-memory/${passage.id}`);
      say("The passage was deleted.", passage.archive_id ? () => bringBack(passage).then(again, setFailed) : undefined);
      await again();
    } catch (problem) {
      setFailed(problem);
    }
  };
  return html`<section class="stack" aria-labelledby="archive">
    <div class="row"><div class="grow"><h2 id="archive">Archival memory</h2><p class="muted small">What the agent looks up when it needs it.</p></div>
      <button type="button" onClick=${() => setAdding(true)}><${Icon} name="plus" /> New passage</button></div>
    <form class="row" role="search" aria-label="Archival memory" onSubmit=${ask}>
      <label class="search"><span class="sr">Search archival memory</span><${Icon} name="search" /><input type="search" name="query" dir="auto" placeholder="By words and by meaning" /></label>
      <label class="inline-field"><span>Search</span><select name="mode" onChange=${(/** @type {any} */ event) => event.target.form.requestSubmit()}>
        <option value="hybrid">words and meaning</option><option value="fts">words</option><option value="vector">meaning</option></select></label>
      <button>Search</button>
    </form>
    <${Failure} error=${error ?? failed} again=${error ? again : undefined} close=${error ? undefined : () => setFailed(null)} />
    ${value?.limited && html`<p class="notice warn">${LIMITS[value.limited] ?? value.limited}</p>`}
    ${loading && !value && html`<${Loading} label="Searching" />`}
    ${value?.hits.length === 0 && html`<p class="empty card">${asked.query ? "Nothing was found." : "The archive is empty."}</p>`}
    <ul class="plain stack">${value?.hits.map((hit) => html`<${Hit} key=${hit.passage.id} hit=${hit} scored=${asked.query !== ""} remove=${() => remove(hit.passage)} />`)}</ul>
    ${adding && html`<${NewPassage} agentId=${agentId} close=${() => setAdding(false)} made=${again} />`}
  </section>`;
}

/** @param {Passage} passage */
async function bringBack(passage) {
  const path = `archives/${passage.archive_id}/passages/${passage.id}`;
  const versions = await get(`${path}/versions`);
  const kept = versions.find((/** @type {{change: string}} */ one) => one.change !== "deleted");
  await post(`${path}/rollback`, { version: kept.version });
  say("The passage is back.");
}

/** @param {{hit: PassageHit, scored: boolean, remove: () => Promise<void>}} props */
function Hit({ hit, scored, remove }) {
  const removing = useAction(remove);
  const { passage, metadata } = hit;
  const rank = (/** @type {number | null | undefined} */ value) => (value ? `number ${value}` : "not found");
  return html`<li class="card passage">
    <p class="text" dir="auto">${passage.text}</p>
    <div class="row small muted">
      <${Time} at=${passage.created_at} />
      ${(passage.tags ?? []).map((tag) => html`<span class="tag" dir="auto">${tag}</span>`)}
      ${scored && html`<span>score ${hit.score.toFixed(3)} · by words: ${rank(metadata.fts_rank)} · by meaning: ${rank(metadata.vector_rank)}</span>`}
      <span class="grow"></span><${IconButton} icon="trash" label="Delete this passage" disabled=${removing.busy} onClick=${() => removing.run()} />
    </div>
  </li>`;
}

/** @param {{agentId: string, close: () => void, made: () => void}} props */
function NewPassage({ agentId, close, made }) {
  const done = async (/** @type {FormData} */ form) => {
    const tags = String(form.get("tags")).split(",").map((tag) => tag.trim()).filter(Boolean);
    await post(`agents/${agentId}/archival-memory`, { text: form.get("text"), ...(tags.length ? { tags } : {}) });
    say("The passage was added.");
    made();
  };
  return html`<${FormDialog} title="New passage" act="Add" done=${done} close=${close}>
    <label class="field"><span>Text</span><textarea name="text" rows="5" required dir="auto" autofocus></textarea></label>
    <label class="field"><span>Tags, separated by commas</span><input name="tags" dir="auto" /></label>
  <//>`;
}
