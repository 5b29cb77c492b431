// What a user of the TypeScript SDK does first: make an agent, talk to it, read back what was said. Prints what it saw as JSON.
//
//     node steps.mjs <address of the server> <handle of a model>

import { Letta, NotFoundError } from "@letta-ai/letta-client";

const [baseURL, model] = process.argv.slice(2);
const client = new Letta({ baseURL, apiKey: "any", maxRetries: 0 });

const agent = await client.agents.create({ model, memory_blocks: [{ label: "human", value: "" }] });

const events = [];
const stream = await client.agents.messages.create(agent.id, { input: "I like tea", streaming: true });
for await (const event of stream) events.push(event);

const answer = await client.agents.messages.create(agent.id, { input: "And coffee" });

const listed = [];
for await (const message of client.agents.messages.list(agent.id, { order: "asc" })) listed.push(message);

const runs = [];
for await (const run of client.runs.list({ agent_id: agent.id, limit: 1 })) runs.push(run);
const steps = (await client.runs.steps.list(runs[1].id)).items;

const human = await client.agents.blocks.retrieve("human", { agent_id: agent.id });

await client.agents.delete(agent.id);
const missing = await client.agents.retrieve(agent.id).catch((error) => error);

console.log(
  JSON.stringify({
    agent: agent.id,
    events,
    answer,
    listed: listed.map((message) => message.message_type),
    runs: runs.map((run) => run.status),
    steps: steps.map((step) => step.id),
    human: human.value,
    missing: missing instanceof NotFoundError && missing.status,
  }),
);
