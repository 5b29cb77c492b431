/** Tool policies: which calls are allowed, denied or asked about, in the order in which they are compared. */
import { html } from "../../vendor/htm-preact-3.1.1.js";
import { get } from "../api.js";
import { useLoaded } from "../store.js";
import { Failure, Loading } from "../ui.js";

/** @typedef {import("../types.js").ToolPolicy} ToolPolicy */

const ACTIONS = /** @type {Record<string, [string, string]>} */ ({ allow: ["allows", "busy"], deny: ["denies", "failed"], ask: ["asks a person", "waiting"] });

/** @param {ToolPolicy} policy */
function conditionsOf({ servers, agent_tags: tags, arguments: conditions, rate }) {
  return [
    servers && `of the MCP servers ${servers.join(", ")}`,
    tags && `by agents with the tags ${tags.join(", ")}`,
    ...conditions.map((one) => `where ${one.path || "an argument"} ${one.negate ? "is not" : "is"} ${one.matches.join(" or ")}`),
    rate && `at most ${rate.calls} in ${rate.seconds} s for each ${rate.per}`,
  ].filter(Boolean);
}

export function Policies() {
  const { value, error, again } = useLoaded((signal) => /** @type {Promise<ToolPolicy[]>} */ (get("tool-policies", {}, signal)), []);
  return html`<div><h1>Tool policies</h1><p class="muted small">The first policy that fits a call decides about it. They are changed by the API, at <code>/v1/tool-policies</code>.</p></div>
    <${Failure} error=${error} again=${again} />
    ${!value && !error && html`<${Loading} label="Loading policies" />`}
    ${value?.length === 0 && html`<p class="empty card">There is no policy: agents call the tools that they have. <code>POST /v1/tool-policies</code> adds one.</p>`}
    <ol class="plain stack policies">${value?.map((one) => {
      const [word, kind] = ACTIONS[one.action] ?? [one.action, "asleep"];
      return html`<li key=${one.id} class="card server">
        <div class="row"><h2 class="grow" dir="auto">${one.name}</h2>${!one.enabled && html`<span class="tag">switched off</span>`}<span class=${`state ${kind}`}>${word}</span></div>
        <p>Calls of ${one.tools.map((tool) => html`<code>${tool}</code> `)}${conditionsOf(one).join(", ")}</p>
        ${one.message && html`<p class="muted small" dir="auto">The model reads: ${one.message}</p>`}
      </li>`;
    })}</ol>`;
}
