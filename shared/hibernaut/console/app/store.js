/** Values that views watch: a value, those who are told of its changes, and a hook. */
import { useEffect, useRef, useState } from "../vendor/htm-preact-3.1.1.js";

/**
 * @template T
 * @typedef {{get: () => T, set: (next: T) => void, watch: (told: () => void) => () => void}} Store
 */

/**
 * A store of one value. Those who watch it are told after each change of the value.
 * @template T
 * @param {T} initial
 * @returns {Store<T>}
 */
export function store(initial) {
  let value = initial;
  /** @type {Set<() => void>} */
  const watchers = new Set();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const told of [...watchers]) told();
    },
    watch(told) {
      watchers.add(told);
      return () => watchers.delete(told);
    },
  };
}

/**
 * The value of a store, in a view that is drawn again when it changes.
 * @template T
 * @param {Store<T>} source
 * @returns {T}
 */
export function useStore(source) {
  const [, draw] = useState({});
  const shown = source.get();
  useEffect(() => {
    if (!Object.is(source.get(), shown)) draw({}); // It changed between the drawing and this effect.
    return source.watch(() => draw({}));
  }, [source]);
  return shown;
}

/**
 * What a function answers, drawn again when it arrives. `again` calls it anew, keeps the old value meanwhile, and resolves when the answer is there.
 * `refresh` does the same, but while an answer is under way it waits for that one: a page that asks by itself gives no answer up that the server has
 * half made.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @param {unknown[]} inputs
 * @returns {{value: T | undefined, error: unknown, loading: boolean, again: () => Promise<void>, refresh: () => Promise<void>}}
 */
export function useLoaded(load, inputs) {
  const [count, setCount] = useState(0);
  const [state, setState] = useState(
    /** @type {{value: T | undefined, error: unknown, loading: boolean}} */ ({ value: undefined, error: null, loading: true }),
  );
  const newest = useRef(0);
  const waiting = useRef(/** @type {{since: number, told: () => void}[]} */ ([]));
  const isUnderWay = useRef(true);
  useEffect(() => {
    const stop = new AbortController();
    const settle = (/** @type {(old: typeof state) => typeof state} */ change) => {
      if (stop.signal.aborted) return;
      isUnderWay.current = false;
      setState(change);
      // An answer to what was asked before tells nothing about what has changed since.
      const told = waiting.current.filter((one) => one.since <= count);
      waiting.current = waiting.current.filter((one) => one.since > count);
      for (const one of told) one.told();
    };
    isUnderWay.current = true;
    setState((old) => ({ ...old, loading: true }));
    load(stop.signal).then(
      (value) => settle(() => ({ value, error: null, loading: false })),
      (error) => settle((old) => ({ ...old, error, loading: false })),
    );
    return () => stop.abort();
  }, [...inputs, count]);
  const answered = () => /** @type {Promise<void>} */ (new Promise((resolve) => waiting.current.push({ since: newest.current, told: resolve })));
  const again = () => {
    newest.current += 1;
    setCount(newest.current);
    return answered();
  };
  const refresh = () => (isUnderWay.current ? answered() : again());
  return { ...state, again, refresh };
}
