/** The choice between the conversations of an agent. */
import { html } from "../../vendor/htm-preact-3.1.1.js";
import { get } from "../api.js";
import { moment } from "../format.js";
import { useLoaded } from "../store.js";
import { DEFAULT } from "./session.js";

/** @typedef {import("../types.js").Conversation} Conversation */

/** @param {{agentId: string, current: string, open: (conversation: string) => void}} props */
export function ConversationChoice({ agentId, current, open }) {
  const found = useLoaded(
    (signal) => /** @type {Promise<Conversation[]>} */ (get("conversations/", { agent_id: agentId, limit: 50, order_by: "last_message_at" }, signal)),
    [agentId, current],
  );
  const others = found.value ?? [];
  const known = current === DEFAULT || others.some((one) => one.id === current);
  return html`<label class="inline-field grow"><span class="sr">Conversation</span>
    <select value=${current} onChange=${(/** @type {any} */ event) => open(event.target.value)}>
      <option value=${DEFAULT}>Main conversation</option>
      ${!known && html`<option value=${current}>This conversation</option>`}
      ${others.map((one) => html`<option value=${one.id}>${one.summary || `Conversation of ${moment(one.created_at)}`}</option>`)}
    </select></label>`;
}
