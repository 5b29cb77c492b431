/** Times, sums and counts as a person reads them, in the browser's language and time zone. */

const LANGUAGE = navigator.language;
const RELATIVE = new Intl.RelativeTimeFormat(LANGUAGE, { numeric: "auto", style: "short" });
const MOMENT = new Intl.DateTimeFormat(LANGUAGE, { dateStyle: "medium", timeStyle: "short" });
const NUMBER = new Intl.NumberFormat(LANGUAGE);
/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60]];

/** @param {string} iso */
export const moment = (iso) => MOMENT.format(new Date(iso));

/**
 * How long ago a moment was.
 * @param {string} iso
 */
export function ago(iso, now = Date.now()) {
  const seconds = (new Date(iso).getTime() - now) / 1000;
  for (const [unit, length] of UNITS) if (Math.abs(seconds) >= length) return RELATIVE.format(Math.trunc(seconds / length), unit);
  return "just now";
}

/** @param {number} value */
export const count = (value) => NUMBER.format(value);

/**
 * How long something took.
 * @param {number} milliseconds
 */
export const lasted = (milliseconds) => (milliseconds >= 1000 ? `${(milliseconds / 1000).toFixed(2)} s` : `${milliseconds >= 10 ? Math.round(milliseconds) : milliseconds.toPrecision(2)} ms`);

/**
 * A sum in USD; unknown is a dash.
 * @param {number | null | undefined} value
 */
export function dollars(value) {
  if (value === null || value === undefined) return "—";
  return `$${value === 0 ? "0.00" : value < 0.01 ? value.toPrecision(2) : value.toFixed(2)}`;
}

/**
 * Text of a content, whatever its form.
 * @param {string | import("./types.js").ContentPart[] | undefined} content
 */
export function textOf(content) {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").filter(Boolean).join("\n");
}
