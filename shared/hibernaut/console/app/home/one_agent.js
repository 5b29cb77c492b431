/** Home of a key that reaches some agents only: no list may be read with it, so the person names an agent. */
import { html } from "../../vendor/htm-preact-3.1.1.js";
import { agentPlace, go } from "../router.js";

/** @param {{error: import("../api.js").ApiError}} props */
export function OneAgent({ error }) {
  const open = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    go(agentPlace(String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("agent")).trim()));
  };
  return html`<form class="card stack" onSubmit=${open}>
    <h2>This key reaches some agents only.</h2>
    <p>The server shows no list of agents with it. Open one of its agents by the id that came with the key.</p>
    <label class="field"><span>Id of an agent</span><input name="agent" required pattern="agent-\\S+" title="agent- and what follows" placeholder="agent-…" autocomplete="off" autofocus /></label>
    <p class="muted small">${error.message}</p>
    <div class="row end"><button class="primary">Open</button></div>
  </form>`;
}
