/** Home: what runs, what waits for a person, what today cost, and the agents. */
import { html, useMemo, useState } from "../../vendor/htm-preact-3.1.1.js";
import { ApiError, call } from "../api.js";
import { useCommands } from "../commands.js";
import { chooseFiles, useDrop } from "../files.js";
import { later } from "../later.js";
import { agentPlace, go } from "../router.js";
import { useLoaded } from "../store.js";
import { Dialog, Failure, Icon, say, useRepeated, useTitle } from "../ui.js";
import { AgentList } from "./agent_list.js";
import { HomeFeed } from "./feed.js";
import { Overview } from "./overview.js";
import { FIRST } from "./questions.js";

/** @typedef {import("../types.js").Agent} Agent */

/** These come when they are needed. */
const NewAgent = later(() => import("./new_agent.js").then((module) => module.NewAgent), { isDialog: true });
const FromTemplate = later(() => import("./from_template.js").then((module) => module.FromTemplate), { isDialog: true });
const OneAgent = later(() => import("./one_agent.js").then((module) => module.OneAgent));

const REFRESH = 10_000;

export function Home() {
  const [asked, setAsked] = useState(FIRST);
  const [making, setMaking] = useState(/** @type {"" | "new" | "template"} */ (""));
  const [imported, setImported] = useState(/** @type {any} */ (null));
  const [failed, setFailed] = useState(/** @type {unknown} */ (null));
  const feed = useMemo(() => new HomeFeed(), []);
  const { value, error, again, refresh } = useLoaded((signal) => feed.load(asked, signal), [asked]);
  useTitle("Home");
  useRepeated(refresh, REFRESH, []);
  useCommands(
    () => [
      { name: "New agent", hint: "Home", act: () => setMaking("new") },
      { name: "New agent from a template", hint: "Home", act: () => setMaking("template") },
      { name: "Import an agent file", hint: "Home", act: choose },
    ],
    [],
  );
  const renew = () => (feed.forget(), again());
  const take = (/** @type {File} */ file) => importFile(file).then((done) => (setImported(done), renew()), setFailed);
  const choose = () => chooseFiles(".af,.json", ([file]) => take(file));
  const dropping = useDrop(([file]) => take(file));
  const made = (/** @type {string[]} */ ids) => (ids.length === 1 ? go(agentPlace(ids[0])) : (setMaking(""), renew(), say(`${ids.length} agents were made.`)));
  if (error instanceof ApiError && error.status === 403) return html`<div class="page narrow"><h1>Agents</h1><${OneAgent} error=${error} /></div>`;
  return html`<div class=${`page ${dropping ? "dropping" : ""}`}>
    <div class="row head">
      <h1 class="grow">Agents</h1>
      <button type="button" onClick=${choose}>Import a file</button>
      <button type="button" onClick=${() => setMaking("template")}>From a template</button>
      <button type="button" class="primary" onClick=${() => setMaking("new")}><${Icon} name="plus" /> New agent</button>
    </div>
    <${Failure} error=${failed} close=${() => setFailed(null)} />
    <${Failure} error=${error} again=${renew} />
    <${Overview} value=${value} />
    <${AgentList} value=${value} asked=${asked} ask=${(/** @type {Partial<typeof asked>} */ change) => setAsked((old) => ({ ...old, ...change }))} make=${() => setMaking("new")} />
    ${making === "new" && html`<${NewAgent} close=${() => setMaking("")} made=${(/** @type {Agent} */ agent) => made([agent.id])} />`}
    ${making === "template" && html`<${FromTemplate} close=${() => setMaking("")} made=${made} />`}
    ${imported && html`<${Imported} result=${imported} close=${() => setImported(null)} />`}
    ${dropping && html`<p class="drop-hint" role="status">Drop the agent file to import it</p>`}
  </div>`;
}

/** @param {File} file */
async function importFile(file) {
  const form = new FormData();
  form.append("file", file, file.name);
  const done = await call("POST", "agents/import", { form });
  say(`${done.agent_ids.length === 1 ? "One agent was" : `${done.agent_ids.length} agents were`} imported.`);
  return done;
}

/** What an import did beside what the file says. @param {{result: any, close: () => void}} props */
function Imported({ result, close }) {
  const notes = /** @type {{detail: string, place: string}[]} */ (result.notes ?? []);
  return html`<${Dialog} title="Imported" close=${close}>
    <ul>${result.agent_ids.map((/** @type {string} */ id) => html`<li><a href=${agentPlace(id)}>${id}</a></li>`)}</ul>
    ${notes.length > 0 && html`<h3>What differs from the file</h3><ul>${notes.map((note) => html`<li>${note.detail} (${note.place})</li>`)}</ul>`}
  <//>`;
}
