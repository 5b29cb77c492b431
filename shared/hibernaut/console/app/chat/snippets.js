/** The message as curl and as code of the SDKs. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { address, key } from "../api.js";
import { Code } from "../markdown_view.js";
import { Dialog } from "../ui.js";
import { DEFAULT } from "./session.js";

/** @typedef {{agentId: string, conversation: string, text: string, role: string}} Sent */

/** A text as one word of a shell. @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** @param {Sent} sent @returns {Record<string, string>} */
export function snippets({ agentId, conversation, text, role }) {
  const own = conversation === DEFAULT;
  const base = address("").href.replace(/\/v1\/$/, "");
  const url = own ? `${base}/v1/agents/${agentId}/messages/stream` : `${base}/v1/conversations/${conversation}/messages`;
  const body = JSON.stringify({ messages: [{ role, content: text }], streaming: true, stream_tokens: true });
  const secret = key.get() ? ` \\\n  -H "authorization: Bearer $HIBERNAUT_API_KEY"` : "";
  const python = key.get() ? `, api_key=os.environ["HIBERNAUT_API_KEY"]` : "";
  const typescript = key.get() ? ", apiKey: process.env.HIBERNAUT_API_KEY" : "";
  const message = `[{"role": ${JSON.stringify(role)}, "content": ${JSON.stringify(text)}}]`;
  return {
    curl: `curl -sN ${quoted(url)} \\\n  -H 'content-type: application/json'${secret} \\\n  -d ${quoted(body)}`,
    Python: `${python ? "import os\n\n" : ""}from letta_client import Letta\n\nclient = Letta(base_url=${JSON.stringify(base)}${python})\n${
      own
        ? `reply = client.agents.messages.create(${JSON.stringify(agentId)}, messages=${message})\nfor one in reply.messages:`
        : `stream = client.conversations.messages.create(${JSON.stringify(conversation)}, messages=${message})\nfor one in stream:`
    }\n    print(one)\n`,
    TypeScript: `import Letta from "@letta-ai/letta-client";\n\nconst client = new Letta({ baseURL: ${JSON.stringify(base)}${typescript} });\n${
      own
        ? `const reply = await client.agents.messages.create(${JSON.stringify(agentId)}, { messages: ${message} });\nconsole.log(reply.messages);`
        : `const stream = await client.conversations.messages.create(${JSON.stringify(conversation)}, { messages: ${message} });\nfor await (const one of stream) console.log(one);`
    }\n`,
  };
}

/** @param {Sent & {close: () => void}} props */
export function Snippets({ close, ...sent }) {
  const all = snippets(sent);
  const [chosen, setChosen] = useState("curl");
  return html`<${Dialog} title="This message as code" close=${close} wide>
    <div class="row" role="group" aria-label="Language">
      ${Object.keys(all).map((name) => html`<button type="button" aria-pressed=${name === chosen} class=${name === chosen ? "primary" : ""} onClick=${() => setChosen(name)}>${name}</button>`)}
    </div>
    <${Code} language=${chosen} label=${chosen} text=${all[chosen]} />
  <//>`;
}
