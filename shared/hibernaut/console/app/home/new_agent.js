/** A new agent in three fields. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { get, post } from "../api.js";
import { useLoaded } from "../store.js";
import { Dialog, Failure } from "../ui.js";

/** @typedef {import("../types.js").Agent} Agent */
/** @typedef {import("../types.js").Model} Model */

const HUMAN = "What I know about the person I talk to.";
const PERSONA = "Who I am and how I speak.";

/** @param {{close: () => void, made: (agent: Agent) => void}} props */
export function NewAgent({ close, made }) {
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState(/** @type {unknown} */ (null));
  const models = useLoaded((signal) => /** @type {Promise<Model[]>} */ (get("models/", {}, signal)), []);
  /** @param {SubmitEvent} event */
  const create = async (event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
    setBusy(true);
    try {
      const memory = [
        { label: "persona", value: String(form.get("persona")), description: PERSONA },
        { label: "human", value: "", description: HUMAN },
      ];
      made(await post("agents/", { name: String(form.get("name")), model: form.get("model") || undefined, memory_blocks: memory }));
    } catch (error) {
      setFailed(error);
      setBusy(false);
    }
  };
  return html`<${Dialog} title="New agent" close=${close}>
    <form onSubmit=${create} class="stack">
      <label class="field"><span>Name</span><input name="name" required maxlength="200" autocomplete="off" dir="auto" autofocus /></label>
      <label class="field"><span>Model</span>
        <select name="model">
          ${models.value?.map((model) => html`<option value=${model.handle}>${model.handle}</option>`) ?? html`<option value="">the server's default</option>`}
        </select></label>
      <label class="field"><span>Who is it?</span>
        <textarea name="persona" rows="3" dir="auto" placeholder="For example: a patient guide to my garden, who answers briefly."></textarea></label>
      <${Failure} error=${failed ?? models.error} />
      <div class="row end"><button type="button" onClick=${close}>Cancel</button><button class="primary" disabled=${busy}>${busy ? "Creating …" : "Create"}</button></div>
    </form>
  <//>`;
}
