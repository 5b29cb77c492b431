/** Files: the folders of an agent, how far their files are read in, and which of them the agent has open. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { ApiError, call, get, post } from "../api.js";
import { useCommands } from "../commands.js";
import { chooseFiles, useDrop } from "../files.js";
import { FormDialog } from "../forms.js";
import { count } from "../format.js";
import { useLoaded } from "../store.js";
import { Confirm, Failure, Icon, Loading, say, useRepeated } from "../ui.js";
import { FileRow, isUnfinished, nameOf } from "./file_row.js";

/** @typedef {import("../types.js").Agent} Agent */
/** @typedef {import("../types.js").Folder} Folder */
/** @typedef {import("../types.js").FolderFile} FolderFile */
/** @typedef {import("../types.js").AgentFile} AgentFile */
/** @typedef {{folder: Folder, files: FolderFile[]}} Shelf */
/** @typedef {{shelves: Shelf[], seen: Map<string, AgentFile>}} Loaded */

/** Milliseconds between two looks: while a file is read in, and otherwise. */
const [SOON, LOOK] = [1000, 10_000];
/** How many files of a folder, and of the agent, one view shows. */
const MOST = 200;

/** @param {string} agentId @param {AbortSignal} signal @returns {Promise<Loaded>} */
async function load(agentId, signal) {
  const folders = /** @type {Folder[]} */ (await get(`agents/${agentId}/folders`, { order: "asc" }, signal));
  const [seen, ...lists] = await Promise.all([
    get(`agents/${agentId}/files`, { limit: MOST }, signal),
    ...folders.map((folder) => /** @type {Promise<FolderFile[]>} */ (get(`folders/${folder.id}/files`, { limit: MOST }, signal))),
  ]);
  return {
    shelves: folders.map((folder, place) => ({ folder, files: lists[place] })),
    seen: new Map(seen.files.map((/** @type {AgentFile} */ one) => [one.file_id, one])),
  };
}

/** What to do about a file that was refused. @param {unknown} error */
const adviceOn = (error) => (error instanceof ApiError && error.route.endsWith("/upload") ? "Other files are not affected. Choose a file of a kind and size that the server reads." : undefined);

/** @param {Agent} agent @param {string} folderId */
const attach = (agent, folderId) => call("PATCH", `agents/${agent.id}/folders/attach/${folderId}`);

/** The folder of an agent that has none: it may exist from an earlier time. @param {Agent} agent */
async function ownFolder(agent) {
  const name = `Files of ${agent.name} (${agent.id.slice(-6)})`;
  const [old] = /** @type {Folder[]} */ (await get("folders/", { name }));
  const folder = old ?? (await post("folders/", { name }));
  await attach(agent, folder.id);
  return folder.id;
}

