// Formats numbers with about three digits and a unit.

const digits = new Map();

function fixed(value, places) {
  if (!digits.has(places)) {
    digits.set(places, new Intl.NumberFormat('en', { minimumFractionDigits: places, maximumFractionDigits: places }));
  }
  return digits.get(places).format(value);
}

/** three returns a number with about three digits. */
export function three(value) {
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size < 0.01) return '<0.01';
  if (size < 1) return fixed(value, 2);
  if (size < 9.995) return fixed(value, 2);
  if (size < 99.95) return fixed(value, 1);
  return fixed(value, 0);
}

function scaled(value, step, units) {
  let at = 0;
  while (Math.abs(value) >= step * 0.9995 && at < units.length - 1) {
    value /= step;
    at++;
  }
  return [at === 0 && Number.isInteger(value) ? fixed(value, 0) : three(value), units[at]];
}

/** count formats a number: 12, 98,701, 1.20 M. */
export function count(value) {
  if (value < 100000) return fixed(value, Number.isInteger(value) ? 0 : 1);
  const [text, unit] = scaled(value, 1000, ['', 'k', 'M', 'G', 'T']);
  return text + (unit && ` ${unit}`);
}

/** rate formats a number per second. */
export function rate(value) {
  if (value === undefined || Number.isNaN(value)) return '–';
  if (value < 1000) return three(value);
  const [text, unit] = scaled(value, 1000, ['', 'k', 'M', 'G']);
  return `${text} ${unit}`;
}

/** bytes formats a size, in powers of 1000. */
export function bytes(value) {
  const [text, unit] = scaled(value, 1000, ['B', 'kB', 'MB', 'GB', 'TB', 'PB']);
  return `${text} ${unit}`;
}

/** duration formats seconds: 840 µs, 12.4 ms, 1.20 s. */
export function duration(seconds) {
  if (seconds === undefined || seconds === null || Number.isNaN(seconds)) return '–';
  if (seconds === 0) return '0';
  if (seconds < 0.0009995) return `${three(seconds * 1e6)} µs`;
  if (seconds < 0.9995) return `${three(seconds * 1e3)} ms`;
  if (seconds < 120) return `${three(seconds)} s`;
  return span(seconds);
}

/** span formats a coarse duration: 12 s, 4 min, 3 h, 2 d. */
export function span(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  if (whole < 86400) {
    const minutes = Math.floor((whole % 3600) / 60);
    return whole < 36000 && minutes > 0 ? `${Math.floor(whole / 3600)} h ${minutes} min` : `${Math.floor(whole / 3600)} h`;
  }
  return `${Math.floor(whole / 86400)} d`;
}

/** ago formats the time since a moment (milliseconds). */
export function ago(moment, now = Date.now()) {
  const seconds = (now - moment) / 1000;
  return seconds < 2 ? 'now' : `${span(seconds)} ago`;
}

/** percent formats a ratio: 0 %, 0.04 %, 12.5 %. */
export function percent(part) {
  if (part === undefined || Number.isNaN(part)) return '–';
  if (part === 0) return '0 %';
  const value = part * 100;
  if (value < 0.01) return '<0.01 %';
  if (value >= 99.95 && value < 100) return '>99.9 %';
  const whole = value >= 1 && Math.abs(value - Math.round(value)) < 0.005;
  return `${whole || value >= 99.95 ? fixed(value, 0) : three(value)} %`;
}

const clocks = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const days = new Intl.DateTimeFormat('en-GB', { year: 'numeric', month: 'short', day: 'numeric' });

/** clock is the time of a moment, with the date if that is not today. */
export function clock(moment, now = Date.now()) {
  const date = new Date(moment);
  return date.toDateString() === new Date(now).toDateString() ? clocks.format(date) : `${days.format(date)}, ${clocks.format(date)}`;
}

/** day is the date of a moment. */
export const day = (moment) => days.format(new Date(moment));

/** many formats a number with its noun: 1 router, 4 routers. */
export function many(number, one, several = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : several}`;
}

/** tail shortens a long text at its beginning. */
export function tail(text, most = 44) {
  return text.length <= most ? text : `…${text.slice(text.length - most + 1)}`;
}

/** outcome says what a router that matches does with the request. */
export function outcome({ status, location }) {
  if (location) return ` redirects with ${status} to ${location}`;
  return status ? ` matches, and Sluice responds with ${status}.` : ' serves this request.';
}
