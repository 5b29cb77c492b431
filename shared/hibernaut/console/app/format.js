/** Times, sums and counts as a person reads them, in the browser's language and time zone. */

const LANGUAGE = navigator.language;
const RELATIVE = new Intl.RelativeTimeFormat(LANGUAGE, { numeric: "auto", style: "short" });
const MOMENT = new Intl.DateTimeFormat(LANGUAGE, { dateStyle: "medium", timeStyle: "short" });
const NUMBER = new Intl.NumberFormat(LANGUAGE);
const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];

/** @param {string} iso */
export const moment = (iso) => MOMENT.format(new Date(iso));

/**
 * The span between two moments as a person says it: days of the calendar from 24 hours on, so that
 * the day after tomorrow is never "tomorrow", and whole hours or minutes below. Null below a minute.
 * @param {Date} at
 * @param {Date} now
 */
function span(at, now) {
  const seconds = (at.getTime() - now.getTime()) / 1000;
  if (Math.abs(seconds) >= DAY) return RELATIVE.format(Math.round((midnight(at) - midnight(now)) / 1000 / DAY), "day");
  if (Math.abs(seconds) >= HOUR) return RELATIVE.format(Math.trunc(seconds / HOUR), "hour");
  return Math.abs(seconds) >= MINUTE ? RELATIVE.format(Math.trunc(seconds / MINUTE), "minute") : null;
}

/** The midnight before a moment, in the browser's time zone, in milliseconds. @param {Date} at */
const midnight = (at) => new Date(at.getFullYear(), at.getMonth(), at.getDate()).getTime();

/**
 * How long ago a moment was.
 * @param {string} iso
 */
export const ago = (iso, now = new Date()) => span(new Date(iso), now) ?? "just now";

/**
 * When a moment will be, from now.
 * @param {string} iso
 */
export function soon(iso, now = new Date()) {
  const at = new Date(iso);
  return at <= now ? "now" : span(at, now) ?? "in less than a minute";
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
