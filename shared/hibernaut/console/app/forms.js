/** Forms of the later places: an action with its failure, a dialog with a form, and lines of names and values. */
import { html, useEffect, useRef, useState } from "../vendor/htm-preact-3.1.1.js";
import { Dialog, Failure } from "./ui.js";

/** @typedef {import("../vendor/htm-preact-3.1.1.js").Child} Child */

/**
 * An action that a person begins: whether it goes on, and how it failed. Begun again meanwhile, as by a double click, it is not done twice.
 * @template {unknown[]} A
 * @param {(...given: A) => Promise<unknown>} act
 */
export function useAction(act) {
  const [state, setState] = useState(/** @type {{busy: boolean, error: unknown}} */ ({ busy: false, error: null }));
  const going = useRef(false);
  /** @param {A} given */
  const run = async (...given) => {
    if (going.current) return;
    going.current = true;
    setState({ busy: true, error: null });
    try {
      await act(...given);
      setState({ busy: false, error: null });
    } catch (error) {
      setState({ busy: false, error });
    }
    going.current = false;
  };
  return { ...state, run, clear: () => setState({ busy: false, error: null }) };
}

/**
 * A dialog with a form. It closes when `done` is through, and shows its failure otherwise.
 * @param {{title: string, act: string, done: (form: FormData) => Promise<unknown>, close: () => void, more?: Child, wide?: boolean, children?: Child}} props
 */
export function FormDialog({ title, act, done, close, more, wide, children }) {
  const doing = useAction(async (/** @type {FormData} */ form) => {
    await done(form);
    close();
  });
  /** @param {SubmitEvent} event */
  const submit = (event) => {
    event.preventDefault();
    doing.run(new FormData(/** @type {HTMLFormElement} */ (event.target)));
  };
  return html`<${Dialog} title=${title} close=${close} wide=${wide}>
    <form class="stack" onSubmit=${submit}>
      ${children}
      <${Failure} error=${doing.error} />
      <div class="row end">${more}<button type="button" onClick=${close}>Cancel</button><button class="primary" disabled=${doing.busy}>${doing.busy ? `${act} …` : act}</button></div>
    </form>
  <//>`;
}

/**
 * A value some time after its last change.
 * @template T
 * @param {T} value
 * @param {number} wait  milliseconds
 */
export function useSettled(value, wait) {
  const [settled, settle] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => settle(() => value), wait);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

/**
 * Names and values, one pair a line. An error names the line alone: its text may be a secret.
 * @param {FormDataEntryValue | null} text
 * @param {string} mark  between the name and the value
 * @returns {Record<string, string> | null}
 */
export function pairs(text, mark) {
  /** @type {Record<string, string>} */
  const found = {};
  for (const [place, line] of String(text ?? "").split("\n").entries()) {
    if (!line.trim()) continue;
    const at = line.indexOf(mark);
    if (at < 1) throw new Error(`Line ${place + 1} must be a name, then “${mark}”, then the value.`);
    found[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return Object.keys(found).length ? found : null;
}
