/** New agents from a template: its name, a version, and what stands for its variables. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { get, post } from "../api.js";
import { FormDialog } from "../forms.js";
import { useLoaded } from "../store.js";
import { Dialog, Failure, Loading } from "../ui.js";

/** @typedef {import("../types.js").Template} Template */
/** @typedef {import("../types.js").TemplateDetails} TemplateDetails */
/** @typedef {import("../types.js").TemplatePage} TemplatePage */

const MOST = 100;

/** @param {{close: () => void, made: (agentIds: string[]) => void}} props */
export function FromTemplate({ close, made }) {
  const { value, error, again } = useLoaded((signal) => /** @type {Promise<TemplatePage>} */ (get("templates", { limit: MOST }, signal)), []);
  const [chosen, setChosen] = useState("");
  const templates = value?.templates;
  if (templates?.length) return html`<${Filled} templates=${templates} name=${chosen || templates[0].name} choose=${setChosen} close=${close} made=${made} />`;
  return html`<${Dialog} title="New agent from a template" close=${close}>
    <${Failure} error=${error} again=${again} />
    ${!value && !error && html`<${Loading} label="Loading templates" />`}
    ${value && html`<p>There is no template yet. Open an agent that others shall be like, and choose “Make a template of this agent” there.</p>`}
  <//>`;
}

/** @param {{templates: Template[], name: string, choose: (name: string) => void, close: () => void, made: (agentIds: string[]) => void}} props */
function Filled({ templates, name, choose, close, made }) {
  const { value, error, again } = useLoaded((signal) => /** @type {Promise<TemplateDetails>} */ (get(`templates/${name}`, {}, signal)), [name]);
  const details = value?.name === name ? value : undefined;
  /** @param {FormData} form */
  const create = async (form) => {
    if (!details) return;
    const given = details.variables.map((one) => [one, String(form.get(`variable-${one}`) ?? "")]).filter(([, text]) => text);
    const tags = String(form.get("tags")).split(",").map((one) => one.trim()).filter(Boolean);
    const agentName = String(form.get("agent") ?? "").trim();
    const body = { memory_variables: Object.fromEntries(given), tags, ...(agentName ? { agent_name: agentName } : {}) };
    made((await post(`templates/${name}:${details.version}/agents`, body)).agent_ids);
  };
  return html`<${FormDialog} title="New agent from a template" act="Create" done=${create} close=${close}>
    <label class="field"><span>Template</span>
      <select value=${name} onChange=${(/** @type {any} */ event) => choose(event.target.value)} autofocus>
        ${templates.map((one) => html`<option value=${one.name}>${one.name}</option>`)}
      </select></label>
    <${Failure} error=${error} again=${again} />
    ${!details && !error && html`<${Loading} label="Loading the template" />`}
    ${details &&
    html`<p class="small muted">Version ${details.version}${details.description && html`: <span dir="auto">${details.description}</span>`}. ${details.agents.length === 1 ? "It makes one agent." : `It makes ${details.agents.length} agents.`}</p>
      ${details.agents.length === 1 && html`<label class="field"><span>Name</span><input name="agent" maxlength="200" autocomplete="off" dir="auto" placeholder=${details.agents[0]} /></label>`}
      ${details.variables.map((one) => html`<label class="field" key=${`${name}-${one}`}><span>${one}</span><input name=${`variable-${one}`} autocomplete="off" dir="auto" /></label>`)}
      <label class="field"><span>Tags, between commas</span><input name="tags" autocomplete="off" dir="auto" /></label>`}
  <//>`;
}
