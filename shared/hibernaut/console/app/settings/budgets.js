/** Budgets: what a tenant, a key or an agent may use, and what is used of it. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { call } from "../api.js";
import { useCommands } from "../commands.js";
import { FormDialog } from "../forms.js";
import { count, dollars, moment } from "../format.js";
import { agentPlace } from "../router.js";
import { useLoaded } from "../store.js";
import { Confirm, Icon, IconButton, Loading, say } from "../ui.js";
import { AdminFailure, usePages } from "./parts.js";
import { BudgetPlots, firstDay } from "./budget_plots.js";
import { usedSince } from "./plot.js";

/** @typedef {import("../types.js").Budget} Budget */

const PAGE = 50;
const LIMITS = [["tokens_per_day", "Tokens a day"], ["tokens_per_month", "Tokens a month"], ["cost_per_day", "Dollars a day"], ["cost_per_month", "Dollars a month"], ["steps_per_day", "Model calls a day"], ["steps_per_month", "Model calls a month"], ["concurrent_runs", "Runs at once"], ["requests_per_second", "Requests a second"]];

/** @param {string} name @param {number} value */
const amount = (name, value) => (name.startsWith("cost") ? dollars(value) : count(value));

/** @param {Budget[] | undefined} budgets */
const tenantFirst = (budgets) => budgets && [...budgets].sort((one, other) => Number(other.scope === "tenant") - Number(one.scope === "tenant"));

export function Budgets() {
  const budgets = usePages("budgets", PAGE, "subject");
  const [setting, setSetting] = useState(/** @type {Partial<Budget> | null} */ (null));
  const [removing, setRemoving] = useState(/** @type {Budget | null} */ (null));
  useCommands(() => [{ name: "Set a budget", hint: "Settings", act: () => setSetting({}) }], []);
  const value = /** @type {Budget[] | undefined} */ (budgets.value);
  const any = Boolean(value?.length);
  const used = useLoaded((signal) => (any ? usedSince(firstDay(), signal) : Promise.resolve(null)), [any]);
  const { error, again } = budgets;
  const remove = async () => {
    await call("DELETE", `budgets/${removing?.subject}`);
    say("The budget was removed.");
    again();
  };
  return html`<div class="row head"><div class="grow"><h1>Budgets</h1><p class="muted small">What may be used. A message beyond a limit is refused, and says when it begins again.</p></div>
      ${value && html`<button type="button" class="primary" onClick=${() => setSetting({})}><${Icon} name="plus" /> Set a budget</button>`}</div>
    <${AdminFailure} error=${error} again=${again} what="budgets" command="hibernaut budgets list" />
    ${!value && !error && html`<${Loading} label="Loading budgets" />`}
    ${value?.length === 0 && html`<p class="empty card">There is no budget: nothing is limited, and nothing is counted. Set one for the whole tenant, a key or an agent.</p>`}
    <ul class="plain stack">${tenantFirst(value)?.map((one) => html`<${Card} key=${one.subject} budget=${one} used=${used} edit=${() => setSetting(one)} remove=${() => setRemoving(one)} />`)}</ul>
    ${budgets.more && html`<button type="button" onClick=${budgets.more}>More budgets</button>`}
    ${setting && html`<${SetBudget} budget=${setting} close=${() => setSetting(null)} made=${again} />`}
    ${removing && html`<${Confirm} title="Remove this budget?" act="Remove" done=${remove} close=${() => setRemoving(null)} text=${`${removing.subject === "tenant" ? "The whole tenant" : removing.subject} is not limited by it any more.`} />`}`;
}

/** @param {{budget: Budget, used: import("./budget_plots.js").Used, edit: () => void, remove: () => void}} props */
function Card({ budget, used, edit, remove }) {
  const { subject } = budget;
  const title = subject === "tenant" ? "The whole tenant" : budget.scope === "agent" ? html`<a href=${agentPlace(subject)}>${subject}</a>` : subject;
  return html`<li class="card server"><article class="stack" aria-label=${`Budget of ${subject}`}>
    <div class="row"><h2 class="grow">${title}</h2><button type="button" onClick=${edit}>Change</button>
      ${!budget.is_default && html`<${IconButton} icon="trash" label="Remove this budget" onClick=${remove} />`}</div>
    ${budget.is_default && html`<p class="small muted">The default of this server.</p>`}
    ${LIMITS.filter(([name]) => budget[name] !== null).map(([name, called]) => html`<${Limit} name=${name} title=${called} limit=${Number(budget[name])} used=${name in budget.used ? budget.used[name] : null} />`)}
    <${BudgetPlots} budget=${budget} used=${used} />
    <p class="small muted">Days begin again at ${moment(budget.day_ends)}, months at ${moment(budget.month_ends)}.</p>
  </article></li>`;
}

/** @param {{name: string, title: string, limit: number, used: number | null}} props */
function Limit({ name, title, limit, used }) {
  if (used === null) return html`<p class="small">${title}: at most ${amount(name, limit)}</p>`;
  return html`<div class="meter small"><progress max=${limit} value=${Math.min(used, limit)} aria-label=${title}></progress>
    <span>${title}: ${amount(name, used)} of ${amount(name, limit)}${used >= limit && html` <strong class="state failed">used up</strong>`}</span></div>`;
}

/** @param {{budget: Partial<Budget>, close: () => void, made: () => void | Promise<void>}} props */
function SetBudget({ budget, close, made }) {
  /** @param {FormData} form */
  const save = async (form) => {
    const subject = String(form.get("subject") ?? budget.subject).trim();
    const limits = LIMITS.map(([name]) => [name, form.get(name)]).filter(([, value]) => value);
    const body = { ...Object.fromEntries(limits.map(([name, value]) => [name, Number(value)])), ...("warn_at" in budget ? { warn_at: budget.warn_at } : {}) };
    await call("PUT", `budgets/${encodeURIComponent(subject)}`, { body });
    say("The budget was set.");
    await made(); // The page shows it before the form closes, so that the next one begins with it.
  };
  return html`<${FormDialog} title=${budget.subject ? "Change the budget" : "Set a budget"} act="Set" done=${save} close=${close}>
    ${!budget.subject && html`<label class="field"><span>For: “tenant”, the id of a key or of an agent</span><input name="subject" required value="tenant" dir="ltr" autocomplete="off" /></label>`}
    <div class="sides">${LIMITS.map(([name, title]) => html`<label class="field"><span>${title}</span><input type="number" name=${name} min="0" step=${name.startsWith("cost") ? "any" : "1"} value=${budget[name] ?? ""} placeholder="no limit" /></label>`)}</div>
  <//>`;
}
