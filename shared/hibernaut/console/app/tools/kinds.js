/** What a tool is, in words: its kind, its packages, and arguments to begin with. */

/** @typedef {import("../types.js").Tool} Tool */
/** @typedef {import("../types.js").Requirement} Requirement */

/** The id of a tool that is not saved yet. */
export const NEW = "new";

/** The kinds by which a list is filtered: the name, its title, and the query. */
export const KINDS = /** @type {[string, string, Record<string, string[]>][]} */ ([
  ["", "all", {}],
  ["custom", "custom", { tool_types: ["custom"] }],
  ["mcp", "of MCP servers", { tool_types: ["external_mcp"] }],
  ["builtin", "built in", { exclude_tool_types: ["custom", "external_mcp"] }],
]);

/** @param {Tool} tool */
export function kindOf(tool) {
  if (tool.tool_type === "custom") return tool.source_type === "typescript" ? "TypeScript" : "Python";
  if (tool.tool_type === "external_mcp") return `MCP: ${tool.metadata_?.mcp?.server_name ?? "unknown server"}`;
  return "built in";
}

/**
 * What became of the packages of a tool, and the colour of its mark; null for a tool without any.
 * @param {Tool} tool
 * @returns {[string, string] | null}
 */
export function packagesOf(tool) {
  if (!tool.pip_requirements?.length) return null;
  if (!tool.packages) return ["packages not installed", "waiting"];
  return [tool.packages.pins.length === 1 ? "1 package" : `${tool.packages.pins.length} packages`, "busy"];
}

/**
 * What is wrong with a tool of an MCP server; null for all others.
 * @param {Tool} tool
 */
export function lostAt(tool) {
  const state = tool.metadata_?.mcp?.state;
  if (state === "missing") return "Its MCP server has this tool no more: calls fail.";
  if (state === "changed") return "Its MCP server has changed this tool: calls fail until the server's tools are read again.";
  return null;
}

const BLANKS = /** @type {Record<string, any>} */ ({ string: "", number: 0, integer: 0, boolean: false, array: [], object: {}, null: null });

/**
 * Arguments of the right form, for a person to change.
 * @param {any} schema  of the function
 */
export function blankArguments(schema) {
  const properties = Object.entries(schema?.parameters?.properties ?? {});
  return Object.fromEntries(
    properties.map(([name, one]) => {
      const type = Array.isArray(one?.type) ? one.type[0] : one?.type;
      return [name, one?.default ?? one?.enum?.[0] ?? BLANKS[type] ?? null];
    }),
  );
}

/**
 * Requirements as lines, `name` or `name version`.
 * @param {Requirement[] | null | undefined} requirements
 */
export const requirementLines = (requirements) => (requirements ?? []).map((one) => `${one.name} ${one.version ?? ""}`.trim()).join("\n");

/**
 * @param {string} lines
 * @returns {Requirement[]}
 */
export function requirementsOf(lines) {
  const found = lines.split("\n").map((line) => /^\s*([\w.-]+(?:\[[^\]]*\])?)\s*(.*?)\s*$/.exec(line));
  return found.filter((one) => one !== null).map(([, name, version]) => ({ name, version: version || null }));
}

/**
 * Whether two values are the same JSON, in any order of names.
 * @param {unknown} one
 * @param {unknown} other
 * @returns {boolean}
 */
export function same(one, other) {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other || Array.isArray(one) !== Array.isArray(other)) return false;
  const [mine, theirs] = [/** @type {any} */ (one), /** @type {any} */ (other)];
  const names = Object.keys(mine);
  return names.length === Object.keys(theirs).length && names.every((name) => name in theirs && same(mine[name], theirs[name]));
}
