/** MCP servers: add and change them, test and authorize the connection, read their tools, delete them. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { call, get } from "../api.js";
import { useCommands } from "../commands.js";
import { useAction } from "../forms.js";
import { shown as duration } from "../runs/timeline.js";
import { useLoaded } from "../store.js";
import { Confirm, Failure, Icon, IconButton, Loading, Time, say, useTitle } from "../ui.js";
import { ChangeServer } from "./change_server.js";
import { Connect } from "./connect.js";
import { ADVICE, NewServer } from "./new_server.js";

/** @typedef {import("../types.js").McpServer} McpServer */
/** @typedef {import("../types.js").Tool} Tool */

export function Servers() {
  const { value: servers, error, again } = useLoaded((signal) => /** @type {Promise<McpServer[]>} */ (get("mcp-servers/", {}, signal)), []);
  const [adding, setAdding] = useState(false);
  useTitle("MCP servers");
  useCommands(() => [{ name: "Add an MCP server", hint: "Tools", act: () => setAdding(true) }], []);
  const add = html`<button type="button" class="primary" onClick=${() => setAdding(true)}><${Icon} name="plus" /> Add a server</button>`;
  return html`<div class="row head">
      <div class="grow"><h1>MCP servers</h1><p class="muted small">Servers of the Model Context Protocol, whose tools agents call like their own.</p></div>${add}
    </div>
    <${Failure} error=${error} again=${again} />
    ${!servers && !error && html`<${Loading} label="Loading MCP servers" />`}
    ${servers?.length === 0 && html`<p class="empty card">There is no MCP server yet. Add one by its address: its tools are read at once.</p>`}
    <ul class="plain stack">${servers?.map((server) => html`<${ServerCard} key=${server.id} server=${server} changed=${again} />`)}</ul>
    ${adding && html`<${NewServer} close=${() => setAdding(false)} made=${again} />`}`;
}

/** @param {McpServer} server */
function secretsOf(server) {
  const named = { ...(server.auth_token ? { token: server.auth_token } : {}), ...server.custom_headers, ...server.env };
  return Object.entries(named).map(([name, mask]) => `${name}: ${mask}`);
}

/** @param {{server: McpServer, changed: () => void}} props */
function ServerCard({ server, changed }) {
  const [open, setOpen] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const [changing, setChanging] = useState(false);
  const [connecting, setConnecting] = useState(false);
  const [told, setTold] = useState("");
  const doing = useAction(async (/** @type {() => Promise<string>} */ act) => {
    setTold("");
    try {
      setTold(await act());
    } finally {
      changed();
    }
  });
  const remove = async () => {
    await call("DELETE", `mcp-servers/${server.id}`);
    say("The MCP server was deleted.");
    changed();
  };
  const secrets = secretsOf(server);
  return html`<li class="card server"><article class="stack" aria-label=${`MCP server ${server.server_name}`}>
    <div class="row"><h2 class="grow ellipsis" dir="auto">${server.server_name}</h2><span class="tag">${server.mcp_server_type}</span>
      <button type="button" onClick=${() => setChanging(true)}>Change</button>
      <${IconButton} icon="trash" label="Delete this server" onClick=${() => setDeleting(true)} /></div>
    <p class="small"><code>${server.server_url ?? [server.command, ...(server.args ?? [])].join(" ")}</code>${secrets.length > 0 && html` · ${secrets.map((one) => html`<code>${one}</code> `)}`}</p>
    <${Sync} server=${server} />
    <div class="row">
      <button type="button" disabled=${doing.busy} onClick=${() => doing.run(() => tested(server))}>Test the connection</button>
      <button type="button" disabled=${doing.busy} onClick=${() => doing.run(() => refreshed(server))}>Read the tools again</button>
      ${server.mcp_server_type !== "stdio" && html`<button type="button" onClick=${() => setConnecting(true)}>Authorize (OAuth)</button>`}
      <button type="button" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? "Hide its tools" : "Show its tools"}</button>
    </div>
    <div role="status">${doing.busy && html`<p class="muted">Asking the server …</p>`}${told && html`<p class="state busy">${told}</p>`}</div>
    <${Failure} error=${doing.error} advice=${ADVICE} close=${doing.clear} />
    ${open && html`<${ServerTools} key=${server.last_sync?.at} id=${server.id} />`}
    ${changing && html`<${ChangeServer} server=${server} close=${() => setChanging(false)} made=${() => (setTold(""), doing.clear(), changed())} />`}
    ${connecting && html`<${Connect} server=${server} close=${() => setConnecting(false)} made=${changed} />`}
    ${deleting && html`<${Confirm} title="Delete this MCP server?" act="Delete" done=${remove} close=${() => setDeleting(false)} text=${`${server.server_name}, its secrets and its tools are deleted, and the tools are taken from all agents. This cannot be undone.`} />`}
  </article></li>`;
}

/** How the newest reading of the tools went. @param {{server: McpServer}} props */
function Sync({ server: { last_sync: sync } }) {
  if (!sync) return html`<p class="small muted">Its tools were not read yet.</p>`;
  return html`<p class="small"><span class=${`state ${sync.error ? "failed" : "busy"}`}>${sync.error ?? `${counted(sync.tools)}, read`}</span> <span class="muted"><${Time} at=${sync.at} /></span></p>
    ${sync.left_out.length > 0 && html`<details class="small"><summary>${counted(sync.left_out.length)} left out</summary><ul>${sync.left_out.map((one) => html`<li dir="auto"><code>${one.name}</code>: ${one.reason}</li>`)}</ul></details>`}`;
}

/** @param {number} tools */
const counted = (tools) => (tools === 1 ? "1 tool" : `${tools} tools`);

/** Ask for the tools of now; nothing is stored. @param {McpServer} server */
async function tested(server) {
  const began = performance.now();
  const tools = await get(`tools/mcp/servers/${encodeURIComponent(server.server_name)}/tools`);
  return `The server answers with ${counted(tools.length)} after ${duration(performance.now() - began)}.`;
}

/** @param {McpServer} server */
async function refreshed(server) {
  const found = await call("PATCH", `mcp-servers/${server.id}/refresh`);
  const parts = ["added", "updated", "deleted", "missing"].filter((name) => found[name].length).map((name) => `${name}: ${found[name].join(", ")}`);
  return `The tools were read. ${parts.length ? `${parts.join("; ")}.` : "Nothing has changed."}`;
}

/** @param {{id: string}} props */
function ServerTools({ id }) {
  const { value: tools, error, again } = useLoaded((signal) => /** @type {Promise<Tool[]>} */ (get(`mcp-servers/${id}/tools`, {}, signal)), [id]);
  if (error) return html`<${Failure} error=${error} again=${again} />`;
  if (!tools) return html`<${Loading} label="Loading its tools" />`;
  if (!tools.length) return html`<p class="muted">It has no tools. Test the connection to learn why, then read the tools again.</p>`;
  return html`<ul aria-label="Its tools">${tools.map((tool) => html`<li key=${tool.id}><a href=${`#/tools/${encodeURIComponent(tool.id)}`} dir="auto">${tool.name}</a> <span class="muted small" dir="auto">${tool.description}</span></li>`)}</ul>`;
}
