// Rates of counters that are read again and again, such as those of endpoints.

/** Rates keeps the readings of counters over the last seconds, by key. A reading is an object of numbers that grow. */
export class Rates {
  constructor(span = 10) {
    this.span = span;
    this.kept = new Map(); // of lists of {time, counts}
  }

  /** add adds a reading, and returns the growth per second over the span; undefined before the second reading, and after a counter began anew. */
  add(key, time, counts) {
    const list = this.kept.get(key) ?? [];
    if (list.length && Object.keys(counts).some((name) => counts[name] < list[list.length - 1].counts[name])) list.length = 0;
    list.push({ time, counts });
    while (list.length > 2 && list[1].time <= time - this.span * 1000) list.shift();
    this.kept.set(key, list);
    const seconds = (time - list[0].time) / 1000;
    if (!(seconds > 0)) return undefined;
    return Object.fromEntries(Object.keys(counts).map((name) => [name, (counts[name] - list[0].counts[name]) / seconds]));
  }

  /** keep forgets all keys but these. */
  keep(keys) {
    for (const key of this.kept.keys()) if (!keys.has(key)) this.kept.delete(key);
  }
}
