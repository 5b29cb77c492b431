/** The commands of the palette. A view brings its own for as long as it is shown. */
import { useEffect } from "../vendor/htm-preact-3.1.1.js";
import { store } from "./store.js";

/** @typedef {{name: string, hint?: string, act: () => void}} Command */

/** @type {Map<object, Command[]>} */
const brought = new Map();

/** All commands of now, those of the innermost view first. */
export const commands = store(/** @type {Command[]} */ ([]));
export const paletteOpen = store(false);

/**
 * Offer commands while the view is shown.
 * @param {() => Command[]} make
 * @param {unknown[]} inputs
 */
export function useCommands(make, inputs) {
  useEffect(() => {
    const mark = {};
    brought.set(mark, make());
    tell();
    return () => {
      brought.delete(mark);
      tell();
    };
  }, inputs);
}

function tell() {
  commands.set([...brought.values()].reverse().flat());
}
