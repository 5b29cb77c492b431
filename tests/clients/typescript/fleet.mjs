// Applies a fleet as lettactl 0.2x does: the same requests in the same order, by the SDK and by `fetch` (github.com/nouamanecodes/lettactl,
// src/lib/client/letta-client.ts and src/lib/apply). Prints what it saw as JSON.
//
//     node fleet.mjs <address of the server> <handle of a model>

import { Letta } from "@letta-ai/letta-client";

const [baseURL, model] = process.argv.slice(2);
const client = new Letta({ baseURL, apiKey: "any", maxRetries: 0 });
const FLEET = ["fleet-researcher", "fleet-writer"];
const SOURCE = `def fleet_greeting(name: str) -> str:
    """Greets somebody.

    Args:
        name (str): Who is greeted.
    """
    return f"Hello {name}"
`;

async function asked(method, path, body) {
  const headers = { "Content-Type": "application/json", Authorization: "Bearer any" };
  const response = await fetch(baseURL + path, { method, headers, body: body && JSON.stringify(body) });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.status === 204 ? null : response.json();
}

async function all(pages) {
  const found = [];
  for await (const one of pages) found.push(one);
  return found;
}

async function agents() {
  const found = [];
  for (let after = null; ; ) {
    const page = await asked("GET", `/v1/agents/?limit=100&include=agent.tags${after ? `&after=${after}` : ""}`);
    found.push(...page);
    if (page.length < 100) return found.filter((agent) => FLEET.includes(agent.name));
    after = page.at(-1).id;
  }
}

async function foundOrMade(kind, list, make) {
  return (await all(list)).find((one) => (one.name ?? one.label) === kind) ?? (await make());
}

async function apply() {
  const servers = await client.mcpServers.list(); // none is configured, and that must be no error
  const named = await all(client.tools.list({ limit: 200 }));
  const tool = named.find((one) => one.name === "fleet_greeting") ?? (await client.tools.create({ source_code: SOURCE, source_type: "python" }));
  const blocks = client.blocks.list({ limit: 200 });
  const shared = await foundOrMade("fleet_rules", blocks, () => client.blocks.create({ label: "fleet_rules", description: "Rules", value: "Be kind.", limit: 2000 }));
  const folder = await foundOrMade("fleet-papers", client.folders.list({ limit: 200 }), async () => {
    const made = await client.folders.create({ name: "fleet-papers" });
    await client.folders.files.upload(made.id, { file: new File(["Parrots are green."], "parrots.txt"), name: "parrots.txt" });
    return made;
  });
  const archive = await foundOrMade("fleet-notes", client.archives.list({ limit: 200, name: "fleet-notes" }), async () => {
    const made = await client.archives.create({ name: "fleet-notes", description: "Notes" });
    await asked("POST", `/v1/archives/${made.id}/passages/batch`, { passages: [{ text: "A note." }, { text: "Another note.", metadata: { of: "fleet" } }] });
    return made;
  });
  const there = await agents();
  for (const name of FLEET) {
    const agent = there.find((one) => one.name === name);
    await (agent ? update(agent) : create(name, { tool, shared, folder, archive }));
  }
  return servers.length;
}

async function create(name, { tool, shared, folder, archive }) {
  const own = await client.blocks.create({ label: "notes", description: "Notes", value: `Of ${name}`, limit: 2000 });
  const payload = { name, description: "", model, system: "You help.", block_ids: [shared.id, own.id], tool_ids: [tool.id], context_window_limit: 28000, reasoning: false };
  const agent = await asked("POST", "/v1/agents/", { ...payload, tags: ["fleet"] });
  await client.agents.folders.attach(folder.id, { agent_id: agent.id });
  if (name === FLEET[0]) await client.agents.archives.attach(archive.id, { agent_id: agent.id });
  await asked("PATCH", `/v1/agents/${agent.id}?include=agent.tags`, { metadata: { "lettactl.folderFileHashes": { "fleet-papers": { "parrots.txt": "1" } } }, tags: ["fleet"] });
  await client.conversations.create({ agent_id: agent.id, summary: "first" });
}

async function update(agent) {
  const before = await asked("GET", `/v1/agents/${agent.id}?include=agent.tags`);
  await all(client.agents.tools.list(agent.id));
  await all(client.agents.folders.list(agent.id));
  await asked("GET", `/v1/agents/${agent.id}?include=agent.secrets`);
  const greeting = before.tools.find((tool) => tool.name === "fleet_greeting");
  await client.agents.tools.detach(greeting.id, { agent_id: agent.id });
  await client.agents.tools.attach(greeting.id, { agent_id: agent.id });
  const [notes] = (await all(client.agents.blocks.list(agent.id))).filter((block) => block.label === "notes");
  await client.blocks.update(notes.id, { value: `${notes.value}!` });
  await asked("PATCH", `/v1/agents/${agent.id}?include=agent.tags`, { system: "You help a lot.", tags: before.tags });
}

async function told() {
  const found = [];
  for (const { id } of await agents()) {
    const agent = await asked("GET", `/v1/agents/${id}?include=agent.tags`);
    const [folder] = await all(client.agents.folders.list(id));
    const files = await all(client.folders.files.list(folder.id));
    const archives = await all(client.archives.list({ agent_id: id, limit: 200 }));
    const passages = archives.length ? await asked("POST", "/v1/passages/search", { archive_id: archives[0].id, limit: 100 }) : [];
    const talks = await client.conversations.list({ agent_id: id });
    found.push({
      name: agent.name,
      system: agent.system,
      tags: agent.tags,
      tools: agent.tools.map((tool) => tool.name).filter((name) => name.startsWith("fleet")),
      notes: agent.memory.blocks.find((block) => block.label === "notes").value,
      rules: agent.memory.blocks.find((block) => block.label === "fleet_rules").value,
      hashes: agent.metadata["lettactl.folderFileHashes"],
      files: files.map((file) => file.file_name ?? file.name),
      passages: passages.map((one) => (one.passage ?? one).text).sort(),
      talks: (talks.items ?? talks).map((talk) => talk.summary),
    });
  }
  return found.sort((one, other) => one.name.localeCompare(other.name));
}

async function remove() {
  for (const { id } of await agents()) await asked("DELETE", `/v1/agents/${id}`);
  for (const tool of await all(client.tools.list({ name: "fleet_greeting" }))) await client.tools.delete(tool.id);
  for (const folder of await all(client.folders.list({ limit: 200 }))) if (folder.name === "fleet-papers") await client.folders.delete(folder.id);
  for (const archive of await all(client.archives.list({ name: "fleet-notes" }))) await client.archives.delete(archive.id);
  for (const block of await all(client.blocks.list({ limit: 200, connected_to_agents_count_eq: [0] }))) if (["fleet_rules", "notes"].includes(block.label)) await client.blocks.delete(block.id);
}

const servers = await apply();
const made = await told();
await apply();
const again = await told();
await remove();
const left = [(await agents()).length, (await all(client.blocks.list({ label: "fleet_rules" }))).length];
console.log(JSON.stringify({ servers, made, again, left }));
