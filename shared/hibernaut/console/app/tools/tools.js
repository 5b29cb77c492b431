/** Tools: what agents can call, one of them with its source, and the MCP servers that tools come from. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { get } from "../api.js";
import { useCommands } from "../commands.js";
import { useSettled } from "../forms.js";
import { go } from "../router.js";
import { useLoaded } from "../store.js";
import { Failure, Icon, Loading, useTitle } from "../ui.js";
import { KINDS, NEW, kindOf, lostAt, packagesOf } from "./kinds.js";
import { Servers } from "./servers.js";
import { ToolPage } from "./tool.js";

/** @typedef {import("../types.js").Tool} Tool */

const PAGE = 60;
const WAIT = 200;
const SERVERS = "servers";

/** @param {{route: import("../router.js").Route}} props */
export function Tools({ route: { id } }) {
  useCommands(
    () => [
      { name: "New tool", hint: "Tools", act: () => go(`#/tools/${NEW}`) },
      { name: "Open MCP servers", hint: "Tools", act: () => go(`#/tools/${SERVERS}`) },
    ],
    [],
  );
  const current = (/** @type {boolean} */ here) => (here ? "page" : undefined);
  return html`<nav class="tabs place-tabs" aria-label="Tools">
      <a href="#/tools" aria-current=${current(id !== SERVERS)}>Tools</a><a href=${`#/tools/${SERVERS}`} aria-current=${current(id === SERVERS)}>MCP servers</a>
    </nav>
    <div class="page">${id === SERVERS ? html`<${Servers} />` : id ? html`<${ToolPage} key=${id} id=${id} />` : html`<${ToolList} />`}</div>`;
}

function ToolList() {
  const [text, setText] = useState("");
  const [kind, setKind] = useState("");
  const [most, setMost] = useState(PAGE);
  const search = useSettled(text, WAIT);
  const query = KINDS.find(([name]) => name === kind)?.[2] ?? {};
  const { value: tools, error, again } = useLoaded(
    (signal) => /** @type {Promise<Tool[]>} */ (get("tools/", { search, limit: most, ...query }, signal)),
    [search, kind, most],
  );
  useTitle("Tools");
  return html`<div class="row head">
      <div class="grow"><h1>Tools</h1><p class="muted small">What agents can call. An agent gets a tool by its name.</p></div>
      <a class="button primary" href=${`#/tools/${NEW}`}><${Icon} name="plus" /> New tool</a>
    </div>
    <section aria-label="All tools">
      <div class="row filters">
        <label class="search"><span class="sr">Search tools by name</span><${Icon} name="search" />
          <input type="search" placeholder="Search by name" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label>
        <label class="inline-field"><span>Kind</span><select value=${kind} onChange=${(/** @type {any} */ event) => setKind(event.target.value)}>
          ${KINDS.map(([name, title]) => html`<option value=${name}>${title}</option>`)}</select></label>
      </div>
      <${Failure} error=${error} again=${again} />
      ${!tools && !error && html`<${Loading} label="Loading tools" />`}
      ${tools?.length === 0 && html`<p class="empty card">${search || kind !== "custom" ? "No tool fits this search. Write another name, or choose another kind." : "There is no custom tool yet. “New tool” begins with an example."}</p>`}
      <ul class="cards">${tools?.map((tool) => html`<${ToolCard} key=${tool.id} tool=${tool} />`)}</ul>
    </section>
    ${tools?.length === most && html`<button type="button" onClick=${() => setMost(most + PAGE)}>More tools</button>`}`;
}

/** @param {{tool: Tool}} props */
function ToolCard({ tool }) {
  const packages = packagesOf(tool);
  return html`<li class="card agent-card">
    <a class="cover ellipsis" href=${`#/tools/${encodeURIComponent(tool.id)}`} dir="auto">${tool.name}</a>
    <p class="muted small ellipsis" dir="auto">${tool.description?.trim() || "No description"}</p>
    <p class="row small"><span class="tag" dir="auto">${kindOf(tool)}</span>
      ${packages && html`<span class=${`state ${packages[1]}`}>${packages[0]}</span>`}
      ${tool.default_requires_approval && html`<span class="state waiting">needs approval</span>`}
      ${lostAt(tool) && html`<span class="state failed">${tool.metadata_?.mcp?.state}</span>`}</p>
  </li>`;
}
