/** The audit log: every block, agent and passage with its newest version, whether its chain of hashes holds, and who changed it. */
import { html, useRef, useState } from "../../vendor/htm-preact-3.1.1.js";
import { get } from "../api.js";
import { useCommands } from "../commands.js";
import { useAction } from "../forms.js";
import { count, moment } from "../format.js";
import { agentPlace } from "../router.js";
import { useLoaded } from "../store.js";
import { Failure, Icon, Loading } from "../ui.js";

/** @typedef {import("../types.js").AuditRecord} AuditRecord */
/** @typedef {import("../types.js").Version} Version */
/** @typedef {{checked: number, broken: AuditRecord[], heads: {kind: string, subject: string, version: number, hash: string}[], ended: boolean}} Verified */

const PAGE = 50;
const LARGEST = 100;
const SHOWN = 20;
/** @type {Verified} */
const NOTHING = { checked: 0, broken: [], heads: [], ended: false };

/** Check one page after the other until the end, or until `stop`. @param {(so: Verified) => void} told @param {AbortSignal} stop */
async function verify(told, stop) {
  let so = NOTHING;
  let after = null;
  do {
    /** @type {{records: AuditRecord[], next: string | null}} */
    const page = await get("audit", { after, limit: LARGEST }, stop);
    after = page.next;
    const heads = page.records.filter((one) => one.version).map(({ kind, subject, version, hash }) => ({ kind, subject, version, hash }));
    so = { checked: so.checked + page.records.length, broken: [...so.broken, ...page.records.filter((one) => one.fault)], heads: [...so.heads, ...heads], ended: !after };
    told(so);
  } while (after);
}

export function Audit() {
  const [pages, setPages] = useState(1);
  const { value, error, again } = useLoaded((signal) => read(pages, signal), [pages]);
  const [so, setSo] = useState(/** @type {Verified | null} */ (null));
  const stopping = useRef(/** @type {AbortController | null} */ (null));
  const verifying = useAction(async () => {
    setSo(NOTHING);
    stopping.current = new AbortController();
    const { signal } = stopping.current;
    await verify(setSo, signal).catch((failed) => {
      if (!signal.aborted) throw failed;
    });
  });
  useCommands(() => [{ name: "Verify the audit log", hint: "Settings", act: () => verifying.run() }], []);
  return html`<div class="row head"><div class="grow"><h1>Audit log</h1><p class="muted small">Every change of an agent, a block and a passage is a version that names the hash of the one before it. A version that was changed or taken out shows.</p></div>
      ${verifying.busy
        ? html`<button type="button" onClick=${() => stopping.current?.abort()}><${Icon} name="stop" /> Stop</button>`
        : html`<button type="button" class="primary" onClick=${() => verifying.run()}><${Icon} name="check" /> Verify all</button>`}</div>
    <${Outcome} so=${so} busy=${verifying.busy} />
    <${Failure} error=${verifying.error} again=${() => verifying.run()} />
    <${Failure} error=${error} again=${again} />
    ${!value && !error && html`<${Loading} label="Checking the first records" />`}
    ${value?.records.length === 0 && html`<p class="empty card">Nothing is recorded yet. Make an agent, and its versions stand here.</p>`}
    ${value && value.records.length > 0 && html`<${Records} title="Records" records=${value.records} />`}
    ${value?.next && html`<button type="button" onClick=${() => setPages(pages + 1)}>More records</button>`}`;
}

/** @param {number} pages @param {AbortSignal} signal */
async function read(pages, signal) {
  /** @type {AuditRecord[]} */
  const records = [];
  let next = null;
  for (let page = 0; page < pages && (page === 0 || next); page += 1) {
    const found = await get("audit", { after: next, limit: PAGE }, signal);
    records.push(...found.records);
    next = found.next;
  }
  return { records, next };
}

