/** Models that agents may use, and the providers with keys of one's own: add, check, delete. */
import { html, useRef, useState } from "../../vendor/htm-preact-3.1.1.js";
import { call, get, post } from "../api.js";
import { useCommands } from "../commands.js";
import { FormDialog, useAction } from "../forms.js";
import { count } from "../format.js";
import { useLoaded } from "../store.js";
import { Confirm, Failure, Icon, IconButton, Loading, say } from "../ui.js";

/** @typedef {import("../types.js").Model} Model */
/** @typedef {import("../types.js").Provider} Provider */

const PAGE = 50;
const ADVICE = "Check the key and the address with the provider, then try again.";
const TYPES = ["anthropic", "azure", "bedrock", "deepseek", "google_ai", "google_vertex", "groq", "llamacpp", "lmstudio_openai", "minimax", "mistral", "moonshot", "ollama", "openai", "openrouter", "sglang", "together", "vllm", "xai", "zai"];

export function Models() {
  const providers = useLoaded((signal) => /** @type {Promise<Provider[]>} */ (get("providers/", { limit: 1000 }, signal)), []);
  const models = useLoaded(
    (signal) => /** @type {Promise<[Model[], Model[]]>} */ (Promise.all([get("models/", {}, signal), get("models/embedding", {}, signal)])),
    [],
  );
  const [adding, setAdding] = useState(false);
  useCommands(() => [{ name: "Add a provider", hint: "Settings", act: () => setAdding(true) }], []);
  const again = () => (providers.again(), models.again());
  return html`<div class="row head"><div class="grow"><h1>Models</h1><p class="muted small">What agents think with. The server's own providers are set by its environment.</p></div>
      <button type="button" class="primary" onClick=${() => setAdding(true)}><${Icon} name="plus" /> Add a provider</button></div>
    <${Failure} error=${providers.error} again=${providers.again} />
    ${!providers.value && !providers.error && html`<${Loading} label="Loading providers" />`}
    ${providers.value && html`<section class="stack" aria-labelledby="providers"><h2 id="providers">Providers with keys of your own</h2>
      ${providers.value?.length === 0 && html`<p class="empty card">There is none. Add one with its key, and its models stand below.</p>`}
      <ul class="plain sides">${providers.value?.map((one) => html`<${ProviderCard} key=${one.id} provider=${one} changed=${again} />`)}</ul>
    </section>`}
    <${Failure} error=${models.error} again=${models.again} />
    ${(providers.value || providers.error) && !models.value && !models.error && html`<${Loading} label="Asking the providers" />`}
    ${(providers.value || providers.error) && models.value && html`<${ModelTable} title="Language models" models=${models.value[0]} /><${ModelTable} title="Embedding models" models=${models.value[1]} />`}
    ${adding && html`<${NewProvider} close=${() => setAdding(false)} made=${again} />`}`;
}

/** @param {{title: string, models: Model[]}} props */
function ModelTable({ title, models }) {
  const [text, setText] = useState("");
  const [most, setMost] = useState(PAGE);
  const found = models.filter((one) => one.handle.toLowerCase().includes(text.toLowerCase()));
  return html`<section class="stack" aria-label=${title}>
    <div class="row"><h2 class="grow">${title}</h2>${models.length > 8 && html`<label class="search"><span class="sr">Search ${title.toLowerCase()}</span><${Icon} name="search" />
      <input type="search" placeholder="Search by handle" value=${text} onInput=${(/** @type {any} */ event) => (setText(event.target.value), setMost(PAGE))} /></label>`}</div>
    ${found.length === 0 && html`<p class="empty card">${models.length ? "No model fits this search." : "No provider lists such a model. Add a provider, or set one in the server's environment."}</p>`}
    ${found.length > 0 && html`<div class="scroll card table-card" tabindex="0" role="region" aria-label=${`Table of ${title.toLowerCase()}`}><table>
      <thead><tr><th scope="col">Handle</th><th scope="col">Provider</th><th scope="col">${"context_window" in found[0] ? "Window in tokens" : "Dimension"}</th></tr></thead>
      <tbody>${found.slice(0, most).map((one) => html`<tr key=${one.handle}><th scope="row"><code>${one.handle}</code></th><td>${one.provider_name ?? one.provider_type}${one.provider_category === "byok" && html` <span class="tag">your key</span>`}</td><td>${count(one.context_window ?? one.embedding_dim ?? 0)}</td></tr>`)}</tbody>
    </table></div>`}
    ${found.length > most && html`<button type="button" onClick=${() => setMost(most + PAGE)}>More models</button>`}
  </section>`;
}

