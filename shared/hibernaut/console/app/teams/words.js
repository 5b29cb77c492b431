/** Groups, sleep-time agents and schedules in words, and the names of their agents. */
import { html } from "../../vendor/htm-preact-3.1.1.js";
import { get } from "../api.js";
import { moment } from "../format.js";
import { agentPlace } from "../router.js";
import { useLoaded } from "../store.js";

/**
 * @typedef {{id: string, manager_type: string, agent_ids: string[], description: string, shared_block_ids: string[], manager_agent_id: string | null, termination_token: string | null,
 *   max_turns: number | null, sleeptime_agent_frequency: number | null, sleeptime_idle_seconds: number | null, hidden: boolean | null}} Group
 * @typedef {{scheduled_at: string | null, fired_at: string, status: string, run_id: string | null, missed_since: string | null, error: {code: string, message: string} | null,
 *   run_status?: string | null, stop_reason?: string | null}} Outcome
 * @typedef {{type: "one-time", scheduled_at: number} | {type: "recurring", cron_expression: string, timezone: string} | {type: "rate", rate_expression: string}} Timing
 * @typedef {{id: string, agent_id: string, action: "message" | "sleeptime" | "compaction", group_id: string | null, message: {messages: {role: string, content: any}[]}, schedule: Timing,
 *   next_scheduled_time: string | null, paused: boolean, paused_reason: string | null, outcomes: Outcome[]}} Schedule
 * @typedef {Map<string, string>} Names
 */

/** The kinds of groups that people make: the name, its title, what it means. */
export const KINDS = /** @type {[string, string, string][]} */ ([
  ["round_robin", "in turn", "The agents speak one after the other, from the first one for each message."],
  ["dynamic", "chosen by a manager", "Before each turn the manager chooses who speaks, until it says the word for the end."],
  ["supervisor", "asked by a supervisor", "The supervisor speaks. It may ask all agents at once, and gets their answers."],
]);
const SLEEPTIME = "Its agents work on the memory of the first one while that one does not talk.";
const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];
/** How many agents one request asks for: API Gateway takes addresses of some KB. */
const AT_ONCE = 100;
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** @param {Group} group */
export const sleeps = (group) => group.manager_type.endsWith("sleeptime");

/** @param {Group} group @returns {[string, string]} */
export function kindOf(group) {
  if (sleeps(group)) return ["sleep-time", SLEEPTIME];
  const known = KINDS.find(([name]) => name === group.manager_type);
  return known ? [known[1], known[2]] : [group.manager_type, ""];
}

/** All agents of a group, its manager first. @param {Group} group */
export const everybody = (group) => [...(group.manager_agent_id ? [group.manager_agent_id] : []), ...group.agent_ids];

/**
 * The names of agents by their ids. An agent that is not there any more has none.
 * @param {string[]} ids
 * @param {AbortSignal} [signal]
 * @returns {Promise<Names>}
 */
export async function namesOf(ids, signal) {
  const all = [...new Set(ids)];
  const parts = Array.from({ length: Math.ceil(all.length / AT_ONCE) }, (_, place) => all.slice(place * AT_ONCE, (place + 1) * AT_ONCE));
  const found = await Promise.all(parts.map((part) => get("agents/", { agent_ids: part, include_relationships: ["tags"] }, signal)));
  return new Map(found.flat().map((one) => [one.id, one.name]));
}

/** @param {string[]} ids */
export function useNames(ids) {
  const asked = [...new Set(ids)].sort();
  return useLoaded((signal) => namesOf(asked, signal), [asked.join()]);
}

/** The name of an agent, or what stands for it. @param {string} id @param {Names | undefined} names */
export const nameOf = (id, names) => (names ? names.get(id) ?? "deleted agent" : "…");

/** @param {{id: string, names: Names | undefined, place?: string}} props */
export function AgentLink({ id, names, place = "chat" }) {
  if (names && !names.has(id)) return html`<span class="muted">deleted agent <code class="small">${id}</code></span>`;
  return html`<a href=${agentPlace(id, place)} dir="auto">${nameOf(id, names)}</a>`;
}

/**
 * A time in seconds as a person says it.
 * @param {number} seconds
 */
export function spanOf(seconds) {
  for (const [length, word] of /** @type {[number, string][]} */ ([[DAY, "day"], [HOUR, "hour"], [MINUTE, "minute"]]))
    if (seconds >= length && seconds % length === 0) return seconds === length ? `one ${word}` : `${seconds / length} ${word}s`;
  return seconds === 1 ? "one second" : `${seconds} seconds`;
}

/** What sets the agents of a sleep-time group to work. @param {Group} group */
export function rhythmOf({ manager_type, sleeptime_agent_frequency: every, sleeptime_idle_seconds: idle }) {
  if (manager_type === "voice_sleeptime") return "Nothing sets the agent of a voice line to work.";
  const turns = every === 0 ? "" : every === null || every === 1 ? "after every turn" : `after the first turn and every ${every} turns from there`;
  const quiet = idle ? `when nobody has talked for ${spanOf(idle)}` : "";
  const words = [turns, quiet].filter(Boolean).join(", and ");
  return words ? `Works ${words}.` : "Works by schedules only.";
}

/** @param {Schedule} one */
export function whatOf({ action, message }) {
  if (action === "sleeptime") return "Sleep-time work";
  if (action === "compaction") return "Compaction of the conversation";
  return message.messages.map(({ content }) => (typeof content === "string" ? content : content.map((/** @type {any} */ part) => part.text ?? "an image").join(" "))).join(" · ");
}

/** @param {Timing} timing */
export function timingOf(timing) {
  switch (timing.type) {
    case "recurring":
      return html`by <code>${timing.cron_expression}</code> in ${timing.timezone}`;
    case "rate":
      return `every ${timing.rate_expression.replace(/^1 /, "")}`;
    case "one-time":
      return `once, at ${moment(new Date(timing.scheduled_at).toISOString())}`;
  }
}

/**
 * A moment in a time zone, if that is another one than the browser's.
 * @param {string} iso
 * @param {string} zone
 */
export function elsewhere(iso, zone) {
  const shown = (/** @type {string | undefined} */ timeZone) => new Intl.DateTimeFormat(navigator.language, { dateStyle: "medium", timeStyle: "short", timeZone }).format(new Date(iso));
  return zone === ZONE || shown(zone) === shown(undefined) ? null : `${shown(zone)} in ${zone}`;
}

/** The browser's time zone. */
export const ownZone = ZONE;

/**
 * What a run says, and the colour of its mark.
 * @param {string | null | undefined} status
 * @param {string | null | undefined} reason
 * @returns {[string, string]}
 */
export function runWord(status, reason) {
  switch (status) {
    case "completed":
      return ["completed", "busy"];
    case "failed":
      return [reason && reason !== "error" ? `failed: ${reason.replaceAll("_", " ")}` : "failed", "failed"];
    case "cancelled":
      return ["stopped", "asleep"];
    case "running":
      return ["running", "busy"];
    default:
      return ["waits", "waiting"];
  }
}

/** What became of a firing, and the colour of its mark. @param {Outcome} one @returns {[string, string]} */
export function outcomeWord(one) {
  if (one.status === "failed") return ["failed", "failed"];
  if (one.status === "completed") return ["done", "busy"];
  if (one.status === "started") return ["has begun", "waiting"];
  return one.run_status ? runWord(one.run_status, one.stop_reason) : ["run started", "busy"];
}
