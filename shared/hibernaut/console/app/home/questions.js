/** What Home asks the server. It imports nothing, so that the first view's requests do not wait for the other modules. */

/** @typedef {{q: string, tag: string, most: number}} Asked  what the list shows: a part of the names, a tag, and how many */

/** How many agents, runs, and tags are asked for. */
export const [PAGE, MOST, TAGS] = [48, 100, 50];
/** What the list shows at first. @type {Asked} */
export const FIRST = { q: "", tag: "", most: PAGE };

/** @typedef {[path: string, query: Record<string, string | number | boolean | string[]>]} Question */

/** The agents of the list, with what they wait for. @param {Asked} asked @returns {Question} */
export const agentsOf = ({ q, tag, most }) => ["agents/", { include_relationships: ["tags", "pending_approval"], limit: most, order_by: "last_run_completion", query_text: q, tags: tag ? [tag] : [] }];
/** What waits for an answer, in all conversations. @type {Question} */
export const APPROVALS = ["runs/approvals", { limit: MOST }];
/** The runs that have not ended. @type {Question} */
export const OPEN_RUNS = ["runs/", { active: true, limit: MOST }];
/** @type {Question} */
export const NEWEST_RUN = ["runs/", { limit: 1 }];
/** @type {Question} */
export const ALL_TAGS = ["tags/", { limit: TAGS }];
/** What was used on a day. @param {string} day @returns {Question} */
export const usageOf = (day) => ["usage", { start_date: `${day}T00:00:00Z` }];

/** The day of today, which begins at midnight UTC. */
export const today = () => new Date().toISOString().slice(0, 10);
