/** Teams and time: groups of agents, what agents do while others sleep, and schedules. */
import { html } from "../../vendor/htm-preact-3.1.1.js";
import { useCommands } from "../commands.js";
import { go } from "../router.js";
import { GroupPage } from "./group.js";
import { Groups } from "./groups.js";
import { Schedules } from "./schedules.js";
import { Sleep } from "./sleep.js";

/** The id of the commands that open a form at once. */
const NEW = "new";
/** @type {[string, string, (props: {making: boolean}) => any][]} */
const PARTS = [["groups", "Groups", Groups], ["sleep", "Sleep time", Sleep], ["schedules", "Schedules", Schedules]];

/** @param {{route: import("../router.js").Route}} props */
export function Teams({ route: { id, query } }) {
  const group = id?.startsWith("group-") ? id : null;
  const [name, , Part] = PARTS.find(([part]) => part === id) ?? PARTS[0];
  useCommands(
    () => [
      ...PARTS.map(([part, title]) => ({ name: `Open ${title}`, hint: "Teams", act: () => go(`#/teams/${part}`) })),
      { name: "New group", hint: "Teams", act: () => go(`#/teams/groups?${NEW}=1`) },
      { name: "New schedule", hint: "Teams", act: () => go(`#/teams/schedules?${NEW}=1`) },
      { name: "Give an agent a sleep-time partner", hint: "Teams", act: () => go(`#/teams/sleep?${NEW}=1`) },
    ],
    [],
  );
  return html`<nav class="tabs place-tabs" aria-label="Teams">
      ${PARTS.map(([part, title]) => html`<a href=${`#/teams/${part}`} aria-current=${part === name ? "page" : undefined}>${title}</a>`)}
    </nav>
    <div class="page">${group ? html`<${GroupPage} key=${group} id=${group} />` : html`<${Part} key=${name} making=${query.has(NEW)} />`}</div>`;
}
