/** The places of one agent: its head with the tabs, and the chosen place below. */
import { html, useState } from "../vendor/htm-preact-3.1.1.js";
import { call, get, post } from "./api.js";
import { Chat } from "./chat/chat.js";
import { useCommands } from "./commands.js";
import { Context } from "./context/context.js";
import { FormDialog } from "./forms.js";
import { Memory } from "./memory/memory.js";
import { agentPlace, go } from "./router.js";
import { Runs } from "./runs/runs.js";
import { useLoaded } from "./store.js";
import { Confirm, Failure, IconButton, Loading, say, useTitle } from "./ui.js";

/** @typedef {import("./types.js").Agent} Agent */

/** @type {[string, string, (props: {agent: Agent, query: URLSearchParams}) => any][]} */
const PLACES = [["chat", "Chat", Chat], ["memory", "Memory", Memory], ["runs", "Runs", Runs], ["context", "Context", Context]];

/** @param {{agentId: string, route: import("./router.js").Route}} props */
export function AgentPlace({ agentId, route }) {
  const { value: agent, error, again } = useLoaded(
    (signal) => /** @type {Promise<Agent>} */ (get(`agents/${agentId}`, { include_relationships: ["tags"] }, signal)),
    [agentId],
  );
  const [deleting, setDeleting] = useState(false);
  const [copying, setCopying] = useState(false);
  const place = PLACES.find(([name]) => name === route.place) ?? PLACES[0];
  useTitle(agent ? `${place[1]} · ${agent.name}` : "");
  useCommands(
    () => [
      ...PLACES.map(([name, title]) => ({ name: `Open ${title}`, hint: "This agent", act: () => go(agentPlace(agentId, name)) })),
      { name: "Make a template of this agent", hint: "This agent", act: () => setCopying(true) },
      { name: "Delete this agent", hint: "This agent", act: () => setDeleting(true) },
    ],
    [agentId],
  );
  const remove = async () => {
    await call("DELETE", `agents/${agentId}`);
    say("The agent was deleted.");
    go("#/home");
  };
  /** @param {FormData} form */
  const template = async (form) => {
    const made = await post("templates", { type: "agent", agent_id: agentId, name: form.get("name") });
    say(`The template ${made.name} was made. New agents are made from it at Home.`);
  };
  if (error && !agent) return html`<div class="page"><${Failure} error=${error} again=${again} /></div>`;
  return html`<div class=${place[0] === "chat" ? "chat" : ""}>
    <header class="agent-head">
      <h1 class="ellipsis" dir="auto">${agent?.name ?? " "}</h1>
      <span class="muted small ellipsis grow">${agent?.model ?? ""}</span>
      <nav class="tabs" aria-label="This agent">
        ${PLACES.map(([name, title]) => html`<a href=${agentPlace(agentId, name)} aria-current=${name === place[0] ? "page" : undefined}>${title}</a>`)}
      </nav>
      <span class="end"><${IconButton} icon="copy" label="Make a template of this agent" onClick=${() => setCopying(true)} />
        <${IconButton} icon="trash" label="Delete this agent" onClick=${() => setDeleting(true)} /></span>
    </header>
    ${!agent && html`<div class="page"><${Loading} /></div>`}
    ${agent && html`<${place[2]} agent=${agent} query=${route.query} />`}
    ${copying && agent && html`<${FormDialog} title="Make a template of this agent" act="Make" done=${template} close=${() => setCopying(false)}>
      <p class="small">It holds the agent's settings, memory and tools, and no messages. Where a block says <code>{{name}}</code>, each new agent gets a text of its own.</p>
      <label class="field"><span>Name of the template</span><input name="name" required maxlength="100" pattern="[A-Za-z0-9][A-Za-z0-9_\\-]*" title="Letters, digits, hyphens and underscores" autocomplete="off" autofocus /></label>
    <//>`}
    ${deleting && agent && html`<${Confirm} title="Delete this agent?" act="Delete" done=${remove} close=${() => setDeleting(false)}
      text=${`${agent.name} and all its conversations are erased. Its blocks remain. This cannot be undone.`} />`}
  </div>`;
}
