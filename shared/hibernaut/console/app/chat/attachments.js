/** The images that go with a message: attached by a button, by pasting and by dropping, shown, and taken off again. */
import { html, useRef, useState } from "../../vendor/htm-preact-3.1.1.js";
import { useCommands } from "../commands.js";
import { chooseFiles, useDrop } from "../files.js";
import { Failure, IconButton } from "../ui.js";
import { KINDS, Picture, RULE, attached } from "./images.js";

/** @typedef {import("../types.js").ContentPart} ContentPart */

/** The images of the message that is being written, and how files become some. `taken`: afterwards. @param {() => void} taken */
export function useAttachments(taken) {
  const [images, setImages] = useState(/** @type {ContentPart[]} */ ([]));
  const [failed, setFailed] = useState(/** @type {unknown} */ (null));
  const now = useRef(images);
  now.current = images;
  /** @param {File[]} files */
  const take = async (files) => {
    try {
      const more = await attached(files, now.current);
      setImages((old) => [...old, ...more]);
      setFailed(null);
    } catch (error) {
      setFailed(error);
    }
    taken();
  };
  const choose = () => chooseFiles(KINDS.join(","), take, true);
  const dropping = useDrop(take);
  /** A picture from the clipboard; a text that has a picture beside it stays a text. @param {ClipboardEvent} event */
  const pasted = (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (!files.length || event.clipboardData?.types.includes("text/plain")) return;
    event.preventDefault();
    take(files);
  };
  useCommands(() => [{ name: "Attach images to the message", hint: "Chat", act: choose }], []);
  return { images, setImages, failed, close: () => setFailed(null), choose, pasted, dropping };
}

/** @param {{of: ReturnType<typeof useAttachments>}} props */
export function Attachments({ of }) {
  return html`<${Failure} error=${of.failed} close=${of.close} />
    ${of.dropping && html`<p class="drop-hint" role="status">Drop images to attach them (${RULE})</p>`}
    ${of.images.length > 0 &&
    html`<ul class="plain attachments" aria-label="Attached images">
      ${of.images.map((part, place) => html`<li key=${part}><${Picture} part=${part} what="message to send" />
        <${IconButton} icon="close" label=${`Take image ${place + 1} off`} onClick=${() => of.setImages((all) => all.filter((one) => one !== part))} /></li>`)}
    </ul>`}`;
}
