/** Files that a person brings: chosen by a dialog of the browser, or dropped on the page. */
import { useEffect, useRef, useState } from "../vendor/htm-preact-3.1.1.js";

/**
 * Ask for files.
 * @param {string} accept  kinds of files, as an input takes them; "" for all
 * @param {(files: File[]) => void} take
 * @param {boolean} [several]
 */
export function chooseFiles(accept, take, several = false) {
  const input = Object.assign(document.createElement("input"), { type: "file", accept, multiple: several });
  input.onchange = () => input.files?.length && take([...input.files]);
  input.click();
}

/**
 * Take files that are dropped on the page. Whether some are held above it.
 * @param {(files: File[], on: Element | null) => void} take  `on`: the element on which they were dropped
 */
export function useDrop(take) {
  const [over, setOver] = useState(false);
  const newest = useRef(take);
  newest.current = take;
  useEffect(() => {
    /** @param {DragEvent} event */
    const holds = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
    const above = (/** @type {DragEvent} */ event) => holds(event) && (event.preventDefault(), setOver(true));
    const gone = (/** @type {DragEvent} */ event) => event.relatedTarget === null && setOver(false);
    const dropped = (/** @type {DragEvent} */ event) => {
      if (!holds(event)) return;
      event.preventDefault();
      setOver(false);
      const files = [...(event.dataTransfer?.files ?? [])];
      if (files.length) newest.current(files, event.target instanceof Element ? event.target : null);
    };
    addEventListener("dragover", above);
    addEventListener("dragleave", gone);
    addEventListener("drop", dropped);
    return () => (removeEventListener("dragover", above), removeEventListener("dragleave", gone), removeEventListener("drop", dropped));
  }, []);
  return over;
}
