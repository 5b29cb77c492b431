/** The message as curl and as code of the SDKs. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { address, key } from "../api.js";
import { Code } from "../markdown_view.js";
import { Dialog } from "../ui.js";
import { DEFAULT } from "./session.js";

/** @typedef {{agentId: string, conversation: string, content: import("./images.js").Content, role: string}} Sent */

/** What stands for the bytes of an image until they are read from its file. */
const MARK = "\u0000";
const MARK_IN_JSON = JSON.stringify(MARK).slice(1, -1);

/** A text as one word of a shell. @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * The content with marks in place of the bytes of its images, and the names of the files that hold them.
 * @param {Sent["content"]} content
 */
function marked(content) {
  /** @type {string[]} */
  const files = [];
  if (typeof content === "string") return { content, files };
  const parts = content.map((part) => {
    if (!part.source?.data) return part;
    files.push(`image-${files.length + 1}.${part.source.media_type?.split("/")[1] ?? "png"}`);
    return { ...part, source: { ...part.source, data: MARK } };
  });
  return { content: parts, files };
}

/**
 * JSON with an expression of the language in place of each mark.
 * @param {unknown} value @param {string[]} files @param {(file: string) => string} read
 */
function coded(value, files, read) {
  return JSON.stringify(value).split(JSON.stringify(MARK)).reduce((text, rest, place) => text + read(files[place - 1]) + rest);
}

/** @param {Sent} sent @returns {Record<string, string>} */
export function snippets({ agentId, conversation, content: given, role }) {
  const { content, files } = marked(given);
  const own = conversation === DEFAULT;
  const base = address("").href.replace(/\/v1\/$/, "");
  const url = own ? `${base}/v1/agents/${agentId}/messages/stream` : `${base}/v1/conversations/${conversation}/messages`;
  const body = { messages: [{ role, content }], streaming: true, stream_tokens: true };
  const secret = key.get() ? ` \\\n  -H "authorization: Bearer $HIBERNAUT_API_KEY"` : "";
  const python = key.get() ? `, api_key=os.environ["HIBERNAUT_API_KEY"]` : "";
  const typescript = key.get() ? ", apiKey: process.env.HIBERNAUT_API_KEY" : "";
  const imports = [files.length && "import base64", python && "import os", files.length && "from pathlib import Path"].filter(Boolean).join("\n");
  const inPython = coded(body.messages, files, (file) => `base64.b64encode(Path(${JSON.stringify(file)}).read_bytes()).decode()`);
  const message = coded(body.messages, files, (file) => `readFileSync(${JSON.stringify(file)}, "base64")`);
  // A shell limits the length of an argument: with images the body comes by a pipe, which its own printf fills.
  const piped = JSON.stringify(body).split(MARK_IN_JSON).map(quoted).reduce((text, rest, place) => `${text} "$(base64 < ${files[place - 1]} | tr -d '\\n')" ${rest}`);
  return {
    curl: `${files.length ? `printf %s ${piped} |\n` : ""}curl -sN ${quoted(url)} \\\n  -H 'content-type: application/json'${secret} \\\n  -d ${files.length ? "@-" : piped}`,
    Python: `${imports ? `${imports}\n\n` : ""}from letta_client import Letta\n\nclient = Letta(base_url=${JSON.stringify(base)}${python})\n${
      own
        ? `reply = client.agents.messages.create(${JSON.stringify(agentId)}, messages=${inPython})\nfor one in reply.messages:`
        : `stream = client.conversations.messages.create(${JSON.stringify(conversation)}, messages=${inPython})\nfor one in stream:`
    }\n    print(one)\n`,
    TypeScript: `${files.length ? `import { readFileSync } from "node:fs";\n` : ""}import Letta from "@letta-ai/letta-client";\n\nconst client = new Letta({ baseURL: ${JSON.stringify(base)}${typescript} });\n${
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
