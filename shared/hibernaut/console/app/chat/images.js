/** Images of messages: what may be attached, the parts of a message, and how an image is shown. */
import { html } from "../../vendor/htm-preact-3.1.1.js";
import { textOf } from "../format.js";
import { Away } from "../markdown_view.js";
import { isPage } from "../markdown.js";

/** @typedef {import("../types.js").ContentPart} ContentPart */
/** @typedef {string | ContentPart[]} Content */

/** What every provider takes. */
export const KINDS = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/** Bytes of all images of a message: with these, a request is below the 6 MB that a server on AWS takes. */
export const MOST = 4_000_000;
export const RULE = "PNG, JPEG, GIF or WebP, 4 MB in all";
const SHOWN = /^image\/(png|jpeg|gif|webp|avif)$/;

/** Bytes of an image, from its text in base64. @param {ContentPart} part */
const sizeOf = (part) => Math.ceil(((part.source?.data?.length ?? 0) * 3) / 4);

/** @param {number} bytes */
const megabytes = (bytes) => `${(bytes / 1_000_000).toFixed(1)} MB`;

/**
 * Files as parts of a message that has some already. Raises an Error with what a person can do: nothing is sent then.
 * @param {File[]} files
 * @param {ContentPart[]} before
 * @returns {Promise<ContentPart[]>}
 */
export async function attached(files, before) {
  const other = files.find((one) => !KINDS.includes(one.type));
  if (other) throw new Error(`“${other.name}” cannot be attached: a message takes images alone (${RULE}).`);
  const whole = files.reduce((sum, one) => sum + one.size, 0) + before.reduce((sum, one) => sum + sizeOf(one), 0);
  if (whole > MOST) throw new Error(`These images have ${megabytes(whole)}; a message takes ${megabytes(MOST)} in all. Make them smaller, or send them one by one.`);
  return Promise.all(files.map(partOf));
}

/** @param {File} file @returns {Promise<ContentPart>} */
function partOf(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("error", () => reject(new Error(`“${file.name}” cannot be read.`)));
    reader.addEventListener("load", () => {
      const data = String(reader.result).split(",", 2)[1] ?? "";
      resolve({ type: "image", source: { type: "base64", media_type: file.type, data } });
    });
    reader.readAsDataURL(file);
  });
}

/**
 * The content of a message: its text alone, or its text and its images.
 * @param {string} text
 * @param {ContentPart[]} images
 * @returns {Content}
 */
export function contentOf(text, images) {
  return images.length ? [...(text.trim() ? [{ type: "text", text }] : []), ...images] : text;
}

/** @param {Content | undefined} content @returns {ContentPart[]} */
export function imagesOf(content) {
  return Array.isArray(content) ? content.filter((part) => part.type === "image") : [];
}

/** A content in one line. @param {Content | undefined} content */
export function lineOf(content) {
  const images = imagesOf(content).length;
  return [textOf(content), images && (images === 1 ? "an image" : `${images} images`)].filter(Boolean).join(" · ");
}

/** The images of a content. @param {{content: Content | undefined, what?: string}} props */
export function Pictures({ content, what = "message" }) {
  const images = imagesOf(content);
  return images.length ? html`<div class="pictures">${images.map((part) => html`<${Picture} part=${part} what=${what} />`)}</div>` : null;
}

/** An image. One at an address is a link: nothing is loaded from elsewhere. @param {{part: ContentPart, what: string}} props */
export function Picture({ part, what }) {
  const { data, media_type: kind = "", url = "" } = part.source ?? {};
  if (data && SHOWN.test(kind)) return html`<img class="picture" alt=${`Image of the ${what}`} src=${`data:${kind};base64,${data}`} />`;
  return isPage(url) ? html`<p><${Away} to=${url}>Image at ${new URL(url).host}<//></p>` : html`<p class="note">Image</p>`;
}
