/** The command palette: every action and every agent by a few letters. */
import { html, useEffect, useState } from "../vendor/htm-preact-3.1.1.js";
import { get } from "./api.js";
import { commands, paletteOpen } from "./commands.js";
import { agentPlace, go } from "./router.js";
import { useStore } from "./store.js";
import { Dialog } from "./ui.js";

/** @typedef {import("./types.js").Agent} Agent */
/** @typedef {import("./commands.js").Command} Command */

const MOST = 12;

/**
 * Whether all words of a query are in a name, in any order.
 * @param {string} name
 * @param {string} query
 */
export function fits(name, query) {
  const text = name.toLowerCase();
  return query.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** @param {string} query */
function useAgents(query) {
  const [agents, setAgents] = useState(/** @type {Agent[]} */ ([]));
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      get("agents/", { query_text: query, limit: 8, include_relationships: ["tags"] }, stop.signal).then(setAgents, () => {});
    }, 120);
    return () => (clearTimeout(timer), stop.abort());
  }, [query]);
  return agents;
}

export function Palette() {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const agents = useAgents(query);
  const own = useStore(commands).filter((one) => fits(one.name, query));
  /** @type {Command[]} */
  const found = [...own, ...agents.map((one) => ({ name: one.name, hint: "Agent", act: () => go(agentPlace(one.id)) }))].slice(0, MOST);
  const chosen = Math.min(at, found.length - 1);
  const close = () => paletteOpen.set(false);
  /** @param {Command | undefined} one */
  const run = (one) => {
    if (!one) return;
    close();
    one.act();
  };
  /** @param {KeyboardEvent} event */
  const pressed = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt((chosen + step + found.length) % Math.max(found.length, 1));
    else if (event.key === "Enter") run(found[chosen]);
    else return;
    event.preventDefault();
  };
  return html`<${Dialog} title="Commands" close=${close}>
    <input
      type="text" role="combobox" aria-label="Command or agent" aria-expanded="true" aria-controls="palette-list" autocomplete="off" spellcheck="false"
      aria-activedescendant=${found.length ? `palette-${chosen}` : undefined} placeholder="Type a command or an agent's name"
      value=${query} onInput=${(/** @type {any} */ event) => (setQuery(event.target.value), setAt(0))} onKeyDown=${pressed} autofocus
    />
    <ul id="palette-list" role="listbox" aria-label="Commands" class="palette-list">
      ${found.map(
        (one, place) => html`<li id=${`palette-${place}`} role="option" aria-selected=${place === chosen} onClick=${() => run(one)} onMouseMove=${() => setAt(place)}>
          <span dir="auto">${one.name}</span><span class="muted">${one.hint}</span>
        </li>`,
      )}
    </ul>
    ${found.length === 0 && html`<p class="muted">Nothing has this name.</p>`}
  <//>`;
}
