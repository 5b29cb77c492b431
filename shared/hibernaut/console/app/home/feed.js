/**
 * What Home shows, read again only where it may have changed. It knows the routes that Home asks; it must not know any view.
 *
 * What agents do changes with their runs: if no run has begun since, and those that were open still are, the lists are as they were. Names, tags and
 * new agents change without runs, so each sixth refresh reads everything all the same.
 */
import { get } from "../api.js";
import { loadNow, openRuns } from "./overview.js";
import { ALL_TAGS, NEWEST_RUN, agentsOf } from "./questions.js";

/** @typedef {import("../types.js").Agent} Agent */
/** @typedef {import("../types.js").Run} Run */
/** @typedef {import("./questions.js").Asked} Asked */
/** @typedef {{agents: Agent[], tags: string[], more: boolean, runs: Run[], waiting: import("./overview.js").Now["waiting"]}} Shown */
/** @typedef {{newest: string, runs: Run[]}} Mark  the newest run of all, "" if there is none, and the open ones */

/** How many refreshes at most find nothing new before everything is read again. */
const LOOKS = 5;

export class HomeFeed {
  constructor() {
    /** `mark`: as it was before the lists were read; null: it was not asked for. @type {{asked: Asked, looks: number, mark: Mark | null, shown: Shown} | null} */
    this.known = null;
  }

  /** Read everything next time: agents were made. */
  forget() {
    this.known = null;
  }

  /**
   * @param {Asked} asked
   * @param {AbortSignal} signal
   * @returns {Promise<Shown>} the same object as last time if nothing has changed
   */
  async load(asked, signal) {
    const known = this.known?.asked === asked ? this.known : null;
    // A first view waits for nothing: it asks for all at once, and the next one begins with the mark.
    const mark = known && (await markOf(known.mark, signal));
    if (known && mark && isSame(mark, known.mark) && known.looks < LOOKS) {
      known.looks += 1;
      return known.shown;
    }
    const shown = await lists(asked, mark ? Promise.resolve(mark.runs) : openRuns(signal), signal);
    this.known = { asked, looks: 0, mark, shown };
    return shown;
  }
}

/** @param {Mark | null} before @param {AbortSignal} signal @returns {Promise<Mark>} */
async function markOf(before, signal) {
  const [run] = /** @type {Run[]} */ (await get(...NEWEST_RUN, signal));
  const newest = run?.id ?? "";
  const isQuiet = before !== null && before.newest === newest && before.runs.length === 0;
  return { newest, runs: isQuiet ? [] : await openRuns(signal) };
}

/** @param {Mark} now @param {Mark | null} before */
function isSame(now, before) {
  if (before === null || now.newest !== before.newest || now.runs.length !== before.runs.length) return false;
  return now.runs.every((run, place) => run.id === before.runs[place].id);
}

/** @param {Asked} asked @param {Promise<Run[]>} open @param {AbortSignal} signal @returns {Promise<Shown>} */
async function lists(asked, open, signal) {
  const listed = /** @type {Promise<Agent[]>} */ (get(...agentsOf(asked), signal));
  const [agents, tags, now] = await Promise.all([listed, /** @type {Promise<string[]>} */ (get(...ALL_TAGS, signal)), loadNow(open, listed, signal)]);
  return { agents, tags, more: agents.length === asked.most, ...now };
}
