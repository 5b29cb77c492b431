/** The time of a schedule as the fields of a form, and back. Pure functions. */
import { ownZone } from "./words.js";

/** @typedef {import("./words.js").Timing} Timing */
/** @typedef {{when: string, at?: string, every?: string, unit?: string, clock?: string, day?: string, cron?: string, zone?: string}} Fields */

export const UNITS = ["minutes", "hours", "days"];
/** The kinds of time with an hour and a minute: what stands for the weekday. @type {Record<string, string>} */
const WEEKDAYS = { daily: "*", workdays: "1-5" };
const BY_CLOCK = /^(\d{1,2}) (\d{1,2}) \* \* (\*|1-5|[0-6])$/;

/**
 * What the form says of the time, as the API takes it.
 * @param {Fields} fields
 * @returns {Timing}
 */
export function timingOf(fields) {
  const { when, at = "", every = "", unit = "", clock = "", day = "", cron = "", zone = "" } = fields;
  if (when === "once") return { type: "one-time", scheduled_at: new Date(at).getTime() };
  if (when === "rate") return { type: "rate", rate_expression: `${every} ${unit}` };
  if (when === "cron") return { type: "recurring", cron_expression: cron, timezone: zone };
  const [hour, minute] = clock.split(":").map(Number);
  return { type: "recurring", cron_expression: `${minute} ${hour} * * ${WEEKDAYS[when] ?? day}`, timezone: zone };
}

/** @param {string} when @param {FormData} form @returns {Fields} */
export function fieldsOfForm(when, form) {
  return { when, ...Object.fromEntries(["at", "every", "unit", "clock", "day", "cron", "zone"].filter((name) => form.has(name)).map((name) => [name, String(form.get(name)).trim()])) };
}

const two = (/** @type {number} */ number) => String(number).padStart(2, "0");

/** A moment as the field for a day and a time has it, in the browser's time zone. @param {number} milliseconds */
function local(milliseconds) {
  const at = new Date(milliseconds);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

/**
 * The fields that say this time; those of a new schedule without one.
 * @param {Timing} [timing]
 * @returns {Fields}
 */
export function fieldsOf(timing) {
  if (!timing) return { when: "daily", clock: "09:00", day: "1", every: "2", unit: "hours", zone: ownZone };
  if (timing.type === "one-time") return { when: "once", at: local(timing.scheduled_at) };
  if (timing.type === "rate") {
    const [every, unit] = timing.rate_expression.trim().split(/\s+/);
    return { when: "rate", every, unit: UNITS.find((one) => one.startsWith(unit.replace(/s$/, ""))) ?? unit };
  }
  const { cron_expression: cron, timezone: zone } = timing;
  const [, minute, hour, day] = BY_CLOCK.exec(cron) ?? [];
  if (minute === undefined || Number(minute) > 59 || Number(hour) > 23) return { when: "cron", cron, zone };
  const when = Object.keys(WEEKDAYS).find((name) => WEEKDAYS[name] === day) ?? "weekly";
  return { when, clock: `${two(Number(hour))}:${two(Number(minute))}`, zone, ...(when === "weekly" ? { day } : {}) };
}

/** Whether the form says another time than before. @param {Fields} before @param {Fields} now */
export function isOther(before, now) {
  return JSON.stringify(timingOf(before)) !== JSON.stringify(timingOf(now));
}
