/** Authorize an MCP server by OAuth: the events of an attempt, and the page where its user answers. */
import { html, useEffect, useState } from "../../vendor/htm-preact-3.1.1.js";
import { open } from "../api.js";
import { eventCutter } from "../sse.js";
import { Dialog, Failure } from "../ui.js";

/** @typedef {import("../types.js").McpServer} McpServer */
/** @typedef {{event: string, message?: string, url?: string, tools?: {name: string}[]}} Told */

const ADVICE = "Check that the server runs, then begin again.";

/**
 * Read the events of an attempt until it ends.
 * @param {string} id
 * @param {(told: Told) => void} heard
 * @param {AbortSignal} signal
 */
async function attempt(id, heard, signal) {
  const response = await open("GET", `mcp-servers/connect/${id}`, { signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const cutter = eventCutter();
  let last = "";
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    for (const data of cutter.push(value)) {
      const told = JSON.parse(data);
      last = told.event;
      heard(told);
    }
  }
  if (last !== "success" && last !== "error") throw new Error("The attempt broke off before it had ended.");
}

/**
 * An address that a person may follow.
 * @param {string | undefined} url
 */
function webAddress(url) {
  try {
    const found = new URL(url ?? "");
    return found.protocol === "https:" || found.protocol === "http:" ? found : null;
  } catch {
    return null;
  }
}

/** @param {{server: McpServer, close: () => void, made: () => void}} props */
export function Connect({ server, close, made }) {
  const [told, setTold] = useState(/** @type {Told | null} */ (null));
  const [page, setPage] = useState(/** @type {URL | null} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [tries, setTries] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    setTold(null);
    setPage(null);
    setError(null);
    const heard = (/** @type {Told} */ one) => {
      if (one.event === "authorization_url") setPage(webAddress(one.url));
      if (one.event === "success" || one.event === "error") setPage(null);
      if (one.event === "success") made();
      setTold(one);
    };
    attempt(server.id, heard, stop.signal).catch((failed) => stop.signal.aborted || setError(failed));
    return () => stop.abort();
  }, [tries]);
  const failed = told?.event === "error";
  const done = told?.event === "success";
  return html`<${Dialog} title=${`Authorize ${server.server_name}`} close=${close}>
    <div class="stack" role="status">
      ${!told && !error && html`<p class="muted">Asking the server …</p>`}
      ${told && !page && !failed && !done && html`<p class="muted">${told.message ?? "Asking the server …"}</p>`}
      ${page && html`<p>${server.server_name} asks for your consent, at <strong dir="ltr">${page.host}</strong>. Open its page, answer there, and come back: this dialog goes on by itself.</p>
        <p><a class="button primary" href=${page.href} target="_blank" rel="noopener noreferrer">Open the page of ${page.host}</a></p>`}
      ${done && html`<p class="state busy">The server is connected. Its tools: ${(told.tools ?? []).map((one) => one.name).join(", ") || "none"}.</p>`}
    </div>
    ${failed && html`<div class="notice bad" role="alert"><div class="grow"><p class="strong">${told.message}</p><p>Begin again, or give the server a token.</p></div></div>`}
    <${Failure} error=${error} advice=${ADVICE} />
    <div class="row end">${(failed || error) && html`<button type="button" onClick=${() => setTries(tries + 1)}>Begin again</button>`}
      <button type="button" class=${done ? "primary" : ""} onClick=${close}>${done ? "Done" : "Cancel"}</button></div>
  <//>`;
}
