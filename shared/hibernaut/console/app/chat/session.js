/**
 * One conversation as it is loaded, followed and answered. It knows the API and the transcript; it must not know any view.
 *
 * The log's messages and the streams of open runs are kept apart: a run that is followed is shown from its stream alone, from its first event,
 * so a reload in the middle shows it once. What changes is told at most once for each frame of the screen.
 */
import { ApiError, call, get, newOtid, post } from "../api.js";
import { store } from "../store.js";
import { follow } from "../sse.js";
import { Transcript } from "./transcript.js";

/** @typedef {import("../types.js").Message} Message */
/** @typedef {import("../types.js").Run} Run */
/** @typedef {import("./transcript.js").Entry} Entry */
/** @typedef {import("./transcript.js").Call} Call */
/**
 * A run that is followed. `known` resolves once its id is known, or it is followed no longer. `stopping`: it is to end, but has not ended yet.
 * @typedef {{runId: string | null, transcript: Transcript, sent: Message | null, waits: boolean, stopping: boolean, known: Promise<void>, know: () => void}} Live
 */
/** @typedef {"queue" | "interrupt"} WhenBusy */
/** @typedef {import("./images.js").Content} Content */
/** @typedef {import("./approval.js").Decision} Decision */

export const DEFAULT = "default";
const PAGE = 60;

/** @param {string | null} runId @param {Message | null} sent @param {boolean} waits @returns {Live} */
function followed(runId, sent, waits) {
  let know = () => {};
  const known = /** @type {Promise<void>} */ (new Promise((resolve) => (know = resolve)));
  if (runId !== null) know();
  return { runId, transcript: new Transcript(), sent, waits, stopping: false, known, know };
}

export class ChatSession {
  /**
   * @param {string} agentId
   * @param {string} conversationId  `default`: the agent's own
   */
  constructor(agentId, conversationId) {
    this.agentId = agentId;
    this.conversationId = conversationId;
    /** Told after each change, once for each frame. */
    this.changed = store(0);
    /** @type {Message[]} */
    this.messages = [];
    /** How many entries have come before the first page, so that those below keep their places. */
    this.prepended = 0;
    this.history = new Transcript();
    /** @type {Live[]} */
    this.live = [];
    /** Errors of the run that ended last, which the log does not have. @type {Entry[]} */
    this.notes = [];
    /** Events of followed runs about calls that the log's part shows. @type {Message[]} */
    this.crossing = [];
    this.loaded = false;
    this.hasOlder = true;
    this.hasNewer = false;
    this.loadingOlder = false;
    /** @type {unknown} */
    this.error = null;
    /** The content of a message that the server refused. @type {Content | null} */
    this.unsent = null;
    this.stopped = new AbortController();
    this.drawing = false;
    /** How often the newest page was asked for, and the newest of these questions that was answered. */
    this.looks = { asked: 0, answered: 0 };
  }

  /** The newest page of the log, and the runs that are open. */
  async load() {
    const before = this.error; // A message may be refused while the log is on its way.
    try {
      const [messages, runs] = await Promise.all([this.newest(), this.openRuns()]);
      if (messages) {
        this.messages = messages;
        this.hasOlder = messages.length > 0;
        this.hasNewer = false;
        this.prepended = 0;
      }
      if (this.error === before) this.error = null;
      this.loaded = true;
      this.rebuild();
      await Promise.all(this.live.map((one) => one.known)); // A message may be sent meanwhile: its run is followed already.
      for (const run of runs) if (!this.live.some((one) => one.runId === run.id)) this.attend(run.id, run.status === "created");
    } catch (error) {
      this.fail(error);
    }
  }

  /**
   * A page of the log, oldest first.
   * @param {Record<string, string>} cursor
   * @returns {Promise<Message[]>}
   */
  async page(cursor, order = "desc") {
    const found = await get(`${this.place}/messages`, { ...cursor, order, limit: PAGE }, this.stopped.signal);
    return order === "desc" ? found.reverse() : found;
  }

  /** The newest page of the log, or null: a page that was asked for later has come before it. */
  async newest() {
    const look = ++this.looks.asked;
    const messages = await this.page({});
    if (look < this.looks.answered) return null;
    this.looks.answered = look;
    return messages;
  }

