/** Context: what the next run will send to the model, by parts, with their sizes, prices and exact texts; what a compaction would drop; what was cached. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { get } from "../api.js";
import { count, dollars } from "../format.js";
import { Code } from "../markdown_view.js";
import { useLoaded } from "../store.js";
import { Failure, Loading } from "../ui.js";
import { CachedShare } from "./cached.js";
import { Forecast } from "./forecast.js";

/** @typedef {{name: string, tokens: number, text: string}} Part */
/** @typedef {{input: number, cached_input: number | null, price_list_date: string}} Price  in USD for a million tokens */

const MILLION = 1e6;

/**
 * The parts of a window in the order in which the model reads them.
 * @param {any} window
 * @returns {Part[]}
 */
export function partsOf(window) {
  const json = (/** @type {unknown} */ value) => JSON.stringify(value, null, 2);
  const found = [
    { name: "Tools", tokens: window.num_tokens_functions_definitions, text: json(window.functions_definitions ?? []) },
    { name: "System prompt", tokens: window.num_tokens_system, text: window.system_prompt },
    { name: "Blocks", tokens: window.num_tokens_core_memory, text: window.core_memory },
    { name: "Open files", tokens: window.num_tokens_directories + window.num_tokens_memory_filesystem, text: [window.directories, window.memory_filesystem].filter(Boolean).join("\n") },
    { name: "Tool rules", tokens: window.num_tokens_tool_usage_rules, text: window.tool_usage_rules ?? "" },
    { name: "About the rest of memory", tokens: window.num_tokens_external_memory_summary, text: window.external_memory_summary },
    { name: "Summary", tokens: window.num_tokens_summary_memory, text: window.summary_memory ?? "" },
    { name: "Messages", tokens: window.num_tokens_messages, text: json(window.messages) },
  ];
  return found.filter((part) => part.tokens > 0);
}

/** @param {{agent: import("../types.js").Agent}} props */
export function Context({ agent }) {
  const { value, error, again } = useLoaded((signal) => get(`agents/${agent.id}/context`, {}, signal), [agent.id]);
  const [open, setOpen] = useState(/** @type {string | null} */ (null));
  if (error) return html`<div class="page"><${Failure} error=${error} again=${again} /></div>`;
  if (!value) return html`<div class="page"><${Loading} label="Counting tokens" /></div>`;
  const size = value.context_window_size_max;
  const parts = partsOf(value);
  const used = value.context_window_size_current;
  const share = (/** @type {number} */ tokens) => `${((tokens / size) * 100).toFixed(1)} %`;
  const price = /** @type {Price | null} */ (value.price ?? null);
  const shownPart = parts.find((part) => part.name === open);
  return html`<div class="page">
    <div class="row"><div class="grow"><h2>Context</h2><p class="muted small">What the next run sends to the model, with ${count(value.num_messages)} messages.</p></div>
      <button type="button" onClick=${again}>Count again</button></div>
    <div class="window" role="img" aria-label=${parts.map((part) => `${part.name} ${share(part.tokens)}`).join(", ")}>
      ${parts.map((part, place) => html`<span class=${`part p${place % 8}`} style=${{ flexGrow: part.tokens }}></span>`)}
    </div>
    <div class="meter small muted"><progress max=${size} value=${Math.min(used, size)} aria-label="Used of the window"></progress><span>${count(used)} of ${count(size)} tokens</span></div>
    ${value.context_window_note && html`<p class="small">${value.context_window_note}</p>`}
    <${Priced} price=${price} tokens=${used} />
    <div class="scroll" tabindex="0" role="region" aria-label="Parts of the window"><table class="parts">
      <thead><tr><th scope="col">Part</th><th scope="col">Tokens</th><th scope="col">Of the window</th><th scope="col">Of what is sent</th><th scope="col">Price</th><th scope="col">Text</th></tr></thead>
      <tbody>${parts.map(
        (part, place) => html`<tr><th scope="row"><span class=${`swatch p${place % 8}`} aria-hidden="true"></span> ${part.name}</th><td>${count(part.tokens)}</td><td>${share(part.tokens)}</td>
          <td>${((part.tokens / Math.max(used, 1)) * 100).toFixed(1)} %</td>
          <td>${price ? dollars((part.tokens * price.input) / MILLION) : "—"}</td>
          <td><button type="button" aria-label=${`${open === part.name ? "Hide" : "Show"} ${part.name}`} aria-expanded=${open === part.name} onClick=${() => setOpen(open === part.name ? null : part.name)}>${open === part.name ? "Hide" : "Show"}</button></td></tr>`,
      )}</tbody>
    </table></div>
    ${shownPart && html`<${Code} label=${`Text of ${shownPart.name}`} language=${shownPart.name} text=${shownPart.text} />`}
    <${Forecast} agentId=${agent.id} at=${value} />
    <${CachedShare} agentId=${agent.id} at=${value} />
  </div>`;
}

/** What one call with this prompt costs, without the reply. @param {{price: Price | null, tokens: number}} props */
function Priced({ price, tokens }) {
  if (!price) return html`<p class="muted small">The price of this model is unknown, so no part has one.</p>`;
  return html`<p class="muted small">Each call with this prompt costs ${dollars((tokens * price.input) / MILLION)}${price.cached_input === null ? "" : `, or ${dollars((tokens * price.cached_input) / MILLION)} if the provider has all of it in its cache`}.
    By the price list of ${price.price_list_date}, without the reply.</p>`;
}
