// Streams tokens, goes away in the middle and comes back: what was seen before and after is what a client sees that never went away.
// Prints "heard" when the first words of a reply are there, and in the end all that was seen, as JSON.
//
//     node resume.mjs <address of the server> <handle of a model>

import { Letta } from "@letta-ai/letta-client";

const [baseURL, model] = process.argv.slice(2);
const client = new Letta({ baseURL, apiKey: "any", maxRetries: 0 });

const hear = () => console.log(JSON.stringify("heard"));

async function all(stream, first = () => {}) {
  const seen = [];
  for await (const event of await stream) {
    if (event.message_type === "assistant_message" && !seen.some((one) => one.message_type === "assistant_message")) first();
    seen.push(event);
  }
  return seen;
}

const agent = await client.agents.create({ model, memory_blocks: [{ label: "human", value: "" }] });
const story = { input: "Tell me a story", streaming: true, stream_tokens: true };

// In the background the events are numbered. Leaving the loop closes the connection, here in the middle of a sentence.
const before = [];
for await (const event of await client.agents.messages.create(agent.id, { ...story, background: true })) {
  before.push(event);
  if (event.message_type === "assistant_message") break;
}
hear();
const { run_id: cut, seq_id } = before.at(-1);
const after = await all(client.runs.messages.stream(cut, { starting_after: seq_id }));
const uncut = await all(client.runs.messages.stream(cut, { starting_after: 0 }));

// Here every run can be resumed, also one that was not started in the background.
const foreground = await all(client.agents.messages.create(agent.id, story), hear);
const again = await all(client.runs.messages.stream(foreground[0].run_id, { starting_after: 0 }));

// What stands in the log: the same words in one piece.
const whole = (await client.runs.messages.list(cut)).items;

console.log(JSON.stringify({ before, after, uncut, foreground, again, whole }));
