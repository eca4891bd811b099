// Days are texts such as 2026-11-22. Times are local to the merchant, such as 2026-11-22T14:05:00.000, as in the
// interface.
import { locale } from "./language.js";

const DAY_MS = 86_400_000;
const dayOf = (instant) => new Date(instant).toISOString().slice(0, 10);
const instantOf = (day) => Date.parse(`${day}T00:00:00Z`);

export const isDay = (text) =>
  /^\d{4}-\d{2}-\d{2}$/.test(text ?? "") && !Number.isNaN(instantOf(text)) && dayOf(instantOf(text)) === text;
// The day in an address, if it is one and before today. Else today.
export const shownDay = ({ day }, today) => (isDay(day) && day < today ? day : today);
export const addDays = (day, count) => dayOf(instantOf(day) + count * DAY_MS);
export const daysBetween = (first, last) => Math.round((instantOf(last) - instantOf(first)) / DAY_MS);
// The first day of the month that is so many months away from a day's.
export const monthOf = (day, away = 0) => dayOf(Date.UTC(Number(day.slice(0, 4)), Number(day.slice(5, 7)) - 1 + away));

export function daysOf(first, last) {
  return Array.from({ length: daysBetween(first, last) + 1 }, (_, number) => addDays(first, number));
}

// An instant in milliseconds (by default now, by this device's clock) as the local time of a zone in hours.
export const inZone = (gmt, instant = Date.now()) => new Date(instant + gmt * 3_600_000).toISOString();
export const dayInZone = (gmt, instant) => inZone(gmt, instant).slice(0, 10);
export const hourInZone = (gmt) => Number(inZone(gmt).slice(11, 13));

// A format is made when it is first used: the browser takes milliseconds for each.
const written = (options) => {
  let format = null;
  return (text) => {
    format ??= new Intl.DateTimeFormat(locale, { ...options, timeZone: "UTC" });
    return format.format(new Date(text.length > 10 ? `${text.slice(0, 23)}Z` : instantOf(text)));
  };
};

export const formatDay = written({ weekday: "long", day: "numeric", month: "long", year: "numeric" });
export const formatShortDay = written({ weekday: "short", day: "numeric", month: "short" });
export const formatDayOfMonth = written({ day: "numeric", month: "short" });
export const formatWeekday = written({ weekday: "long" });
export const formatDate = written({ day: "numeric", month: "short", year: "numeric" });
export const formatMonth = written({ month: "short", year: "numeric" });
export const formatTime = written({ timeStyle: "short" });
export const formatSecond = written({ dateStyle: "medium", timeStyle: "medium" });
export const formatMoment = written({ dateStyle: "medium", timeStyle: "short" });
export const formatHour = (hour) => formatTime(`2000-01-01T${String(hour).padStart(2, "0")}:00:00.000`);
