/** Change an MCP server: its name, its address or program, and its secrets, which stay where nothing is written. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { call } from "../api.js";
import { FormDialog, pairs } from "../forms.js";
import { say } from "../ui.js";

/** @typedef {import("../types.js").McpServer} McpServer */

/**
 * Names and values as they are edited: a stored value stands as ********, which keeps it.
 * @param {Record<string, string> | null | undefined} named
 * @param {string} mark
 */
const lines = (named, mark) => Object.entries(named ?? {}).map(([name, value]) => `${name}${mark}${value}`).join("\n");

/** @param {string} text */
const split = (text) => text.split("\n").map((one) => one.trim()).filter(Boolean);

/**
 * What the form changes. An empty token is sent where it shall be removed.
 * @param {McpServer} server
 * @param {FormData} form
 */
function configOf(server, form) {
  const text = (/** @type {string} */ name) => String(form.get(name) ?? "").trim();
  const type = server.mcp_server_type;
  if (type === "stdio") return { mcp_server_type: type, command: text("command"), args: split(text("args")), env: pairs(form.get("env"), "=") ?? {} };
  const token = form.has("forget") ? "" : text("token") || null;
  return { mcp_server_type: type, server_url: text("server_url"), auth_token: token, custom_headers: pairs(form.get("headers"), ":") ?? {} };
}

/** @param {{server: McpServer, close: () => void, made: () => void | Promise<void>}} props */
export function ChangeServer({ server, close, made }) {
  const [address, setAddress] = useState(server.server_url ?? "");
  const moved = address.trim() !== (server.server_url ?? "");
  const secrets = Boolean(server.auth_token || server.custom_headers);
  /** @param {FormData} form */
  const change = async (form) => {
    const body = { server_name: form.get("name"), config: configOf(server, form), default_requires_approval: form.has("approval") };
    const saved = await call("PATCH", `mcp-servers/${server.id}`, { body });
    say(saved.last_sync?.error ? "The server was changed, but its tools could not be read." : "The server was changed.");
    await made(); // The page shows it before the form closes, so that the next one begins with it.
  };
  return html`<${FormDialog} title=${`Change ${server.server_name}`} act="Save" done=${change} close=${close}>
    <label class="field"><span>Name</span><input name="name" required maxlength="100" autocomplete="off" dir="auto" value=${server.server_name} autofocus /></label>
    ${server.mcp_server_type === "stdio"
      ? html`<label class="field"><span>Program</span><input name="command" required autocomplete="off" dir="ltr" value=${server.command} /></label>
        <label class="field"><span>Arguments, one a line</span><textarea name="args" rows="2" dir="ltr" class="mono">${(server.args ?? []).join("\n")}</textarea></label>
        <label class="field"><span>Variables, one a line as NAME=value</span><textarea name="env" rows="2" dir="ltr" class="mono">${lines(server.env, "=")}</textarea></label>`
      : html`<label class="field"><span>Address</span><input name="server_url" type="url" required autocomplete="off" dir="ltr" value=${address} onInput=${(/** @type {any} */ event) => setAddress(event.target.value)} /></label>
        <label class="field"><span>Token</span><input name="token" type="password" autocomplete="off" placeholder=${server.auth_token ? "the stored one stays" : "none"} /></label>
        ${server.auth_token && html`<label class="check"><input type="checkbox" role="switch" name="forget" /><span>Remove the stored token</span></label>`}
        <label class="field"><span>Headers, one a line as Name: value</span><textarea name="headers" rows="2" dir="ltr" class="mono" autocomplete="off">${lines(server.custom_headers, ": ")}</textarea></label>
        ${moved && secrets && html`<p class="notice warn">Secrets are not sent to another address by themselves: write the token and the headers again.</p>`}`}
    <label class="check"><input type="checkbox" role="switch" name="approval" checked=${Boolean(server.default_requires_approval)} /><span>A person approves each call of its tools</span></label>
    <p class="small muted">******** stands for a stored secret, and keeps it.</p>
  <//>`;
}
