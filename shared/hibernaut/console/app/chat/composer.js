/** Where a person writes: the message with its images, its role, what happens if the agent is busy, the queue, and the same request as code. */
import { html, useEffect, useRef, useState } from "../../vendor/htm-preact-3.1.1.js";
import { useCommands } from "../commands.js";
import { textOf } from "../format.js";
import { Icon, IconButton, Time } from "../ui.js";
import { Attachments, useAttachments } from "./attachments.js";
import { RULE, contentOf, imagesOf, lineOf } from "./images.js";
import { Snippets } from "./snippets.js";

const ROWS = 10;

/**
 * @param {{agent: import("../types.js").Agent, session: import("./session.js").ChatSession, conversation: string, waiting: boolean}} props
 */
export function Composer({ agent, session, conversation, waiting }) {
  const [text, setText] = useState("");
  const [role, setRole] = useState(/** @type {"user" | "system"} */ ("user"));
  const [whenBusy, setWhenBusy] = useState(/** @type {"queue" | "interrupt"} */ ("queue"));
  const [showing, setShowing] = useState(false);
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useEffect(() => area.current?.focus({ preventScroll: true }), []);
  useCommands(() => [{ name: "Copy this message as curl or code", hint: "Chat", act: () => setShowing(true) }], []);
  const attachments = useAttachments(() => area.current?.focus());
  const { images, setImages } = attachments;
  const speaker = images.length ? "user" : role; // Images are what a person shows.
  const empty = !text.trim() && !images.length;
  /** @param {import("./images.js").Content} content */
  const takeBack = (content) => {
    const back = textOf(content);
    setText((old) => (old.trim() && back ? `${old}\n${back}` : back || old));
    setImages((old) => [...old, ...imagesOf(content)]);
  };
  useEffect(() => {
    if (session.unsent === null) return;
    if (empty) takeBack(session.unsent);
    session.unsent = null;
  });
  const send = () => {
    if (empty) return;
    session.send(contentOf(text, images), speaker, whenBusy);
    setText("");
    setImages([]);
    area.current?.focus();
  };
  /** Take a message out of the queue, and into the box again. @param {import("./session.js").Live} queued */
  const edit = async ({ runId, sent }) => {
    if (!sent?.content || !(await session.cancel([runId]))) return;
    takeBack(sent.content);
    area.current?.focus();
  };
  /** @param {KeyboardEvent} event */
  const pressed = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  };
  const choose = (/** @type {(value: any) => void} */ set) => (/** @type {any} */ event) => set(event.target.value);
  return html`<form class="composer" aria-label="Message" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), send())}>
    <${Queue} session=${session} edit=${edit} />
    <${Attachments} of=${attachments} />
    <div class="composer-box">
      <label class="grow"><span class="sr">Message to ${agent.name}</span>
        <textarea ref=${area} dir="auto" rows=${Math.min(ROWS, Math.max(2, text.split("\n").length))} value=${text} onInput=${choose(setText)} onKeyDown=${pressed} onPaste=${attachments.pasted}
          placeholder=${waiting ? "A call waits for your answer above" : "Write a message"}></textarea></label>
      ${session.busy && html`<button type="button" disabled=${session.stopping} onClick=${() => session.stop()}><${Icon} name="stop" /> ${session.stopping ? "Stopping" : "Stop"}</button>`}
      <${IconButton} icon="image" label="Attach images" title=${`Attach images: ${RULE}`} onClick=${attachments.choose} />
      <button class="primary" disabled=${empty}><${Icon} name="send" /> Send</button>
    </div>
    <div class="row small">
      <label class="inline-field"><span>As</span><select value=${speaker} disabled=${images.length > 0} onChange=${choose(setRole)}><option value="user">user</option><option value="system">system</option></select></label>
      <label class="inline-field"><span>If busy</span><select value=${whenBusy} onChange=${choose(setWhenBusy)}><option value="queue">wait</option><option value="interrupt">interrupt</option></select></label>
      <span class="grow"></span>
      <${IconButton} icon="copy" label="This message as curl or code" onClick=${() => setShowing(true)} />
    </div>
    ${showing && html`<${Snippets} agentId=${agent.id} conversation=${conversation} content=${empty ? "Hello" : contentOf(text, images)} role=${speaker} close=${() => setShowing(false)} />`}
  </form>`;
}

/** What waits behind the run that goes on. @param {{session: import("./session.js").ChatSession, edit: (one: import("./session.js").Live) => void}} props */
function Queue({ session, edit }) {
  const queued = session.live.filter((one) => one.waits);
  if (!queued.length) return null;
  return html`<ul class="plain queue" aria-label="Queue">
    ${queued.map(
      (one) => html`<li class="row"><span class="grow ellipsis" dir="auto">Waits: ${lineOf(one.sent?.content) || "a message"}</span>
        ${one.sent?.date && html`<${Time} at=${one.sent.date} />`}
        ${one.sent?.content && html`<button type="button" disabled=${!one.runId} onClick=${() => edit(one)}>Edit</button>`}
        <${IconButton} icon="close" label="Take this message out of the queue" disabled=${!one.runId} onClick=${() => session.cancel([one.runId])} /></li>`,
    )}
  </ul>`;
}
