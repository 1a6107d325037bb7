// Computes rates and quantiles from counters.

/** The ratio of a bucket's bounds: eight buckets double a duration. */
const step = 2 ** (1 / 8);

/** quantile returns the quantile q of durations in seconds, interpolated on a logarithmic scale; NaN without requests. */
export function quantile(buckets, q) {
  let total = 0;
  for (const [, number] of buckets) total += number;
  if (total === 0) return NaN;
  let left = q * total;
  for (const [upper, number] of buckets) {
    if (number >= left) return upper / step ** (1 - left / number);
    left -= number;
  }
  return buckets[buckets.length - 1][0];
}

/** since subtracts the buckets of two readings. */
export function since(before, now) {
  const old = new Map(before);
  return now.map(([upper, number]) => [upper, number - (old.get(upper) ?? 0)]).filter(([, number]) => number > 0);
}

/** between returns the difference of two readings of one series; undefined after a counter reset. */
export function between(before, now, seconds) {
  const requests = now.requests - before.requests;
  if (!(seconds > 0) || requests < 0) return undefined;
  const buckets = since(before.buckets, now.buckets);
  return {
    rate: requests / seconds,
    client: (now.clientErrors - before.clientErrors) / seconds,
    server: (now.serverErrors - before.serverErrors) / seconds,
    errors: requests > 0 ? (now.serverErrors - before.serverErrors) / requests : 0,
    received: (now.bytesReceived - before.bytesReceived) / seconds,
    sent: (now.bytesSent - before.bytesSent) / seconds,
    p50: quantile(buckets, 0.5),
    p95: quantile(buckets, 0.95),
    p99: quantile(buckets, 0.99),
  };
}

/** Readings keeps the readings of some series over the last seconds, and computes rates. */
export class Readings {
  /** span is the window of rates in seconds; keep is how long the history is kept. */
  constructor(span = 10, keep = 300) {
    this.span = span;
    this.keep = keep;
    this.kept = []; // of {time, series: Map}
  }

  add(time, list) {
    const last = this.kept[this.kept.length - 1];
    if (last && time <= last.time) return;
    this.kept.push({ time, series: new Map(list.map((one) => [one.name, one])) });
    while (this.kept.length > 2 && this.kept[0].time < time - this.keep * 1000) this.kept.shift();
  }

  /** ready reports whether there are two readings within the window, so that there are rates. */
  get ready() {
    const last = this.kept[this.kept.length - 1];
    return this.kept.some((one) => one !== last && one.time >= last.time - this.span * 1000);
  }

  /** now returns the current traffic of a series; undefined before the second reading. */
  now(name) {
    const last = this.kept[this.kept.length - 1];
    if (!last) return undefined;
    const first = this.kept.find((one) => one.time >= last.time - this.span * 1000 && one.series.has(name));
    return this.amount(first, last, name);
  }

  amount(first, last, name) {
    if (!first || first === last || !first.series.has(name) || !last.series.has(name)) return undefined;
    return between(first.series.get(name), last.series.get(name), (last.time - first.time) / 1000);
  }

  /** total returns the last reading of a series. */
  total(name) {
    return this.kept[this.kept.length - 1]?.series.get(name);
  }

  /** course returns the traffic between successive readings. */
  course(name) {
    const points = [];
    for (let i = 1; i < this.kept.length; i++) {
      const amount = this.amount(this.kept[i - 1], this.kept[i], name);
      if (amount) points.push({ time: this.kept[i].time, ...amount });
    }
    return points;
  }
}
