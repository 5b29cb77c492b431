/** API keys: made once, shown once, revoked. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { call, key, post } from "../api.js";
import { useCommands } from "../commands.js";
import { FormDialog } from "../forms.js";
import { moment } from "../format.js";
import { Confirm, CopyButton, Dialog, Icon, Loading, Time, say } from "../ui.js";
import { AdminFailure, usePages } from "./parts.js";

/** @typedef {import("../types.js").ApiKey} ApiKey */

const PAGE = 100;
/** @type {[number, string][]} */
const GRACES = [[0, "no time at all"], [3600, "an hour"], [86400, "a day"], [604800, "a week"]];

export function Keys() {
  const keys = usePages("api-keys", PAGE, "id");
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState(/** @type {ApiKey | null} */ (null));
  const [rotating, setRotating] = useState(/** @type {ApiKey | null} */ (null));
  const [revoking, setRevoking] = useState(/** @type {ApiKey | null} */ (null));
  useCommands(() => [{ name: "New API key", hint: "Settings", act: () => setMaking(true) }], []);
  const { value, error, again } = keys;
  /** @param {FormData} form */
  const create = async (form) => {
    const day = String(form.get("expires"));
    setMade(await post("api-keys", { name: form.get("name"), scope: form.get("scope"), ...(day ? { expires_at: `${day}T23:59:59Z` } : {}) }));
    again();
  };
  /** @param {FormData} form */
  const rotate = async (form) => {
    const fresh = await post(`api-keys/${rotating?.id}/rotate`, { grace_seconds: Number(form.get("grace")) });
    if (rotating && form.has("use")) key.set(fresh.key);
    setMade(fresh);
    again();
  };
  const revoke = async () => {
    await call("DELETE", `api-keys/${revoking?.id}`);
    say("The key was revoked.");
    again();
  };
  return html`<div class="row head"><div class="grow"><h1>API keys</h1><p class="muted small">Programs and people sign their requests with them. A key is shown when it is made, and never again.</p></div>
      ${value && html`<button type="button" class="primary" onClick=${() => setMaking(true)}><${Icon} name="plus" /> New key</button>`}</div>
    <${AdminFailure} error=${error} again=${again} what="keys" command="hibernaut keys list" />
    ${!value && !error && html`<${Loading} label="Loading keys" />`}
    ${value && html`<div class="scroll card table-card" tabindex="0" role="region" aria-label="API keys"><table>
      <thead><tr><th scope="col">Name</th><th scope="col">Scope</th><th scope="col">Begins with</th><th scope="col">Last used</th><th scope="col">State</th><th scope="col">Action</th></tr></thead>
      <tbody>${value.map((one) => html`<${Row} key=${one.id} one=${one} rotate=${() => setRotating(/** @type {ApiKey} */ (one))} revoke=${() => setRevoking(/** @type {ApiKey} */ (one))} />`)}</tbody>
    </table></div>`}
    ${keys.more && html`<button type="button" onClick=${keys.more}>More keys</button>`}
    ${making &&
    html`<${FormDialog} title="New API key" act="Create" done=${create} close=${() => setMaking(false)}>
      <label class="field"><span>Name</span><input name="name" maxlength="100" required autocomplete="off" dir="auto" autofocus /></label>
      <label class="field"><span>It may</span><select name="scope"><option value="read">read</option><option value="write" selected>read and write</option><option value="admin">everything, keys and budgets too</option></select></label>
      <label class="field"><span>Last day (UTC), if it ends</span><input name="expires" type="date" /></label>
    <//>`}
    ${rotating &&
    html`<${FormDialog} title=${`Replace the key ${rotating.name || rotating.id}`} act="Replace" done=${rotate} close=${() => setRotating(null)}>
      <p>A new key with the same scope and the same agents is made. The old one works until the time below is over.</p>
      <label class="field"><span>The old key still works for</span><select name="grace" autofocus>${GRACES.map(([seconds, title]) => html`<option value=${seconds} selected=${seconds === 86400}>${title}</option>`)}</select></label>
      ${isOwn(rotating) && html`<label class="check"><input type="checkbox" role="switch" name="use" checked /><span>This tab goes on with the new key<small>Its own key begins as this one does.</small></span></label>`}
    <//>`}
    ${made?.key && html`<${Dialog} title="Your new key" close=${() => setMade(null)}>
      <p class="notice warn"><${Icon} name="alert" />Copy it now: it is not shown again.</p>
      <p class="row"><code class="grow secret">${made.key}</code><${CopyButton} text=${made.key} label="Copy the key" /></p>
      <div class="row end"><button type="button" class="primary" onClick=${() => setMade(null)}>I have it</button></div>
    <//>`}
    ${revoking && html`<${Confirm} title="Revoke this key?" act="Revoke" done=${revoke} close=${() => setRevoking(null)}
      text=${`Programs with the key ${revoking.name || revoking.id} are refused within 5 seconds. This cannot be undone.`} />`}`;
}

/** @param {any} one @returns {[string, string]} */
function stateOf(one) {
  if (one.revoked_at) return ["revoked", "asleep"];
  if (one.expires_at && new Date(one.expires_at) <= new Date()) return ["expired", "asleep"];
  return [one.expires_at ? `until ${moment(one.expires_at)}` : "in use", one.replaced_by ? "waiting" : "busy"];
}

/** Whether this tab may use the key. @param {any} one */
const isOwn = (one) => Boolean(key.get()?.startsWith(one.hint));

/** @param {{one: any, rotate: () => void, revoke: () => void}} props */
function Row({ one, rotate, revoke }) {
  const [word, kind] = stateOf(one);
  const limits = [...one.agent_ids, ...one.agent_tags.map((/** @type {string} */ tag) => `#${tag}`)];
  return html`<tr><th scope="row" dir="auto">${one.name || one.id}</th>
    <td>${one.scope}${limits.length > 0 && html`<br /><span class="muted small">for ${limits.join(", ")}</span>`}</td><td><code>${one.hint}…</code></td>
    <td>${one.last_used_at ? html`<${Time} at=${one.last_used_at} />` : "never"}</td><td><span class=${`state ${kind}`}>${word}</span></td>
    <td>${!one.revoked_at && html`<span class="row tight">${word !== "expired" && !one.replaced_by && html`<button type="button" aria-label=${`Replace ${one.name || one.id}`} onClick=${rotate}>Replace</button>`}
      <button type="button" class="danger" aria-label=${`Revoke ${one.name || one.id}`} onClick=${revoke}>Revoke</button></span>`}</td></tr>`;
}
