/** A new MCP server: where it is, what it is told, and a test before it is added. */
import { html, useRef, useState } from "../../vendor/htm-preact-3.1.1.js";
import { post } from "../api.js";
import { FormDialog, pairs, useAction } from "../forms.js";
import { Failure, say } from "../ui.js";

export const ADVICE = "Check that the MCP server runs, its address and type, and the token or the headers. Then test the connection again.";
const TYPES = [["streamable_http", "HTTP (streamable)"], ["sse", "HTTP with server-sent events (older)"], ["stdio", "a program on the server's machine"]];

/**
 * What the form says, as the API takes it.
 * @param {FormData} form
 */
function configOf(form) {
  const text = (/** @type {string} */ name) => String(form.get(name) ?? "").trim();
  if (text("type") === "stdio") return { command: text("command"), args: text("args").split("\n").map((one) => one.trim()).filter(Boolean), env: pairs(form.get("env"), "=") };
  return { server_url: text("server_url"), auth_token: text("token") || null, custom_headers: pairs(form.get("headers"), ":") };
}

/** @param {{close: () => void, made: () => void}} props */
export function NewServer({ close, made }) {
  const [type, setType] = useState("streamable_http");
  const [told, setTold] = useState("");
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const testing = useAction(async (/** @type {HTMLFormElement} */ form) => {
    setTold("");
    if (!form.reportValidity()) return;
    const given = new FormData(form);
    const { tools } = await post("tools/mcp/servers/test", { server_name: given.get("name"), type, ...configOf(given) });
    setTold(`The server answers. Its tools: ${tools.map((/** @type {{name: string}} */ one) => one.name).join(", ") || "none"}.`);
  });
  const add = async (/** @type {FormData} */ form) => {
    const server = await post("mcp-servers/", { server_name: form.get("name"), config: { mcp_server_type: type, ...configOf(form) }, default_requires_approval: form.has("approval") });
    made();
    say(server.last_sync?.error ? "The server was added, but its tools could not be read." : "The server was added.");
  };
  const test = html`<button type="button" ref=${button} disabled=${testing.busy} onClick=${() => testing.run(/** @type {HTMLFormElement} */ (button.current?.form))}>${testing.busy ? "Testing …" : "Test the connection"}</button>`;
  return html`<${FormDialog} title="Add an MCP server" act="Add" done=${add} close=${close} more=${test}>
    <label class="field"><span>Name</span><input name="name" required maxlength="100" autocomplete="off" dir="auto" autofocus /></label>
    <label class="field"><span>Type</span><select name="type" value=${type} onChange=${(/** @type {any} */ event) => setType(event.target.value)}>${TYPES.map(([name, title]) => html`<option value=${name}>${title}</option>`)}</select></label>
    ${type === "stdio"
      ? html`<label class="field"><span>Program</span><input name="command" required autocomplete="off" dir="ltr" /></label>
        <label class="field"><span>Arguments, one a line</span><textarea name="args" rows="2" dir="ltr" class="mono"></textarea></label>
        <label class="field"><span>Variables, one a line as NAME=value</span><textarea name="env" rows="2" dir="ltr" class="mono"></textarea></label>`
      : html`<label class="field"><span>Address</span><input name="server_url" type="url" required autocomplete="off" dir="ltr" /></label>
        <label class="field"><span>Token, if it wants one</span><input name="token" type="password" autocomplete="off" /></label>
        <label class="field"><span>Headers, one a line as Name: value</span><textarea name="headers" rows="2" dir="ltr" class="mono" autocomplete="off"></textarea></label>`}
    <label class="check"><input type="checkbox" role="switch" name="approval" /><span>A person approves each call of its tools</span></label>
    <p class="small muted">Token, headers and variables are encrypted. They are never shown again, only as ********.</p>
    <div role="status">${told && html`<p class="state busy">${told}</p>`}</div>
    <${Failure} error=${testing.error} advice=${ADVICE} />
  <//>`;
}
