// Talks to an agent as a page with the Vercel AI SDK does, whose provider brings the last TypeScript SDK before 1.0.
// Prints what came back as JSON.
//
//     node chat.mjs <address of the server> <handle of a model>

import { convertToAiSdkMessage, createLetta } from "@letta-ai/vercel-ai-sdk-provider";
import { generateText, streamText } from "ai";

const [baseUrl, model] = process.argv.slice(2);
const letta = createLetta({ baseUrl, token: "any" });
const { client } = letta;

const agent = await client.agents.create({ name: "page", model, memoryBlocks: [{ label: "human", value: "" }] });
const common = { model: letta(), tools: { memory_insert: letta.tool("memory_insert") } };
const of = (more = {}) => ({ letta: { agent: { id: agent.id, ...more } } });

const whole = await generateText({ ...common, providerOptions: of(), prompt: "I like tea." });

async function streamed(options) {
  const kinds = [];
  const texts = [];
  for await (const part of streamText({ ...common, prompt: "What do I like?", providerOptions: of(options) }).fullStream) {
    kinds.push(part.type);
    if (part.type === "text-delta") texts.push(part.text);
    if (part.type === "error") throw part.error;
  }
  return { kinds, texts };
}

const streams = [await streamed({}), await streamed({ streamTokens: true, includePings: true }), await streamed({ background: true })];

// The provider has no groups; its SDK has.
const group = await client.groups.create({ agentIds: [agent.id], description: "one" });
const said = await client.groups.messages.create(group.id, { messages: [{ role: "user", content: "Hello" }] });
await client.groups.delete(group.id);

const run = await client.agents.messages.createAsync(agent.id, { messages: [{ role: "user", content: "Later" }] });
const log = await client.agents.messages.list(agent.id, { limit: 50 });
const shown = convertToAiSdkMessage(log);
const state = await client.agents.retrieve(agent.id);
await client.agents.delete(agent.id);
const missing = await client.agents.retrieve(agent.id).catch((error) => error.statusCode);

console.log(
  JSON.stringify({
    whole: { text: whole.text, kinds: whole.content.map((part) => part.type) },
    streams,
    said: said.messages.map((message) => message.messageType),
    run: { agentId: run.agentId === agent.id, status: run.status },
    log: log.map((message) => message.messageType),
    shown: shown.map((message) => message.role),
    human: state.memory.blocks[0].value,
    handle: state.llmConfig.handle,
    missing,
  }),
);
