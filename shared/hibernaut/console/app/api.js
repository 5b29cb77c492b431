/**
 * The client of the public API. It knows addresses, the key of the session and errors; it must not know any view.
 */
import { address, begun, headers, key, newOtid } from "./request.js";
import { store } from "./store.js";

export { address, key, newOtid };

/** What the server says of itself; a 401 in other words is that of somebody else, such as a model provider whose key is checked. */
const UNKNOWN = "Unauthorized";
/** Milliseconds between questions for the health of a server that does not answer. */
const [SHORTEST, LONGEST] = [250, 8000];

/** "ok"; "offline": no request arrives; "key": the server wants an API key. */
export const connection = store(/** @type {"ok" | "offline" | "key"} */ ("ok"));

/** A failed request: which route, which status, what the server said, and what to do about it. */
export class ApiError extends Error {
  /**
   * @param {string} route
   * @param {number} status  0: no answer came
   * @param {any} body
   */
  constructor(route, status, body) {
    super(said(body, status));
    this.route = route;
    this.status = status;
    this.body = body;
    this.code = body?.code ?? body?.detail?.code ?? null;
  }

  /** What the person can do. */
  get advice() {
    if (this.status === 0) return "The server cannot be reached. The console tries again by itself; check that the server runs.";
    if (this.status === 401) return "Enter an API key of this server.";
    if (this.status === 403) return "Use a key with a wider scope, or ask the server's administrator.";
    if (this.status === 404) return "It may have been deleted. Go back and load the list again.";
    if (this.status === 409) return "Something changed meanwhile. Look at the newest state, then try again.";
    if (this.status === 429) return "Wait a moment, then try again.";
    if (this.status === 422 || this.status === 400) return "Correct the input, then try again.";
    return "Try again. If it stays, the server's log names the cause.";
  }
}

/**
 * @param {any} body
 * @param {number} status
 */
function said(body, status) {
  if (Array.isArray(body?.detail)) return body.detail.map(fault).join(" ");
  const detail = body?.detail?.message ?? body?.detail ?? body?.error?.detail ?? body?.error?.message;
  return typeof detail === "string" && detail ? detail : status ? `The server answered ${status}.` : "No answer came.";
}

/**
 * A fault of one field.
 * @param {{loc?: (string | number)[], msg?: string}} one
 */
function fault({ loc = [], msg = "is wrong" }) {
  return `${loc.filter((part) => part !== "body").join(".") || "The request"}: ${msg}.`;
}

/**
 * @typedef {{query?: import("./request.js").Query, body?: unknown, form?: FormData, signal?: AbortSignal}} Options
 */

/**
 * Send a request; the response if it succeeded. Raises ApiError.
 * @param {string} method
 * @param {string} path
 * @param {Options} [options]
 */
export async function open(method, path, { query, body, form, signal } = {}) {
  const url = address(path, query);
  const route = `${method} ${url.pathname}`;
  const send = () => {
    const told = { ...headers(), ...(body === undefined ? {} : { "content-type": "application/json" }) };
    return { answer: fetch(url, { method, headers: told, body: form ?? (body === undefined ? undefined : JSON.stringify(body)), signal }), secret: key.get() };
  };
  try {
    const first = (method === "GET" && begun(url)) || send();
    let response = await first.answer;
    let refusal = await refusalOf(response);
    // A refusal of the time before the key was entered says nothing of that key, and nothing was done.
    if (isForKey(response, refusal) && key.get() !== first.secret) {
      response = await send().answer;
      refusal = await refusalOf(response);
    }
    if (isForKey(response, refusal)) connection.set("key");
    else reached();
    if (response.ok) return response;
    throw new ApiError(route, response.status, refusal);
  } catch (error) {
    if (error instanceof ApiError || signal?.aborted) throw error;
    lost();
    throw new ApiError(route, 0, null);
  }
}

/** What a refusal says, null of an answer. @param {Response} response */
const refusalOf = (response) => (response.ok ? null : response.json().catch(() => null));

/** @param {Response} response @param {any} refusal */
const isForKey = (response, refusal) => response.status === 401 && refusal?.detail === UNKNOWN;

/**
 * Send a request; the JSON of its answer.
 * @param {string} method
 * @param {string} path
 * @param {Options} [options]
 * @returns {Promise<any>}
 */
export async function call(method, path, options) {
  const response = await open(method, path, options);
  const text = await response.text();
  return text ? JSON.parse(text) : null;
}

/** @type {(path: string, query?: Options["query"], signal?: AbortSignal) => Promise<any>} */
export const get = (path, query, signal) => call("GET", path, { query, signal });
/** @type {(path: string, body?: unknown, query?: Options["query"]) => Promise<any>} */
export const post = (path, body, query) => call("POST", path, { body, query });

let asking = false;

/** No answer came: ask for the server's health until it answers. */
export function lost() {
  connection.set("offline");
  if (asking) return;
  asking = true;
  let wait = SHORTEST;
  /** @type {ReturnType<typeof setTimeout>} */
  let timer;
  const again = async () => {
    clearTimeout(timer);
    if (await answers()) {
      removeEventListener("online", again);
      return reached();
    }
    wait = Math.min(wait * 2, LONGEST);
    timer = setTimeout(again, wait);
    return undefined;
  };
  timer = setTimeout(again, wait);
  addEventListener("online", again);
}

async function answers() {
  try {
    return (await fetch(address("health"), { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}

// A server on this machine answers without a network.
addEventListener("offline", async () => (await answers()) || lost());

function reached() {
  asking = false;
  if (connection.get() !== "key" || key.get()) connection.set("ok");
}

/** Resolves when the server answers again. */
export function backOnline() {
  if (connection.get() !== "offline") return Promise.resolve();
  return new Promise((resolve) => {
    const stop = connection.watch(() => {
      if (connection.get() === "offline") return;
      stop();
      resolve(undefined);
    });
  });
}
