/**
 * Messages of a log and events of a stream as what a person reads: pure functions, without a view and without the network.
 *
 * @typedef {import("../types.js").Message} Message
 * @typedef {import("../types.js").ToolReturn} ToolReturn
 * @typedef {{kind: "said", key: string, id: string, who: "user" | "assistant" | "system", content: Message["content"], date?: string, live?: boolean, name?: string | null}} Said
 * @typedef {{kind: "thought", key: string, id: string, text: string, live?: boolean}} Thought
 * @typedef {{kind: "call", key: string, id: string, callId: string, name: string, args: string, needsAnswer: boolean, answer?: {approve: boolean, reason?: string | null},
 *   result?: ToolReturn, date?: string, run?: string | null, step?: string | null, ran?: string | null, live?: boolean}} Call  `step`: that of the model's reply; `ran`: that in
 *   which the call was made
 * @typedef {{kind: "note", key: string, id: string, text: string, bad?: boolean}} Note
 * @typedef {Said | Thought | Call | Note} Entry
 */

const STOPS = /** @type {Record<string, string>} */ ({
  max_steps: "Stopped: the run used all its steps.",
  cancelled: "Stopped.",
  error: "The run failed.",
  budget_exceeded: "Stopped: a budget is used up.",
  no_tool_call: "Stopped: the model called no tool.",
  invalid_tool_call: "Stopped: the model's call was not valid.",
  max_tokens_exceeded: "Stopped: the reply reached its limit of tokens.",
});

/** Entries of messages, oldest first. Calls, their answers and their returns are one entry. */
export class Transcript {
  constructor() {
    /** @type {Entry[]} */
    this.entries = [];
    /** @type {Map<string, number>} */
    this.places = new Map();
    /** The keys of the calls with an id, oldest first: some models use an id again. @type {Map<string, string[]>} */
    this.calls = new Map();
    /** Ids of all messages that were taken. @type {Set<string>} */
    this.ids = new Set();
  }

  /**
   * Take one message, or a piece of one: pieces of the same message and kind are joined.
   * @param {Message} message
   * @param {boolean} [live]
   */
  take(message, live = false) {
    if (message.id) this.ids.add(message.id);
    switch (message.message_type) {
      case "user_message":
        return this.#user(message);
      case "system_message":
        return this.#put({ kind: "said", key: keyOf(message), id: message.id, who: "system", content: message.content, date: message.date });
      case "assistant_message":
        return this.#assistant(message, live);
      case "reasoning_message":
        return this.#thought(message, live);
      case "hidden_reasoning_message":
        return this.#put({ kind: "thought", key: keyOf(message), id: message.id, text: message.state === "redacted" ? "The provider does not show this reasoning." : "" });
      case "tool_call_message":
      case "approval_request_message":
        return callsOf(message).forEach((call, place) => this.#call(message, call, place, live));
      case "approval_response_message":
        return (message.approvals ?? []).forEach((one) => this.#answered(one, message));
      case "tool_return_message":
        return returnsOf(message).forEach((one) => this.#returned(one, message));
      case "summary_message":
        return this.#put({ kind: "note", key: keyOf(message), id: message.id, text: `Summary of what left the window: ${message.summary}` });
      case "event_message":
        return this.#put({ kind: "note", key: keyOf(message), id: message.id, text: "The window was full, and is compacted." });
      case "error_message":
        return this.#put({ kind: "note", key: `error-${this.entries.length}`, id: "", text: [message.message, message.detail].filter(Boolean).join(" "), bad: true });
      case "stop_reason": {
        const text = STOPS[message.stop_reason ?? ""];
        return text && this.#put({ kind: "note", key: `stop-${this.entries.length}`, id: "", text, bad: message.stop_reason === "error" });
      }
      default:
        return undefined;
    }
  }

  /** The end of what was live. */
  settle() {
    this.entries = this.entries.map((entry) => ("live" in entry && entry.live ? { ...entry, live: false } : entry));
  }

  /** The calls that wait for an answer: those of the newest request, after which nobody has said anything. @returns {Call[]} */
  waiting() {
    const last = this.entries.findLastIndex((one) => one.kind === "said");
    const after = this.entries.slice(last + 1);
    return /** @type {Call[]} */ (after.filter((one) => one.kind === "call" && one.needsAnswer && !one.answer && !one.result && !one.live));
  }

  /** @param {Entry} entry */
  #put(entry) {
    const at = this.places.get(entry.key);
    if (at !== undefined) this.entries[at] = entry;
    else this.places.set(entry.key, this.entries.push(entry) - 1);
  }

  /** @param {string} key */
  #at(key) {
    const at = this.places.get(key);
    return at === undefined ? undefined : this.entries[at];
  }

  /** @param {Message} message */
  #user(message) {
    const told = alertOf(message.content);
    if (told !== null) return this.#put({ kind: "note", key: keyOf(message), id: message.id, text: told });
    return this.#put({ kind: "said", key: keyOf(message), id: message.id, who: "user", content: message.content, date: message.date, name: message.name });
  }

