/** The frame around every place: the bar, the place itself, the palette, and what is said about the connection. */
import { html, useEffect, useErrorBoundary, useState } from "../vendor/htm-preact-3.1.1.js";
import { connection, get, key } from "./api.js";
import { paletteOpen, useCommands } from "./commands.js";
import { Home } from "./home/home.js";
import { later } from "./later.js";
import { Palette } from "./palette.js";
import { go, route } from "./router.js";
import { useStore } from "./store.js";
import { theme, toggleTheme } from "./theme.js";
import { Announcer, Failure, Icon, IconButton } from "./ui.js";

/** @typedef {import("./router.js").Route} Route */

const PLACES = [["home", "Home"], ["teams", "Teams"], ["tools", "Tools"], ["settings", "Settings"]];

/** These places come with their first visit. @type {Record<string, any>} */
const VIEWS = {
  agents: later(() => import("./agent.js").then((module) => module.AgentPlace)),
  settings: later(() => import("./settings/settings.js").then((module) => module.Settings)),
  teams: later(() => import("./teams/teams.js").then((module) => module.Teams)),
  tools: later(() => import("./tools/tools.js").then((module) => module.Tools)),
};

export function Shell() {
  const now = useStore(route);
  const status = useStore(connection);
  const isOpen = useStore(paletteOpen);
  useCommands(
    () => [
      ...PLACES.map(([place, title]) => ({ name: `Go to ${title}`, hint: "Place", act: () => go(`#/${place}`) })),
      { name: "Change between light and dark", hint: "Theme", act: toggleTheme },
      ...(key.get() ? [{ name: "Forget the API key", hint: "Key", act: forget }] : []),
    ],
    [status],
  );
  useEffect(() => {
    /** @param {KeyboardEvent} event */
    const pressed = (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        paletteOpen.set(!paletteOpen.get());
      }
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
  return html`<a class="skip" href="#main" onClick=${skip}>To the content</a>
    <${Bar} />
    <${Connection} status=${status} />
    <main id="main" tabindex="-1">${status === "key" ? html`<${KeyForm} />` : html`<${Place} key=${now.agentId ?? now.place} route=${now} />`}</main>
    ${isOpen && html`<${Palette} />`}<${Announcer} />`;
}

/** @param {Event} event */
function skip(event) {
  event.preventDefault(); // The fragment of the address names the place.
  document.getElementById("main")?.focus();
}

function forget() {
  key.set(null);
  location.reload();
}

function Bar() {
  useStore(theme);
  const now = useStore(route);
  return html`<header class="bar">
    <a class="brand" href="#/home"><${Icon} name="moon" /><span>Hibernaut</span></a>
    <button type="button" class="find" onClick=${() => paletteOpen.set(true)}>
      <${Icon} name="search" /><span>Find an agent or a command</span><kbd>Ctrl K</kbd>
    </button>
    <nav aria-label="Places" class="places">
      ${PLACES.slice(1).map(([place, title]) => html`<a class="quiet-link" href=${`#/${place}`} aria-current=${now.place === place && !now.agentId ? "page" : undefined}>${title}</a>`)}
      <a class="quiet-link" href="../docs">API</a>
    </nav>
    <${IconButton} icon="sun" label="Change between light and dark" onClick=${toggleTheme} />
  </header>`;
}

/** @param {{status: string}} props */
function Connection({ status }) {
  return html`<div role="status" class="connection">
    ${status === "offline" && html`<p><${Icon} name="alert" /> The server cannot be reached. What you see may be old; the console tries again by itself.</p>`}
  </div>`;
}

/** @param {{route: Route}} props */
function Place({ route: now }) {
  const [error, reset] = useErrorBoundary();
  if (error) return html`<div class="page"><${Failure} error=${error} again=${reset} /></div>`;
  const View = VIEWS[now.agentId ? "agents" : now.place];
  return View ? html`<${View} route=${now} agentId=${now.agentId} />` : html`<${Home} />`;
}

/** Asks for an API key, which stays in this tab. */
function KeyForm() {
  const [error, setError] = useState(/** @type {unknown} */ (null));
  /** @param {SubmitEvent} event */
  const enter = async (event) => {
    event.preventDefault();
    const given = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("key")).trim();
    key.set(given || null);
    try {
      await get("agents/", { limit: 1, include_relationships: ["tags"] });
      connection.set("ok");
    } catch (failed) {
      setError(failed);
    }
  };
  return html`<form class="page narrow card" onSubmit=${enter}>
    <h1>API key</h1>
    <p>This server answers to those who have a key. The key stays in this tab of the browser and is gone when you close it.</p>
    <label class="field"><span>API key</span><input name="key" type="password" autocomplete="off" required autofocus /></label>
    <${Failure} error=${error} />
    <div class="row end"><button class="primary">Continue</button></div>
  </form>`;
}
