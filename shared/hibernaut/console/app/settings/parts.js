/** What the parts of the settings share: lists by pages, and a server without keys. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { ApiError, get } from "../api.js";
import { useLoaded } from "../store.js";
import { Failure } from "../ui.js";

/**
 * A list that is read by pages. `more` reads one page more; null: there is none.
 * @template {Record<string, any>} T
 * @param {string} path
 * @param {number} size  of a page
 * @param {string} cursor  the name of what `after` takes
 */
export function usePages(path, size, cursor) {
  const [pages, setPages] = useState(1);
  /** @param {AbortSignal} signal */
  const load = async (signal) => {
    /** @type {T[]} */
    const found = [];
    for (let page = 0; page < pages && found.length === page * size; page += 1) found.push(...(await get(path, { limit: size, after: found.at(-1)?.[cursor] }, signal)));
    return found;
  };
  const loaded = useLoaded(load, [path, pages]);
  const full = loaded.value && loaded.value.length >= pages * size;
  return { ...loaded, more: full ? () => setPages(pages + 1) : null };
}

/**
 * A failure, or what to do on a server without API keys.
 * @param {{error: unknown, again: () => void, what: string, command: string}} props
 */
export function AdminFailure({ error, again, what, command }) {
  if (!(error instanceof ApiError) || !error.message.startsWith("NO_KEYS")) return html`<${Failure} error=${error} again=${again} />`;
  return html`<div class="card first"><h2>This server has no API keys</h2>
    <p>Everybody on its machine may use it, and ${what} are managed by its command line:</p>
    <p><code>${command}</code></p>
    <p class="muted">After <code>hibernaut keys create --scope admin</code> the console asks for that key, and shows them here.</p></div>`;
}
