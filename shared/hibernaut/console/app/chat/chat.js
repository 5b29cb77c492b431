/** Chat: the log of a conversation, what waits for a person in it, and the composer. */
import { html, useEffect, useMemo, useState } from "../../vendor/htm-preact-3.1.1.js";
import { post } from "../api.js";
import { useCommands } from "../commands.js";
import { textOf } from "../format.js";
import { useAction } from "../forms.js";
import { agentPlace, go } from "../router.js";
import { useStore } from "../store.js";
import { Failure, IconButton, Loading, announce, say, useRepeated } from "../ui.js";
import { Approvals } from "./approval.js";
import { Composer } from "./composer.js";
import { ConversationChoice } from "./conversations.js";
import { Find } from "./find.js";
import { Log } from "./log.js";
import { ChatSession, DEFAULT } from "./session.js";

const LOOK = 5000;

/** @param {{agent: import("../types.js").Agent, query: URLSearchParams}} props */
export function Chat({ agent, query }) {
  const conversation = query.get("conversation") ?? DEFAULT;
  return html`<${Conversation} key=${conversation} agent=${agent} conversation=${conversation} target=${query.get("message")} />`;
}

/** @param {{agent: import("../types.js").Agent, conversation: string, target: string | null}} props */
function Conversation({ agent, conversation, target }) {
  const session = useMemo(() => new ChatSession(agent.id, conversation), []);
  const version = useStore(session.changed);
  const [finding, setFinding] = useState(false);
  const open = (/** @type {string} */ other, /** @type {string | undefined} */ message = undefined) =>
    go(agentPlace(agent.id, "chat", { ...(other === DEFAULT ? {} : { conversation: other }), ...(message ? { message } : {}) }));
  useEffect(() => {
    session.load();
    return () => session.close();
  }, []);
  useEffect(() => {
    if (target && session.loaded && !session.knows(target)) session.loadAround(target);
  }, [target, session.loaded]);
  useRepeated(() => session.look(), LOOK, []);
  useEffect(() => {
    const look = () => session.look();
    addEventListener("focus", look);
    return () => removeEventListener("focus", look);
  }, []);
  useSaid(session);
  const begin = async () => open((await post("conversations/", {}, { agent_id: agent.id })).id);
  const fork = async () => {
    open(await session.fork());
    say("This is a copy of the conversation. It goes its own way from here.");
  };
  const opening = useAction((/** @type {() => Promise<void>} */ act) => act().catch((error) => session.fail(error)));
  useCommands(
    () => [
      { name: "New conversation", hint: "Chat", act: () => opening.run(begin) },
      { name: "Fork this conversation", hint: "Chat", act: () => opening.run(fork) },
      { name: "Search this agent's messages", hint: "Chat", act: () => setFinding(true) },
      { name: "Stop the run", hint: "Chat", act: () => session.stop() },
    ],
    [],
  );
  const waiting = session.waiting;
  return html`<div class="chat-place">
    <div class="chat-bar">
      <${ConversationChoice} agentId=${agent.id} current=${conversation} open=${open} />
      <${IconButton} icon="plus" label="New conversation" disabled=${opening.busy} onClick=${() => opening.run(begin)} />
      <${IconButton} icon="fork" label="Fork this conversation" disabled=${opening.busy} onClick=${() => opening.run(fork)} />
      <${IconButton} icon="search" label="Search this agent's messages" onClick=${() => setFinding(true)} />
    </div>
    ${!session.loaded && !session.error && html`<${Loading} label="Loading the conversation" />`}
    <${Log} session=${session} version=${version} target=${target}>
      ${session.loaded && !session.history.entries.some((one) => one.kind === "said" && one.who !== "system") && !session.busy && html`<p class="empty">Say something. What the agent learns from it shows under Memory.</p>`}
      ${waiting.length > 0 && html`<${Approvals} key=${waiting[0].callId} calls=${waiting} answer=${(/** @type {any} */ decisions, /** @type {any} */ tools) => session.answer(decisions, tools)} />`}
      <${Failure} error=${session.error} again=${() => session.load()} />
    <//>
    ${(session.hasNewer || target) && html`<button type="button" class="latest" onClick=${() => (open(conversation), session.load())}>To the newest message</button>`}
    <${Composer} agent=${agent} session=${session} conversation=${conversation} waiting=${waiting.length > 0} />
    ${finding && html`<${Find} agentId=${agent.id} close=${() => setFinding(false)} show=${(/** @type {any} */ hit) => (setFinding(false), open(hit.conversation_id ?? DEFAULT, hit.message_id))} />`}
  </div>`;
}

/**
 * Tell screen readers what a run has said when it has ended, instead of each token.
 * @param {ChatSession} session
 */
function useSaid(session) {
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    if (busy && !session.busy) {
      const waiting = session.waiting[0];
      const last = session.history.entries.findLast((one) => one.kind === "said" && one.who === "assistant");
      if (waiting) announce(`${waiting.name} waits for your answer.`);
      else if (last?.kind === "said") announce(`The agent has answered: ${textOf(last.content).slice(0, 120)}`);
    }
    setBusy(session.busy);
  });
}
