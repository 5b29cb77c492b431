/** Memory: the blocks that the model always reads, the files that it opens, and the archive that it searches. */
import { html, useRef, useState } from "../../vendor/htm-preact-3.1.1.js";
import { ApiError, call, get, post } from "../api.js";
import { useCommands } from "../commands.js";
import { FormDialog } from "../forms.js";
import { useLoaded } from "../store.js";
import { Failure, Icon, Loading, say } from "../ui.js";
import { Archive } from "./archive.js";
import { BlockCard } from "./block.js";
import { Files } from "./files.js";

/** @typedef {import("../types.js").Block} Block */

/** @param {{agent: import("../types.js").Agent}} props */
export function Memory({ agent }) {
  const { value: blocks, error, again } = useLoaded(
    (signal) => /** @type {Promise<Block[]>} */ (get(`agents/${agent.id}/core-memory/blocks/`, { limit: 200 }, signal)),
    [agent.id],
  );
  const [adding, setAdding] = useState(false);
  useCommands(() => [{ name: "New block", hint: "Memory", act: () => setAdding(true) }], []);
  return html`<div class="page">
    <section class="stack" aria-labelledby="blocks">
      <div class="row"><div class="grow"><h2 id="blocks">Blocks</h2><p class="muted small">What the model reads before every reply. The agent edits them itself.</p></div>
        <button type="button" onClick=${() => setAdding(true)}><${Icon} name="plus" /> New block</button></div>
      <${Failure} error=${error} again=${again} />
      ${!blocks && !error && html`<${Loading} first label="Loading blocks" />`}
      ${blocks?.length === 0 && html`<p class="empty card">This agent has no blocks.</p>`}
      <div class="memory-grid">${blocks?.map((block) => html`<${BlockCard} key=${block.id} id=${block.id} label=${block.label} agentId=${agent.id} />`)}</div>
    </section>
    <${Files} agent=${agent} />
    <${Archive} agentId=${agent.id} />
    ${adding && html`<${NewBlock} agentId=${agent.id} close=${() => setAdding(false)} made=${again} />`}
  </div>`;
}

/** @param {{agentId: string, close: () => void, made: () => void}} props */
function NewBlock({ agentId, close, made }) {
  /** The block of a try whose attachment got no answer: the agent may have it. */
  const unsure = useRef(/** @type {string | null} */ (null));
  const done = async (/** @type {FormData} */ form) => {
    const fields = { label: form.get("label"), value: form.get("value"), description: form.get("description") || null };
    const block = unsure.current ? await call("PATCH", `blocks/${unsure.current}`, { body: fields }) : await post("blocks/", fields);
    unsure.current = block.id;
    try {
      await call("PATCH", `agents/${agentId}/core-memory/blocks/attach/${block.id}`);
    } catch (error) {
      if (error instanceof ApiError && error.status === 0) throw error;
      unsure.current = null; // It was refused, so nobody has the block, and the next try makes another one.
      await call("DELETE", `blocks/${block.id}`).catch(() => {});
      throw error;
    }
    say("The block was added.");
    made();
  };
  return html`<${FormDialog} title="New block" act="Add" done=${done} close=${close}>
    <label class="field"><span>Label</span><input name="label" required pattern="[a-zA-Z0-9_\\/\\-]+" title="Letters, digits, - _ and /" autocomplete="off" autofocus /></label>
    <label class="field"><span>What it is for</span><input name="description" dir="auto" /></label>
    <label class="field"><span>Value</span><textarea name="value" rows="4" dir="auto"></textarea></label>
  <//>`;
}
