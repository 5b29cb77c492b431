/** Files that are dropped on the page: which, and on which part of it. */
import { useEffect, useState } from "../../vendor/htm-preact-3.1.1.js";

/**
 * Take the files that are dropped anywhere on the page, while the view is shown. `take` hears the files and the element under them.
 * @param {(files: File[], on: Element | null) => void} take
 * @param {unknown[]} inputs  what `take` depends on
 * @returns {boolean} whether files are held above the page
 */
export function useDroppedFiles(take, inputs) {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const stop = new AbortController();
    /** @type {(name: "dragover" | "dragleave" | "drop", heard: (event: DragEvent) => void) => void} */
    const on = (name, heard) => addEventListener(name, heard, { signal: stop.signal });
    const holds = (/** @type {DragEvent} */ event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
    on("dragover", (event) => {
      if (!holds(event)) return;
      event.preventDefault();
      setOver(true);
    });
    on("dragleave", (event) => event.relatedTarget === null && setOver(false));
    on("drop", (event) => {
      if (!holds(event)) return;
      event.preventDefault();
      setOver(false);
      take([...(event.dataTransfer?.files ?? [])], event.target instanceof Element ? event.target : null);
    });
    return () => stop.abort();
  }, inputs);
  return over;
}