/** @param {{provider: Provider, changed: () => void}} props */
function ProviderCard({ provider, changed }) {
  const [told, setTold] = useState("");
  const [deleting, setDeleting] = useState(false);
  const [replacing, setReplacing] = useState(false);
  const checking = useAction(async () => {
    setTold("");
    setTold((await post(`providers/${provider.id}/check`)).message);
  });
  const remove = async () => {
    await call("DELETE", `providers/${provider.id}`);
    say("The provider was deleted.");
    changed();
  };
  return html`<li class="card server"><article class="stack" aria-label=${`Provider ${provider.name}`}>
    <div class="row"><h3 class="grow ellipsis" dir="auto">${provider.name}</h3><span class="tag">${provider.provider_type}</span><${IconButton} icon="trash" label="Delete this provider" onClick=${() => setDeleting(true)} /></div>
    ${provider.base_url && html`<p class="small"><code>${provider.base_url}</code></p>`}
    <div class="row"><button type="button" disabled=${checking.busy} onClick=${() => checking.run()}>${checking.busy ? "Checking …" : "Check the key"}</button>
      <button type="button" onClick=${() => setReplacing(true)}>Replace the key</button>
      <span role="status">${told && html`<span class="state busy">${told}</span>`}</span></div>
    <${Failure} error=${checking.error} advice=${ADVICE} close=${checking.clear} />
    ${replacing && html`<${ReplaceKey} provider=${provider} close=${() => setReplacing(false)} made=${() => (setTold(""), checking.clear(), changed())} />`}
    ${deleting && html`<${Confirm} title="Delete this provider?" act="Delete" done=${remove} close=${() => setDeleting(false)} text=${`The key of ${provider.name} is deleted. Agents that use its models keep their messages, but need another model.`} />`}
  </article></li>`;
}

/** Another key in place of the stored one, which is tried first. @param {{provider: Provider, close: () => void, made: () => void}} props */
function ReplaceKey({ provider, close, made }) {
  /** @param {FormData} form */
  const replace = async (form) => {
    const keys = { api_key: form.get("key"), base_url: form.get("address") || null };
    if (form.has("check")) await post("providers/check", { provider_type: provider.provider_type, ...keys });
    await call("PATCH", `providers/${provider.id}`, { body: keys });
    say("The key was replaced.");
    made();
  };
  return html`<${FormDialog} title=${`Replace the key of ${provider.name}`} act="Replace" done=${replace} close=${close}>
    <label class="field"><span>New key</span><input name="key" type="password" required autocomplete="off" autofocus /></label>
    <label class="field"><span>Address, if it is not the provider's own</span><input name="address" type="url" dir="ltr" autocomplete="off" value=${provider.base_url ?? ""} /></label>
    <label class="check"><input type="checkbox" role="switch" name="check" checked /><span>Try the new key first<small>A key that the provider refuses replaces nothing.</small></span></label>
    <p class="small muted">The next model call uses the new key. The old one is overwritten, and neither is shown again.</p>
  <//>`;
}

/** @param {{close: () => void, made: () => void}} props */
function NewProvider({ close, made }) {
  const [told, setTold] = useState("");
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const body = (/** @type {FormData} */ form) => ({ provider_type: form.get("type"), api_key: form.get("key"), base_url: form.get("address") || null });
  const checking = useAction(async (/** @type {HTMLFormElement} */ form) => {
    setTold("");
    if (form.reportValidity()) setTold((await post("providers/check", body(new FormData(form)))).message);
  });
  const add = async (/** @type {FormData} */ form) => {
    await post("providers/", { name: form.get("name"), ...body(form) });
    say("The provider was added.");
    made();
  };
  const check = html`<button type="button" ref=${button} disabled=${checking.busy} onClick=${() => checking.run(/** @type {HTMLFormElement} */ (button.current?.form))}>${checking.busy ? "Checking …" : "Check the key"}</button>`;
  return html`<${FormDialog} title="Add a provider" act="Add" done=${add} close=${close} more=${check}>
    <label class="field"><span>Name: the first part of its models' handles</span><input name="name" required maxlength="100" pattern="[^\\/]+" title="No slash" autocomplete="off" autofocus /></label>
    <label class="field"><span>Type</span><select name="type">${TYPES.map((one) => html`<option value=${one} selected=${one === "openai"}>${one}</option>`)}</select></label>
    <label class="field"><span>Key</span><input name="key" type="password" autocomplete="off" /></label>
    <label class="field"><span>Address, if it is not the provider's own</span><input name="address" type="url" dir="ltr" autocomplete="off" /></label>
    <p class="small muted">The key is encrypted and never shown again.</p>
    <div role="status">${told && html`<p class="state busy">${told}</p>`}</div>
    <${Failure} error=${checking.error} advice=${ADVICE} />
  <//>`;
}