/** What the verification has found, and its heads to keep. @param {{so: Verified | null, busy: boolean}} props */
function Outcome({ so, busy }) {
  const word = so && (so.broken.length ? `${count(so.broken.length)} of ${count(so.checked)} chains are broken.` : `${count(so.checked)} chains hold.`);
  const file = () => URL.createObjectURL(new Blob([JSON.stringify(so?.heads, null, 1)], { type: "application/json" }));
  return html`<div role="status">${so && html`<p><span class=${`state ${so.broken.length ? "failed" : "busy"}`}>${so.ended ? (so.broken.length ? word : `All ${word}`) : word}</span>
      ${!so.ended && html` <span class="muted">${busy ? "Verifying …" : "The rest was not checked."}</span>`}</p>`}</div>
    ${so && so.broken.length > 0 && html`<${Records} title="Broken chains" records=${so.broken} />`}
    ${so?.ended && html`<div class="card server stack"><p>Whoever may write the whole table can compute new chains. Keep the newest hashes elsewhere, and compare later: <code>hibernaut audit verify --against heads.json</code></p>
      <div class="row"><${Save} name="heads.json" file=${file} /></div></div>`}`;
}

/** A link that makes its file when it is followed. @param {{name: string, file: () => string}} props */
function Save({ name, file }) {
  /** @param {Event & {currentTarget: HTMLAnchorElement}} event */
  const make = (event) => {
    const address = file();
    event.currentTarget.href = address;
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  };
  return html`<a class="button" href="#/settings/audit" download=${name} onClick=${make}>Save the newest hashes</a>`;
}

/** @param {{title: string, records: AuditRecord[]}} props */
function Records({ title, records }) {
  const [open, setOpen] = useState("");
  return html`<div class="scroll card table-card" tabindex="0" role="region" aria-label=${title}><table>
    <thead><tr><th scope="col">Record</th><th scope="col">Version</th><th scope="col">Chain</th><th scope="col">Changes</th></tr></thead>
    ${records.map((one) => html`<tbody key=${one.subject}>
      <tr><th scope="row"><span class="tag">${one.kind}</span> ${one.kind === "agent" ? html`<a href=${agentPlace(one.subject, "memory")}><code>${one.subject}</code></a>` : html`<code>${one.subject}</code>`}</th>
        <td>${count(one.version)}</td>
        <td>${one.fault ? html`<span class="state failed">broken</span> <span class="small">${one.fault}</span>` : html`<span class="state busy">holds</span>`}</td>
        <td><button type="button" aria-expanded=${open === one.subject} aria-label=${`${open === one.subject ? "Hide" : "Show"} changes of ${one.subject}`} onClick=${() => setOpen(open === one.subject ? "" : one.subject)}>${open === one.subject ? "Hide" : "Show"}</button></td></tr>
      ${open === one.subject && html`<tr><td colspan="4"><${Changes} record=${one} /></td></tr>`}
    </tbody>`)}
  </table></div>`;
}

/** @param {AuditRecord} record */
function versionsOf({ kind, subject, archive_id: archive }) {
  if (kind === "passage") return `archives/${archive}/passages/${subject}/versions`;
  return `${kind}s/${subject}/versions`;
}

/** Who changed a record, newest first. @param {{record: AuditRecord}} props */
function Changes({ record }) {
  const query = record.kind === "passage" ? {} : { limit: SHOWN };
  const { value, error, again } = useLoaded((signal) => /** @type {Promise<Version[]>} */ (get(versionsOf(record), query, signal)), [record.subject]);
  if (error) return html`<${Failure} error=${error} again=${again} />`;
  if (!value) return html`<${Loading} label="Loading its changes" />`;
  return html`<ul class="changes small" aria-label=${`Changes of ${record.subject}`}>${value.map((one) => html`<li key=${one.version}>
    <span class="strong">${one.version} ${one.change.replace("_", " ")}</span> ${one.at ? moment(one.at) : "at an unknown time"}, ${authorOf(one)}${one.fields.length > 0 && html`: <code>${one.fields.join(", ")}</code>`}</li>`)}</ul>
    ${value.length === SHOWN && html`<p class="muted small">Older changes: <code>GET /v1/${versionsOf(record)}</code></p>`}`;
}

/** @param {Version} version */
function authorOf({ by }) {
  if (!by) return "by nobody who is known any more";
  if (by.source === "run") return html`by <a href=${agentPlace(by.agent_id ?? "", "runs")}>an agent</a>${by.tools.length > 0 && html` with <code>${by.tools.join(", ")}</code>`}`;
  return by.source === "api" ? html`by a request${by.key_id ? html` with <code>${by.key_id}</code>` : " without a key"}` : "by the server";
}
