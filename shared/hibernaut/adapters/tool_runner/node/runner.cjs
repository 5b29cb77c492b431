// Runs one tool in JavaScript or TypeScript in its own process, and writes the reply to a descriptor of its own.
//
// `start.py` makes the process that executes this program become Node, behind the walls. The job is on standard input; the descriptor is the first
// argument. The reply is that of `frames.py`: whoever reads it knows that the tool may have written it itself.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const util = require("node:util");
const vm = require("node:vm");
const { createRequire } = require("node:module");
const { transform } = require("./sucrase.cjs");

const FILE = "<tool>";
const ERROR_LIMIT = 1000;
const channel = Number(process.argv[2]);
const job = JSON.parse(fs.readFileSync(0, "utf8"));
// The tool may replace whatever it finds later.
const end = process.reallyExit.bind(process);
const { writeSync } = fs;
let replied = false;

/** The source as a script for `require`, each statement on the line where it was. Throws a SyntaxError with the line and the column. */
function transpiled(source, typed) {
  const transforms = typed ? ["typescript", "imports"] : ["imports"];
  return transform(source, { transforms, preserveDynamicImport: true, disableESTransforms: true }).code;
}

function cut(text) {
  const limit = job.output_limit;
  if (text.length <= limit) return text;
  return `${text.slice(0, limit)}... [NOTE: function output was truncated since it exceeded the character limit (${text.length} > ${limit})]`;
}

/** Values that JSON has no form for, as the nearest that it has. */
function plain(_key, value) {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Map) return Object.fromEntries(value);
  return value instanceof Set ? [...value] : value;
}

/** The section of a return value: a string as it is, other JSON as JSON, everything else as Node shows it. */
function written(value) {
  if (typeof value === "string") return ["t", cut(value)];
  if (value === undefined) return ["j", "null"];
  let text;
  try {
    if (typeof value !== "number" || Number.isFinite(value)) text = JSON.stringify(value, plain);
  } catch {
    text = undefined;
  }
  if (text === undefined) return ["t", cut(util.inspect(value))];
  return text.length > job.output_limit ? ["t", cut(text)] : ["j", text];
}

/** The trace of an error, down to the tool's own first frame. */
function traced(error) {
  const lines = String(error.stack).split("\n");
  const last = lines.findLastIndex((line) => line.includes(FILE));
  const own = last < 0 ? lines.filter((line) => !/^\s+at /.test(line)) : lines.slice(0, last + 1);
  return own.filter((line) => !line.includes(__filename)).join("\n");
}

function described(error) {
  try {
    if (util.types.isNativeError(error) || error instanceof Error) return [`${error.name}: ${error.message}`, traced(error)];
    return [`Error: ${util.inspect(error)}`, `Thrown: ${util.inspect(error)}`];
  } catch {
    return ["Error: (an error without a readable text)", ""];
  }
}

/** Whether the limit of memory refused a buffer: V8 throws where it cannot allocate one, and ends the process for everything else. */
function refusedMemory(error) {
  return error instanceof RangeError && /allocation failed/i.test(error.message);
}

function failure(error) {
  const [told, trace] = described(error);
  const text = refusedMemory(error) ? `MemoryError: more than the ${job.memory / 2 ** 20} MB that a tool may use` : told;
  return [["e", `Error executing function ${job.name}: ${text}`.slice(0, ERROR_LIMIT)], ["b", cut(trace)]];
}

function framed(sections) {
  const parts = [];
  for (const [tag, text] of [...sections, [".", ""]]) {
    const data = Buffer.from(text, "utf8");
    const head = Buffer.alloc(5);
    head.write(tag, 0, "latin1");
    head.writeUInt32BE(data.length, 1);
    parts.push(head, data);
  }
  return Buffer.concat(parts);
}

/** Write the reply and end this process: timers and sockets that the tool left behind must not keep it alive. */
function reply(sections) {
  if (replied) return;
  replied = true;
  const data = framed(sections);
  for (let at = 0; at < data.length; ) at += writeSync(channel, data, at);
  end(0);
}

/** The tool's function. Throws what its source throws, and a ReferenceError if it defines no such function. */
function loaded() {
  const missing = `the source defines no function called ${job.name}`;
  if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(job.name)) throw new ReferenceError(missing);
  const module = { exports: {} };
  const place = path.join(process.cwd(), "tool.js");
  // Exported or not, the function is a name at the top of the source.
  const code = `${transpiled(job.source_code, true)}\n;return typeof ${job.name} === "undefined" ? undefined : ${job.name};`;
  const run = vm.compileFunction(code, ["exports", "require", "module", "__filename", "__dirname"], {
    filename: FILE,
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const tool = run(module.exports, createRequire(place), module, place, process.cwd());
  if (typeof tool !== "function") throw new ReferenceError(missing);
  return tool;
}

async function main() {
  // For the program of `run_code`, whose own code is written by a model at each call.
  Object.defineProperty(globalThis, Symbol.for("hibernaut.transpiled"), { value: transpiled });
  globalThis.client = null;
  const tool = loaded();
  // An argument that is absent is an empty list.
  const result = await tool(...job.positional.map(([value]) => value));
  reply([written(result)]);
}

for (const [name, value] of Object.entries(job.client ?? {})) {
  const variable = { base_url: "LETTA_BASE_URL", token: "LETTA_API_KEY" }[name];
  if (variable && !(variable in process.env)) process.env[variable] = value;
}
process.on("uncaughtException", (error) => reply(failure(error)));
process.on("beforeExit", () => reply(failure(new Error("the function's promise waits for something that never happens"))));
process.on("exit", (code) => reply(failure(new Error(`the tool ended its process (exit code ${code}) before it returned`))));
main().catch((error) => reply(failure(error)));
