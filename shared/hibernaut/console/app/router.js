/** Places of the console, in the fragment of the address: they work under every path prefix and need no server. */
import { store } from "./store.js";

/**
 * @typedef {{place: string, agentId: string | null, id: string | null, query: URLSearchParams}} Route
 * @returns {Route}
 */
function read() {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  const asked = new URLSearchParams(query);
  if (parts[0] === "agents" && parts[1]) return { place: parts[2] ?? "chat", agentId: parts[1], id: null, query: asked };
  return { place: parts[0] ?? "home", agentId: null, id: parts[1] ?? null, query: asked };
}

export const route = store(read());
addEventListener("hashchange", () => route.set(read()));

/**
 * The address of a place of an agent.
 * @param {string} agentId
 * @param {string} [place]
 * @param {Record<string, string>} [query]
 */
export function agentPlace(agentId, place = "chat", query = {}) {
  const asked = new URLSearchParams(query).toString();
  return `#/agents/${encodeURIComponent(agentId)}/${place}${asked ? `?${asked}` : ""}`;
}

/** @param {string} hash */
export function go(hash) {
  location.hash = hash;
}
