/** Which policy would decide a call, and why those before it do not fit. Nothing is called. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { post } from "../api.js";
import { useAction } from "../forms.js";
import { Dialog, Failure } from "../ui.js";

/** @typedef {{outcome: "allow" | "deny" | "ask" | null, policy: import("../types.js").ToolPolicy | null, told: string | null, checked: {policy_id: string, name: string, matches: boolean, reason: string}[]}} Tested */

const WORDS = { allow: ["allowed", "busy"], deny: ["denied", "failed"], ask: ["asked about", "waiting"] };

/** @param {FormDataEntryValue | null} text */
function argumentsOf(text) {
  try {
    return JSON.parse(String(text));
  } catch (error) {
    throw new Error(`The arguments are no JSON: ${error instanceof Error ? error.message : error}`);
  }
}

/** @param {{close: () => void}} props */
export function PolicyTest({ close }) {
  const [found, setFound] = useState(/** @type {Tested | null} */ (null));
  const testing = useAction(async (/** @type {FormData} */ form) => {
    setFound(null);
    const agent = String(form.get("agent")).trim();
    setFound(await post("tool-policies/test", { tool: String(form.get("tool")).trim(), args: argumentsOf(form.get("args")), ...(agent ? { agent_id: agent } : {}) }));
  });
  /** @param {SubmitEvent} event */
  const submit = (event) => {
    event.preventDefault();
    testing.run(new FormData(/** @type {HTMLFormElement} */ (event.target)));
  };
  return html`<${Dialog} title="Which policy decides a call?" close=${close}>
    <form class="stack" onSubmit=${submit}>
      <label class="field"><span>Tool</span><input name="tool" required dir="ltr" class="mono" autocomplete="off" autofocus /></label>
      <label class="field"><span>Arguments, as JSON</span><textarea name="args" rows="3" required dir="ltr" class="mono" defaultValue="{}"></textarea></label>
      <label class="field"><span>Id of the agent (empty: none)</span><input name="agent" dir="ltr" class="mono" autocomplete="off" /></label>
      <${Failure} error=${testing.error} />
      <div role="status">${found && html`<${Outcome} found=${found} />`}</div>
      <div class="row end"><button type="button" onClick=${close}>Close</button><button class="primary" disabled=${testing.busy}>Test</button></div>
    </form>
  <//>`;
}

/** @param {{found: Tested}} props */
function Outcome({ found }) {
  if (!found.outcome) return html`<p>No policy fits this call: the agent's own rules decide.</p><${Checked} found=${found} />`;
  const [word, kind] = WORDS[found.outcome];
  return html`<p>The call is <span class=${`state ${kind}`}>${word}</span> by <strong dir="auto">${found.policy?.name}</strong>.</p>
    ${found.told && html`<p class="small">The model reads: <span dir="auto">${found.told}</span></p>`}<${Checked} found=${found} />`;
}

/** @param {{found: Tested}} props */
function Checked({ found }) {
  const before = found.checked.filter((one) => !one.matches);
  return before.length ? html`<ul class="small">${before.map((one) => html`<li key=${one.policy_id}><span dir="auto">${one.name}</span>: ${one.reason}</li>`)}</ul>` : null;
}
