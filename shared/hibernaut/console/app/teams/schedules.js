/** The schedules of all agents: when they fire next, what became of their last times, run now, pause, change, delete. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { call, get, post } from "../api.js";
import { useAction } from "../forms.js";
import { moment, soon } from "../format.js";
import { agentPlace, go } from "../router.js";
import { useLoaded } from "../store.js";
import { Confirm, Failure, Icon, IconButton, Loading, Time, say, useRepeated, useTitle } from "../ui.js";
import { ChangeSchedule, ScheduleForm } from "./schedule_form.js";
import { AgentLink, elsewhere, outcomeWord, timingOf, useNames, whatOf } from "./words.js";

/** @typedef {import("./words.js").Schedule} Schedule */
/** @typedef {import("./words.js").Outcome} Outcome */
/** @typedef {import("./words.js").Names} Names */

const PAGE = 50;
const LOOK = 5000;
const NEVER = "~";

/**
 * So many pages, those that fire next first.
 * @param {number} pages
 * @param {AbortSignal} signal
 */
async function load(pages, signal) {
  const found = /** @type {Schedule[]} */ ([]);
  let more = true;
  for (let page = 0; page < pages && more; page += 1) {
    const answer = await get("schedules", { limit: PAGE, after: found.at(-1)?.id }, signal);
    found.push(...answer.scheduled_messages);
    more = answer.has_next_page;
  }
  found.sort((one, other) => ((one.next_scheduled_time ?? NEVER) < (other.next_scheduled_time ?? NEVER) ? -1 : 1));
  return { found, more };
}

/** @param {{making: boolean}} props */
export function Schedules({ making }) {
  const [pages, setPages] = useState(1);
  const { value, error, again, refresh } = useLoaded((signal) => load(pages, signal), [pages]);
  const { value: names, error: unnamed } = useNames((value?.found ?? []).map((one) => one.agent_id));
  useTitle("Schedules");
  useRepeated(refresh, LOOK, []);
  return html`<div class="row head">
      <div class="grow"><h1>Schedules</h1><p class="muted small">What agents are told at a time, or again and again. Times are those of your time zone.</p></div>
      <a class="button primary" href="#/teams/schedules?new=1"><${Icon} name="plus" /> New schedule</a>
    </div>
    <${Failure} error=${error ?? unnamed} again=${error ? again : undefined} />
    ${!value && !error && html`<${Loading} label="Loading schedules" />`}
    ${value?.found.length === 0 && html`<p class="empty card">There is no schedule yet. Make one, and an agent hears from you each morning, or once tomorrow at noon.</p>`}
    <ul class="plain stack">${value?.found.map((one) => html`<${Card} key=${one.id} one=${one} names=${names} changed=${again} />`)}</ul>
    ${value?.more && html`<button type="button" onClick=${() => setPages(pages + 1)}>More schedules</button>`}
    ${making && html`<${ScheduleForm} close=${() => go("#/teams/schedules")} made=${again} />`}`;
}

