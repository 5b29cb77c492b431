/** Asks for what Home shows as soon as this module is there, while the browser loads and prepares the others. */
import { begin } from "../request.js";
import { ALL_TAGS, APPROVALS, FIRST, OPEN_RUNS, agentsOf, today, usageOf } from "./questions.js";

if (["", "#", "#/", "#/home"].includes(location.hash)) {
  for (const question of [agentsOf(FIRST), OPEN_RUNS, APPROVALS, ALL_TAGS, usageOf(today())]) begin(...question);
}