  /** The route of the conversation. The agent's own is named by the agent's id, because a key for some agents reaches it by that name only. */
  get place() {
    return `conversations/${this.conversationId === DEFAULT ? this.agentId : this.conversationId}`;
  }

  /** @returns {Promise<Run[]>} */
  async openRuns() {
    const found = /** @type {Run[]} */ (await get("runs/", { agent_id: this.agentId, active: true, order: "asc", limit: 100 }, this.stopped.signal));
    return found.filter((run) => (run.conversation_id ?? DEFAULT) === this.conversationId);
  }

  async loadOlder() {
    const first = this.messages[0];
    if (!first || !this.hasOlder || this.loadingOlder) return;
    this.loadingOlder = true;
    try {
      const older = await this.page({ before: first.id });
      this.hasOlder = older.length > 0;
      const before = this.history.entries.length;
      this.messages = [...older, ...this.messages];
      this.rebuild();
      this.prepended += this.history.entries.length - before;
    } catch (error) {
      this.fail(error);
    }
    this.loadingOlder = false;
    this.draw();
  }

  /**
   * Show the log around a message that was found.
   * @param {string} messageId
   */
  async loadAround(messageId) {
    try {
      const [older, newer] = await Promise.all([this.page({ before: messageId }), this.page({ after: messageId }, "asc")]);
      const found = /** @type {Message[]} */ (await get(`messages/${messageId}`, {}, this.stopped.signal));
      this.messages = [...older, ...found, ...newer];
      this.hasOlder = older.length > 0;
      this.hasNewer = newer.length >= PAGE;
      this.prepended = 0;
      this.rebuild();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Look whether somebody else has written since. */
  async look() {
    if (!this.loaded || this.busy || this.hasNewer) return;
    const newest = await get(`${this.place}/messages`, { limit: 1 }, this.stopped.signal).catch(() => []);
    if (newest.length && !this.knows(newest[0].id) && !this.busy) await this.load();
  }

  /** @param {string} messageId */
  knows(messageId) {
    return this.messages.some((one) => one.id === messageId);
  }

  get busy() {
    return this.live.length > 0;
  }

  /** The calls that wait for a person. */
  get waiting() {
    return this.busy ? [] : this.history.waiting();
  }

  /** What the log shows, and below it what is followed. @returns {Entry[]} */
  get liveEntries() {
    return this.live.flatMap((one) => one.transcript.entries);
  }

  /**
   * Send a message.
   * @param {Content} content
   * @param {"user" | "system"} role
   * @param {WhenBusy} whenBusy
   */
  send(content, role, whenBusy) {
    const otid = newOtid();
    const sent = /** @type {Message} */ ({ id: otid, message_type: `${role}_message`, content, otid, date: new Date().toISOString() });
    this.begin([{ type: "message", role, content, otid }], sent, whenBusy);
  }

  /**
   * Answer all calls that wait. The client's tools stay the model's for the run that goes on.
   * @param {Decision[]} approvals
   * @param {import("../types.js").RunApproval["client_tools"]} clientTools
   */
  answer(approvals, clientTools) {
    this.messages = [...this.messages, { id: `answer-${Date.now()}`, message_type: "approval_response_message", approvals }];
    this.begin([{ type: "approval", approvals, otid: newOtid() }], null, "queue", clientTools.length ? { client_tools: clientTools } : {});
  }

  /** @param {object[]} messages @param {Message | null} sent @param {WhenBusy} whenBusy @param {object} [more] */
  begin(messages, sent, whenBusy, more = {}) {
    this.error = null;
    this.notes = [];
    const own = this.conversationId === DEFAULT;
    const path = own ? `agents/${this.agentId}/messages/stream` : `conversations/${this.conversationId}/messages`;
    const body = { messages, streaming: true, stream_tokens: true, background: true, when_busy: whenBusy, ...more };
    this.followRun({ path, body }, followed(null, sent, this.busy && whenBusy === "queue"));
  }

  /** @param {string} runId @param {boolean} waits */
  attend(runId, waits) {
    this.followRun(runId, followed(runId, null, waits));
  }

  /** @param {string | import("../sse.js").Opening} begin @param {Live} live */
  async followRun(begin, live) {
    if (live.sent) live.transcript.take(live.sent);
    this.live = [...this.live, live];
    this.rebuild();
    try {
      await follow(begin, (event) => this.hear(live, event), this.stopped.signal);
    } catch (error) {
      if (error instanceof ApiError && error.status === 410) this.error = null; // Its events are gone; the log has what it wrote.
      else this.fail(error);
      if (live.runId === null && live.sent?.content) this.unsent = live.sent.content;
    }
    live.know();
    if (!this.stopped.signal.aborted) await this.settle(live);
  }

  /** @param {Live} live @param {Message} event */
  hear(live, event) {
    if (event.run_id && live.runId === null && event.message_type === "ping") {
      live.runId = event.run_id;
      live.know();
      this.rebuild();
    }
    if (event.message_type !== "ping") live.waits = false;
    const callId = event.tool_returns?.[0]?.tool_call_id ?? event.tool_call_id;
    if (event.message_type === "tool_return_message" && !live.transcript.awaits(callId) && this.history.awaits(callId)) {
      this.crossing = [...this.crossing, event];
      this.history.take(event);
    } else live.transcript.take(event, true);
    this.draw();
  }

  /** The run has ended: the log's own messages take its place. @param {Live} live */
  async settle(live) {
    live.transcript.settle();
    const notes = live.transcript.entries.filter((one) => one.kind === "note" && one.bad);
    try {
      const newest = (await this.newest()) ?? [];
      const known = new Set(newest.map((one) => one.id));
      const before = this.messages.filter((one) => !one.id.startsWith("answer-"));
      const meets = before.length === 0 || before.some((one) => known.has(one.id)) || newest.length < PAGE;
      this.messages = meets ? [...before.filter((one) => !known.has(one.id)), ...newest] : newest;
      if (!meets) this.prepended = 0;
    } catch (error) {
      this.fail(error);
    }
    this.live = this.live.filter((one) => one !== live);
    this.crossing = this.busy ? this.crossing : [];
    this.notes = notes;
    this.rebuild();
  }

  /** Stop the run that is going on. */
  async stop() {
    const going = this.live.filter((one) => !one.waits);
    const mark = (/** @type {boolean} */ stopping) => {
      for (const one of going) one.stopping = stopping;
      this.draw();
    };
    mark(true);
    await Promise.all(going.map((one) => one.known)); // A run that was just begun has no id yet.
    if (!(await this.cancel(going.filter((one) => this.live.includes(one)).map((one) => one.runId).filter((id) => id !== null)))) mark(false);
  }

  /** Whether what goes on is being stopped. */
  get stopping() {
    return this.live.some((one) => one.stopping);
  }

  /** Whether the server took it. @param {(string | null)[]} runIds */
  async cancel(runIds) {
    if (!runIds.length) return false;
    try {
      await post(`agents/${this.agentId}/messages/cancel`, { run_ids: runIds });
      return true;
    } catch (error) {
      this.fail(error);
      return false;
    }
  }

  /** A copy of the conversation that goes its own way; its id. @returns {Promise<string>} */
  async fork() {
    return (await call("POST", `${this.place}/fork`)).id;
  }

  /** Derive what is shown from the log and from what is followed. */
  rebuild() {
    const followed = new Set(this.live.map((one) => one.runId).filter(Boolean));
    const otids = new Set(this.live.map((one) => one.sent?.otid).filter(Boolean));
    const history = new Transcript();
    for (const message of this.messages) {
      const byStream = message.run_id && followed.has(message.run_id) && message.message_type !== "user_message" && message.message_type !== "system_message";
      if (byStream || (message.otid && otids.has(message.otid))) continue;
      history.take(message);
    }
    for (const event of this.crossing) history.take(event);
    this.history = history;
    this.draw();
  }

  /** @param {unknown} error */
  fail(error) {
    if (this.stopped.signal.aborted) return;
    this.error = error;
    this.draw();
  }

  draw() {
    if (this.drawing) return;
    this.drawing = true;
    const tell = () => {
      this.drawing = false;
      this.changed.set(this.changed.get() + 1);
    };
    // A hidden page has no frames.
    if (document.visibilityState === "visible") requestAnimationFrame(tell);
    else setTimeout(tell, 100);
  }

  close() {
    this.stopped.abort();
  }
}