  /** @param {Message} message @param {boolean} live */
  #assistant(message, live) {
    const key = keyOf(message);
    const before = this.#at(key);
    const content = live && before?.kind === "said" && typeof before.content === "string" && typeof message.content === "string" ? before.content + message.content : message.content;
    this.#put({ kind: "said", key, id: message.id, who: "assistant", content, date: message.date, live });
  }

  /** @param {Message} message @param {boolean} live */
  #thought(message, live) {
    const key = keyOf(message);
    const before = this.#at(key);
    const text = (live && before?.kind === "thought" ? before.text : "") + (message.reasoning ?? "");
    this.#put({ kind: "thought", key, id: message.id, text, live });
  }

  /** Whether a call with this id has no return yet. @param {string | null | undefined} callId */
  awaits(callId) {
    const call = this.#open(callId ?? "");
    return call !== undefined && !call.result;
  }

  /** @param {Message} message @param {import("../types.js").ToolCall} call @param {number} place @param {boolean} live */
  #call(message, call, place, live) {
    const known = this.#known(message, call, place);
    const needsAnswer = message.message_type === "approval_request_message" || (known?.needsAnswer ?? false);
    const callId = call.tool_call_id ?? known?.callId ?? "";
    const key = known?.key ?? `call-${callId || place}-${message.id}-${this.entries.length}`;
    if (!known) this.calls.set(callId, [...(this.calls.get(callId) ?? []), key]);
    this.#put({
      ...known,
      kind: "call",
      key,
      id: message.id,
      callId,
      name: call.name ?? known?.name ?? "",
      args: live && known ? known.args + (call.arguments ?? "") : (call.arguments ?? ""),
      needsAnswer,
      date: message.date,
      run: message.run_id ?? known?.run,
      step: message.step_id ?? known?.step,
      live,
    });
  }

  /** All calls with an id, oldest first. @param {string} callId @returns {Call[]} */
  #withId(callId) {
    return /** @type {Call[]} */ ((this.calls.get(callId) ?? []).map((key) => this.#at(key)));
  }

  /**
   * The entry of a call of which a piece, or the whole, has come before: with its id in the same message or the same step. In another step the id was used
   * again. Pieces that lack the id belong to the newest call of their message.
   * @param {Message} message @param {import("../types.js").ToolCall} call @param {number} place  among those of the message
   * @returns {Call | undefined}
   */
  #known(message, call, place) {
    if (!call.tool_call_id) return /** @type {Call | undefined} */ (this.entries.findLast((one) => one.kind === "call" && one.id === message.id));
    const all = this.#withId(call.tool_call_id);
    const same = all.filter((one) => one.id === message.id || (message.step_id ? one.step === message.step_id : !one.result));
    return same[callsOf(message).slice(0, place).filter((other) => other.tool_call_id === call.tool_call_id).length];
  }

  /** The call that an answer or a return with this id is for: the first one of the newest reply with the id that has no return. @param {string} callId */
  #open(callId) {
    const all = this.#withId(callId);
    const newest = all.filter((one) => one.id === all[all.length - 1].id);
    return newest.find((one) => !one.result) ?? newest[newest.length - 1];
  }

  /** A person approves or denies a call; the client, or a person in its place, sends its return. @param {import("../types.js").Answer} answer @param {Message} message */
  #answered(answer, message) {
    if (answer.tool_return !== undefined) return this.#returned({ ...answer, tool_return: answer.tool_return, status: answer.status ?? "success" }, message);
    const call = this.#open(answer.tool_call_id);
    return call && typeof answer.approve === "boolean" && this.#put({ ...call, answer: { approve: answer.approve, reason: answer.reason }, live: false });
  }

  /** @param {ToolReturn} result @param {Message} message */
  #returned(result, message) {
    const callId = result.tool_call_id;
    const call = this.#open(callId);
    if (call) return this.#put({ ...call, result, ran: message.step_id ?? call.step, live: false });
    const key = `return-${callId}-${message.id}`;
    this.calls.set(callId, [key]);
    return this.#put({ kind: "call", key, id: "", callId, name: "", args: "", needsAnswer: false, result, ran: message.step_id });
  }
}

/** @param {Message} message */
function keyOf(message) {
  return `${message.id}-${message.message_type}-${message.otid ?? ""}`;
}

/** @param {Message} message */
function callsOf(message) {
  const several = message.tool_calls;
  if (Array.isArray(several) && several.length) return several;
  return message.tool_call ? [message.tool_call] : [];
}

/** @param {Message} message @returns {ToolReturn[]} */
function returnsOf(message) {
  if (message.tool_returns?.length) return message.tool_returns;
  const { tool_return = "", status = "success", tool_call_id = "", stdout, stderr } = message;
  return [{ tool_return, status, tool_call_id, stdout, stderr }];
}

/**
 * What a message of the system in a user's role says; null for a person's message.
 * @param {Message["content"]} content
 */
function alertOf(content) {
  if (typeof content !== "string" || !content.startsWith("{")) return null;
  try {
    const value = JSON.parse(content);
    if (value.type === "system_alert" || value.type === "login" || value.type === "heartbeat") return String(value.message ?? value.reason ?? value.type);
  } catch {
    return null;
  }
  return null;
}