/** @param {{agent: Agent}} props */
export function Files({ agent }) {
  const { value, error, again, refresh } = useLoaded((signal) => load(agent.id, signal), [agent.id]);
  const [sending, setSending] = useState(/** @type {string[]} */ ([]));
  const [failures, setFailures] = useState(/** @type {unknown[]} */ ([]));
  const [attaching, setAttaching] = useState(false);
  const first = value?.shelves[0]?.folder.id;
  const waits = value?.shelves.some(({ files }) => files.some(isUnfinished));
  useRepeated(refresh, waits ? SOON : LOOK, [], waits);
  /** @param {File[]} files @param {string | undefined} folderId  none: the first folder, or a new one with the agent's name */
  const send = async (files, folderId) => {
    setFailures([]);
    setSending(files.map((file) => file.name));
    try {
      const target = folderId ?? first ?? (await ownFolder(agent));
      for (const file of files) {
        const form = new FormData();
        form.append("file", file, file.name);
        await call("POST", `folders/${target}/upload`, { form }).catch((failed) => setFailures((old) => [...old, failed]));
        setSending((old) => old.slice(1));
        again();
      }
    } catch (failed) {
      setFailures([failed]);
    }
    setSending([]);
    again();
  };
  const failed = (/** @type {unknown} */ problem) => setFailures([problem]);
  const over = useDrop((files, on) => send(files, /** @type {HTMLElement | null} */ (on?.closest("[data-folder]") ?? null)?.dataset.folder));
  useCommands(
    () => [
      { name: "Upload files", hint: "Memory", act: () => chooseFiles("", (files) => send(files, undefined), true) },
      { name: "Attach a folder", hint: "Memory", act: () => setAttaching(true) },
    ],
    [agent.id, first],
  );
  const opened = [...(value?.seen.values() ?? [])].filter((one) => one.is_open).length;
  return html`<section class=${`stack ${over ? "dropping" : ""}`} aria-labelledby="files">
    <div class="row"><div class="grow"><h2 id="files">Files</h2><p class="muted small">What the agent can open, search and quote. Open files stand in what the model reads.
        ${value && value.seen.size > 0 && ` ${count(opened)} open${agent.max_files_open ? ` of at most ${count(agent.max_files_open)}` : ""}.`}</p></div>
      <button type="button" onClick=${() => setAttaching(true)}>Attach a folder</button>
      <button type="button" disabled=${sending.length > 0} onClick=${() => chooseFiles("", (files) => send(files, undefined), true)}><${Icon} name="plus" /> Upload files</button></div>
    ${failures.map((one) => html`<${Failure} error=${one} advice=${adviceOn(one)} close=${() => setFailures((old) => old.filter((other) => other !== one))} />`)}
    <${Failure} error=${error} again=${again} />
    ${!value && !error && html`<${Loading} first label="Loading files" />`}
    ${sending.length > 0 && html`<p class="muted small" role="status">Sending ${sending[0]}${sending.length > 1 ? ` and ${count(sending.length - 1)} more` : ""} …</p>`}
    ${value?.shelves.length === 0 && html`<p class="empty card">This agent has no files. Drop some here, or upload them: they get a folder of the agent's own.</p>`}
    ${value?.shelves.map((shelf) => html`<${FolderCard} key=${shelf.folder.id} shelf=${shelf} seen=${value.seen} agent=${agent} again=${again} failed=${failed} send=${send} />`)}
    ${over && html`<p class="drop-hint" role="status">Drop the files to upload them</p>`}
    ${attaching && html`<${AttachFolder} agent=${agent} has=${value?.shelves.map(({ folder }) => folder.id) ?? []} close=${() => setAttaching(false)} made=${again} />`}
  </section>`;
}

/** @param {{shelf: Shelf, seen: Map<string, AgentFile>, agent: Agent, again: () => void, failed: (error: unknown) => void, send: (files: File[], folderId: string) => void}} props */
function FolderCard({ shelf, seen, agent, again, failed, send }) {
  const { folder, files } = shelf;
  const [removing, setRemoving] = useState(/** @type {FolderFile | null} */ (null));
  const [busy, setBusy] = useState(false);
  /** @param {() => Promise<unknown>} act */
  const perform = async (act) => {
    setBusy(true);
    await act().catch(failed);
    setBusy(false);
    again();
  };
  const acts = {
    open: (/** @type {FolderFile} */ file) => perform(async () => {
      const closed = await call("PATCH", `agents/${agent.id}/files/${file.id}/open`);
      say(`${nameOf(file)} is open.${closed.length ? ` To make room, ${closed.join(", ")} was closed.` : ""}`);
    }),
    close: (/** @type {FolderFile} */ file) => perform(async () => {
      await call("PATCH", `agents/${agent.id}/files/${file.id}/close`);
      say(`${nameOf(file)} is closed.`);
    }),
    remove: setRemoving,
  };
  const detach = () => perform(async () => {
    await call("PATCH", `agents/${agent.id}/folders/detach/${folder.id}`);
    say("The folder was detached. Its files remain.", () => perform(() => attach(agent, folder.id)));
  });
  const remove = async () => {
    await call("DELETE", `folders/${folder.id}/${removing?.id}`);
    say("The file was deleted.");
    again();
  };
  return html`<article class="card folder" aria-label=${`Folder ${folder.name}`} data-folder=${folder.id}>
    <div class="row"><h3 class="grow ellipsis" dir="auto">${folder.name}</h3>
      <button type="button" aria-label=${`Upload into ${folder.name}`} onClick=${() => chooseFiles("", (chosen) => send(chosen, folder.id), true)}>Upload</button>
      <button type="button" aria-label=${`Detach ${folder.name}`} disabled=${busy} onClick=${detach}>Detach</button></div>
    ${folder.description && html`<p class="muted small" dir="auto">${folder.description}</p>`}
    ${files.length === 0 && html`<p class="muted small">This folder is empty.</p>`}
    <ul class="plain">${files.map((file) => html`<${FileRow} key=${file.id} file=${file} seen=${seen.get(file.id)} acts=${acts} busy=${busy} />`)}</ul>
    ${files.length === MOST && html`<p class="muted small">Only the newest ${count(MOST)} files are shown.</p>`}
    ${removing && html`<${Confirm} title="Delete this file?" act="Delete" done=${remove} close=${() => setRemoving(null)}
      text=${`${nameOf(removing)} and everything that was read from it are erased, for all agents with this folder. This cannot be undone.`} />`}
  </article>`;
}

/** @param {{agent: Agent, has: string[], close: () => void, made: () => void}} props */
function AttachFolder({ agent, has, close, made }) {
  const { value, error, again } = useLoaded((signal) => /** @type {Promise<Folder[]>} */ (get("folders/", { limit: MOST }, signal)), []);
  const [chosen, setChosen] = useState("");
  const others = (value ?? []).filter((folder) => !has.includes(folder.id));
  const done = async (/** @type {FormData} */ form) => {
    const folderId = chosen || (await post("folders/", { name: form.get("name") })).id;
    await attach(agent, folderId);
    say("The folder was attached. The agent has its tools for files.");
    made();
  };
  return html`<${FormDialog} title="Attach a folder" act="Attach" done=${done} close=${close}>
    <${Failure} error=${error} again=${again} />
    <label class="field"><span>Folder</span><select value=${chosen} onChange=${(/** @type {any} */ event) => setChosen(event.target.value)}>
      <option value="">a new folder</option>${others.map((folder) => html`<option value=${folder.id}>${folder.name}</option>`)}</select></label>
    ${!chosen && html`<label class="field"><span>Name</span><input name="name" required dir="auto" autocomplete="off" autofocus /></label>`}
  <//>`;
}
