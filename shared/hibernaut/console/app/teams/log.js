/** What is said in a group: its messages under the names of their speakers, and a box to say something. */
import { html, useEffect, useRef, useState } from "../../vendor/htm-preact-3.1.1.js";
import { call, get, newOtid, post } from "../api.js";
import { useAction } from "../forms.js";
import { textOf } from "../format.js";
import { Markdown } from "../markdown_view.js";
import { useLoaded } from "../store.js";
import { Failure, Icon, Loading, Time, announce, useRepeated } from "../ui.js";
import { everybody } from "./words.js";

/** @typedef {import("../types.js").Message} Message */
/** @typedef {import("../types.js").Run} Run */
/** @typedef {import("./words.js").Group} Group */

const PAGE = 40;
const LOOK = 1500;
const KINDS = new Set(["user_message", "assistant_message", "system_message"]);

/** What people and agents said; the first row of a log is the system prompt of nobody. @param {Message} message */
const isSaid = (message) => KINDS.has(message.message_type) && (message.message_type !== "system_message" || Boolean(message.run_id));

/**
 * @param {{group: Group, runs: Run[], look: () => void}} props  `runs`: those of the group that go on; `look` asks for them again
 */
export function Log({ group, runs, look }) {
  const [most, setMost] = useState(PAGE);
  const active = runs.map((run) => run.id).join();
  const { value, error, again, refresh } = useLoaded((signal) => /** @type {Promise<Message[]>} */ (get(`groups/${group.id}/messages`, { limit: most, order: "desc" }, signal)), [group.id, most, active]);
  useRepeated(() => active && refresh(), LOOK, [active], true);
  const said = (value ?? []).filter(isSaid).sort((one, other) => (one.id < other.id ? -1 : 1));
  const newest = said.at(-1);
  useEffect(() => {
    if (newest?.message_type === "assistant_message" && active) announce(`${newest.name}: ${textOf(newest.content)}`);
  }, [newest?.id]);
  return html`<section class="stack" aria-labelledby="said"><h2 id="said">What was said</h2>
    <${Failure} error=${error} again=${again} />
    ${!value && !error && html`<${Loading} label="Loading what was said" />`}
    ${value?.length === most && html`<button type="button" onClick=${() => setMost(most + PAGE)}>Earlier messages</button>`}
    ${value && said.length === 0 && html`<p class="empty card">Nothing was said yet. ${everybody(group).length ? "Write to the group below." : "Add agents, then write to the group."}</p>`}
    <div class="group-log" role="log" aria-live="off">${said.map((one) => html`<${Said} key=${one.id} message=${one} />`)}</div>
    <${Composer} group=${group} busy=${runs.length > 0} sent=${() => (look(), again())} />
  </section>`;
}

/** @param {{message: Message}} props */
function Said({ message }) {
  const text = textOf(message.content);
  const [who, kind] = message.message_type === "user_message" ? ["You", "user"] : message.message_type === "system_message" ? [message.name ?? "System", "system"] : [message.name ?? "Agent", "assistant"];
  return html`<article class=${`entry ${kind}`} aria-label=${`${who}: ${text.slice(0, 60)}`}>
    <p class="meta"><strong dir="auto">${who}</strong>${message.date && html`<${Time} at=${message.date} />`}</p>
    ${kind === "assistant" ? html`<${Markdown} text=${text} />` : html`<div class="said" dir="auto">${text}</div>`}
  </article>`;
}

/** @param {{group: Group, busy: boolean, sent: () => void}} props */
function Composer({ group, busy, sent }) {
  const [text, setText] = useState("");
  const last = useRef({ text: "", otid: "" });
  const sending = useAction(async () => {
    // A text that is sent again because no answer came keeps its otid, so that the group hears it once.
    if (last.current.text !== text) last.current = { text, otid: newOtid() };
    setText("");
    try {
      await post(`groups/${group.id}/messages/async`, { messages: [{ role: "user", content: text, otid: last.current.otid }] });
    } catch (error) {
      setText((written) => (written ? `${text}\n${written}` : text));
      throw error;
    }
    last.current = { text: "", otid: "" };
    sent();
  });
  const stopping = useAction(async () => {
    await call("POST", `groups/${group.id}/messages/cancel`);
    sent();
  });
  const send = () => text.trim() && !sending.busy && sending.run();
  /** @param {KeyboardEvent} event */
  const pressed = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  };
  return html`<form class="stack" aria-label="Message" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), send())}>
    <${Failure} error=${sending.error ?? stopping.error} close=${sending.error ? sending.clear : stopping.clear} />
    <div class="composer-box"><label class="grow"><span class="sr">Message to the group</span>
        <textarea dir="auto" rows="2" value=${text} placeholder="Write to the group" onInput=${(/** @type {any} */ event) => setText(event.target.value)} onKeyDown=${pressed}></textarea></label>
      ${busy && html`<button type="button" disabled=${stopping.busy} onClick=${() => stopping.run()}><${Icon} name="stop" /> Stop</button>`}
      <button class="primary" disabled=${!text.trim() || sending.busy}><${Icon} name="send" /> Send</button></div>
    <div role="status" class="small muted">${busy && "The group answers …"}</div>
  </form>`;
}