/** @param {{one: Schedule, names: Names | undefined, changed: () => void}} props */
function Card({ one, names, changed }) {
  const [open, setOpen] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const [changing, setChanging] = useState(false);
  const route = `agents/${one.agent_id}/schedule/${one.id}`;
  const doing = useAction(async (/** @type {string} */ what, /** @type {string} */ told) => {
    try {
      await post(`${route}/${what}`);
      say(told);
    } finally {
      changed();
    }
  });
  const remove = async () => {
    await call("DELETE", route);
    say("The schedule was deleted.");
    changed();
  };
  const title = whatOf(one);
  const over = !one.paused && !one.next_scheduled_time;
  return html`<li class="card server"><article class="stack" aria-label=${`Schedule: ${title.slice(0, 60)}`}>
    <div class="row tight"><h2 class="grow ellipsis" dir="auto">${title}</h2><${IconButton} icon="trash" label="Delete this schedule" onClick=${() => setDeleting(true)} /></div>
    <p class="small"><${AgentLink} id=${one.agent_id} names=${names} /> · ${timingOf(one.schedule)}</p>
    <p class="row"><${Next} one=${one} over=${over} />${one.outcomes[0] && html`<${Newest} outcome=${one.outcomes[0]} />`}</p>
    <${Failure} error=${doing.error} close=${doing.clear} />
    <div class="row">
      <button type="button" disabled=${doing.busy} onClick=${() => doing.run("run", "It was started.")}>Run now</button>
      ${!over && html`<button type="button" disabled=${doing.busy} onClick=${() => (one.paused ? doing.run("resume", "The schedule goes on.") : doing.run("pause", "The schedule is paused."))}>${one.paused ? "Resume" : "Pause"}</button>`}
      <button type="button" onClick=${() => setChanging(true)}>Change</button>
      <button type="button" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? "Hide outcomes" : "Show outcomes"}</button>
    </div>
    ${open && html`<${Outcomes} key=${`${one.outcomes[0]?.fired_at}-${one.outcomes[0]?.run_status}`} one=${one} route=${route} />`}
    ${changing && html`<${ChangeSchedule} one=${one} names=${names} close=${() => setChanging(false)} made=${changed} />`}
    ${deleting && html`<${Confirm} title="Delete this schedule?" act="Delete" done=${remove} close=${() => setDeleting(false)} text=${`“${title}” is not done any more. The runs that it started stay. This cannot be undone.`} />`}
  </article></li>`;
}

/** @param {{one: Schedule, over: boolean}} props */
function Next({ one, over }) {
  if (one.paused) return html`<span class="state waiting">paused${one.paused_reason === "key_unusable" && ": its API key is revoked or expired"}</span>`;
  if (over || !one.next_scheduled_time) return html`<span class="state asleep">over</span>`;
  const there = one.schedule.type === "recurring" ? elsewhere(one.next_scheduled_time, one.schedule.timezone) : null;
  return html`<span>Next: <strong><time datetime=${one.next_scheduled_time}>${moment(one.next_scheduled_time)}</time></strong>, ${soon(one.next_scheduled_time)}${there && html` <span class="muted small">(${there})</span>`}</span>`;
}

/** @param {{outcome: Outcome}} props */
function Newest({ outcome }) {
  const [word, kind] = outcomeWord(outcome);
  return html`<span class="muted small">last: <span class=${`state ${kind}`}>${word}</span> <${Time} at=${outcome.fired_at} /></span>`;
}

/** The last ten firings. A list tells the run of the newest one alone, so the schedule itself is read. @param {{one: Schedule, route: string}} props */
function Outcomes({ one, route }) {
  const { value, error, again } = useLoaded((signal) => /** @type {Promise<Schedule>} */ (get(route, {}, signal)), [one.id]);
  if (error) return html`<${Failure} error=${error} again=${again} />`;
  if (!value) return html`<${Loading} label="Loading outcomes" />`;
  if (!value.outcomes.length) return html`<p class="small muted">It has not fired yet.</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="The last ten outcomes"><table>
    <thead><tr><th scope="col">Fired</th><th scope="col">For the time</th><th scope="col">What became of it</th><th scope="col">Run</th></tr></thead>
    <tbody>${value.outcomes.map((outcome) => html`<${Row} key=${outcome.fired_at} outcome=${outcome} agentId=${one.agent_id} />`)}</tbody>
  </table></div>`;
}

/** @param {{outcome: Outcome, agentId: string}} props */
function Row({ outcome, agentId }) {
  const [word, kind] = outcomeWord(outcome);
  return html`<tr><th scope="row">${moment(outcome.fired_at)}</th>
    <td>${outcome.scheduled_at ? moment(outcome.scheduled_at) : "run now"}${outcome.missed_since && html`<br /><span class="small muted">missed since ${moment(outcome.missed_since)}</span>`}</td>
    <td><span class=${`state ${kind}`}>${word}</span>${outcome.error && html`<br /><span class="small" dir="auto">${outcome.error.message} <code>${outcome.error.code}</code></span>`}</td>
    <td>${outcome.run_id ? html`<a href=${agentPlace(agentId, "runs")} aria-label=${`Runs of the agent, with ${outcome.run_id}`}>Runs</a>` : "—"}</td></tr>`;
}
