/**
 * What a request of the public API is: its address and its headers; and those that were sent before anybody asked for them. It imports nothing, so that
 * the first view's requests do not wait for the other modules (`home/early.js`).
 */

/** The API lies beside the console, under whatever prefix the page was loaded. */
const ROOT = new URL("../v1/", document.baseURI);
const KEY = "hibernaut-key";

/** @typedef {Record<string, string | number | boolean | string[] | null | undefined>} Query */

/** The API key of this session of the browser: it is gone with the tab. */
export const key = {
  get: () => sessionStorage.getItem(KEY),
  /** @param {string | null} value */
  set(value) {
    if (value) sessionStorage.setItem(KEY, value);
    else sessionStorage.removeItem(KEY);
  },
};

/**
 * The address of a route.
 * @param {string} path  below /v1/
 * @param {Query} [query]
 */
export function address(path, query = {}) {
  const url = new URL(path, ROOT);
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(one));
  }
  return url;
}

/** An id for one sending of a message: the server takes a message that is sent again with its otid once. A page that is not secure has no `randomUUID`. */
export const newOtid = () => crypto.randomUUID?.() ?? `${Date.now()}-${Math.random().toString(16).slice(2)}`;

/** @returns {Record<string, string>} */
export function headers() {
  const secret = key.get();
  return { accept: "application/json, text/event-stream", ...(secret ? { authorization: `Bearer ${secret}` } : {}) };
}

/** An answer that is on its way. `secret`: the key that it was asked for with. `at`: when, by `performance.now()`. @typedef {{answer: Promise<Response>, secret: string | null, at: number}} Early */
/** The answers that are on their way, by their addresses. @type {Map<string, Early>} */
const early = new Map();

/**
 * Send a request for somebody who will ask for it.
 * @param {string} path
 * @param {Query} query
 */
export function begin(path, query) {
  const url = address(path, query);
  const answer = fetch(url, { headers: headers() });
  answer.catch(() => {}); // Whoever takes it hears of the failure.
  early.set(url.href, { answer, secret: key.get(), at: performance.now() });
}

/** The answer that is on its way from an address, once. @param {URL} url */
export function begun(url) {
  const known = early.get(url.href);
  early.delete(url.href);
  return known;
}

/** When a request began that is sent now, or was sent for its caller before, by `performance.now()`. @param {URL} url */
export const beginOf = (url) => early.get(url.href)?.at ?? performance.now();
