/** Erasing a person: what it would take, its beginning, and the receipts of those that were begun. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { get, post } from "../api.js";
import { useAction } from "../forms.js";
import { agentPlace } from "../router.js";
import { useLoaded } from "../store.js";
import { Dialog, Failure, Loading, Time, say, useRepeated } from "../ui.js";

/** @typedef {import("../types.js").Identity} Identity */
/** @typedef {import("../types.js").Erasure} Erasure */
/** @typedef {{id: string, name: string, identity_ids: string[]}} Owned */

const MOST = 200;
const PAGE = 20;
const OFTEN = 2000;

/** @param {{identity: Identity, close: () => void, begun: () => void}} props */
export function Erase({ identity, close, begun }) {
  const { value: agents, error, again } = useLoaded((signal) => /** @type {Promise<Owned[]>} */ (get(`identities/${identity.id}/agents`, { limit: MOST }, signal)), [identity.id]);
  const [typed, setTyped] = useState("");
  const erasing = useAction(async () => {
    await post(`identities/${identity.id}/erase`);
    say("The erasure has begun.");
    close();
    begun();
  });
  const whole = agents?.filter((one) => one.identity_ids.length === 1) ?? [];
  const parts = agents?.filter((one) => one.identity_ids.length > 1) ?? [];
  return html`<${Dialog} title=${`Erase ${identity.name}?`} close=${close}>
    <${Failure} error=${error} again=${again} />
    ${!agents && !error && html`<${Loading} label="Looking what belongs to it" />`}
    ${agents && html`<p>This cannot be undone. It would erase:</p>
      <ul class="small"><${Named} agents=${whole} text="whole, with messages, memory, runs and versions" none="no agent as a whole" />
        ${identity.block_ids.length > 0 && html`<li>${identity.block_ids.length === 1 ? "1 block" : `${identity.block_ids.length} blocks`} of this identity, except those that others bear too</li>`}
        <li>what the person said to other agents, and what came of it: answers, passages, later summaries</li></ul>
      ${parts.length > 0 && html`<p>These agents belong to others too. They stay, without what the person said:</p><ul class="small"><${Named} agents=${parts} text="in parts" none="" /></ul>`}
      ${agents.length === MOST && html`<p class="notice warn">Only the first ${MOST} agents are named here. The erasure reaches all of them.</p>`}
      <p class="muted small">What other people said about the person stays: the server cannot tell. A receipt lists what was erased.</p>
      <label class="field"><span>Write <code dir="auto">${identity.identifier_key}</code> to confirm</span><input value=${typed} dir="ltr" autocomplete="off" onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></label>`}
    <${Failure} error=${erasing.error} />
    <div class="row end"><button type="button" onClick=${close}>Cancel</button>
      <button type="button" class="danger" disabled=${!agents || erasing.busy || typed !== identity.identifier_key} onClick=${() => erasing.run()}>Erase for good</button></div>
  <//>`;
}

/** @param {{agents: Owned[], text: string, none: string}} props */
function Named({ agents, text, none }) {
  if (!agents.length) return none ? html`<li>${none}</li>` : null;
  return agents.map((one) => html`<li key=${one.id}>the agent <a href=${agentPlace(one.id)} dir="auto">${one.name}</a>, ${text}</li>`);
}

/** The erasures that were begun, and their receipts. */
export function Erasures() {
  const { value, error, again, refresh } = useLoaded((signal) => /** @type {Promise<Erasure[]>} */ (get("erasures", { limit: PAGE }, signal)), []);
  useRepeated(() => value?.some((one) => one.state === "running") && refresh(), OFTEN, [value], true);
  if (error) return html`<${Failure} error=${error} again=${again} />`;
  if (!value?.length) return null;
  return html`<section class="stack" aria-labelledby="erasures"><h2 id="erasures">Erased people</h2>
    <ul class="plain stack">${value.map((one) => html`<${Receipt} key=${one.id} erasure=${one} />`)}</ul></section>`;
}

/** @param {{erasure: Erasure}} props */
function Receipt({ erasure }) {
  const [open, setOpen] = useState(false);
  const done = erasure.state === "completed";
  return html`<li class="card server"><article class="stack" aria-label=${`Erasure ${erasure.id}`}>
    <div class="row"><code class="grow small ellipsis">${erasure.id}</code><span class=${`state ${done ? "busy" : "waiting"}`}>${done ? "erased" : "being erased"}</span><span class="muted small"><${Time} at=${erasure.started_at} /></span>
      <button type="button" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? "Hide the receipt" : "Receipt"}</button></div>
    ${open && html`<${Lines} key=${erasure.state} id=${erasure.id} />`}
  </article></li>`;
}

/** @param {{id: string}} props */
function Lines({ id }) {
  const { value, error, again } = useLoaded((signal) => /** @type {Promise<Erasure>} */ (get(`erasures/${id}`, {}, signal)), [id]);
  if (error) return html`<${Failure} error=${error} again=${again} />`;
  if (!value) return html`<${Loading} label="Loading the receipt" />`;
  return html`<ul class="small" aria-label="Receipt">${value.receipt.map((line) => html`<li key=${line.id}><code>${line.id}</code>: ${line.extent}</li>`)}</ul>
    ${value.check?.state === "completed" && html`<p class="small">${value.check.found.length ? `A check found ${value.check.found.length} remains.` : "A check found nothing that is left."}</p>`}`;
}
