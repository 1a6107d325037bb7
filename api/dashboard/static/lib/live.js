// Live updates: the event stream, and polling. A hidden page does neither.

import { address, ask } from './api.js';

const patience = [1000, 2000, 5000, 10000, 15000];

/** unseen is how long a hidden page keeps its stream: with HTTP/1.1 all tabs of a browser share six connections. */
const unseen = 10000;

/** kept is how many events are kept for views that are being built. */
const kept = 256;

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Live holds the state that the whole page shows: connected, hello, ready, version, features. Its events are `change`, `generation`, `verdicts`, `providers` and `ready`. */
class Live extends EventTarget {
  connected = false;
  /** ready is the response of api/ready; undefined before the first. */
  ready = undefined;
  version = undefined;
  /** features are those of api/overview: which optional parts there are. */
  features = {};
  /** lost is the time (milliseconds) since which there is no connection to the API; 0 while there is. */
  lost = 0;
  /** generation is the last known one. */
  generation = undefined;
  /** featured is the generation of the features. */
  #featured = undefined;
  /** recent are the last events: {number, type, detail}. */
  #recent = [];
  #events = 0;
  /** begun has the number of events before a view, by its signal. */
  #begun = new WeakMap();
  #source = undefined;
  #tries = 0;
  #away = false;

  start() {
    this.#listen();
    repeat(() => this.refresh(), 10000);
    addEventListener('online', () => this.#again(0));
    document.addEventListener('visibilitychange', () => this.#seen());
  }

  /** seen closes the stream when the page is hidden, and opens it when the page is visible again. */
  #seen() {
    clearTimeout(this.leaving);
    if (document.hidden) {
      this.leaving = setTimeout(() => {
        this.#away = true;
        this.connected = false;
        clearTimeout(this.timer);
        this.#source?.close();
      }, unseen);
    } else if (this.#away) {
      this.#away = false;
      this.#again(0);
    }
  }

  #listen() {
    const source = new EventSource(address('events'));
    let fresh = true;
    this.#source = source;
    source.addEventListener('hello', (event) => {
      this.#tries = 0;
      this.connected = true;
      this.refresh();
      const { generation } = parsed(event.data) ?? {};
      // A new stream does not repeat missed events, nor does a restarted Sluice.
      if (fresh ? this.generation !== undefined && generation !== this.generation : generation < this.generation) dispatchEvent(new Event('hashchange'));
      this.generation = generation;
      fresh = false;
    });
    for (const type of ['generation', 'verdicts', 'providers', 'ready']) {
      source.addEventListener(type, (event) => {
        const detail = parsed(event.data);
        if (detail === undefined) return;
        if (type === 'generation') this.generation = detail.generation;
        this.refresh();
        this.#recent.push({ number: ++this.#events, type, detail });
        if (this.#recent.length > kept) this.#recent.shift();
        this.dispatchEvent(new CustomEvent(type, { detail }));
      });
    }
    source.addEventListener('error', () => {
      if (this.connected) {
        this.connected = false;
        this.refresh();
      }
      // Browsers reconnect after a broken connection, but not after a response such as 503.
      if (source.readyState === EventSource.CLOSED) this.#again(patience[Math.min(this.#tries++, patience.length - 1)]);
    });
  }

  #again(wait) {
    this.#source?.close();
    clearTimeout(this.timer);
    if (this.#away) return;
    this.timer = setTimeout(() => this.#listen(), wait);
  }

  /** refresh reads api/ready. */
  async refresh() {
    try {
      const ready = await ask('ready', { also: [503] });
      if (!this.version || this.lost) this.version = await ask('version').catch(() => undefined);
      // Environment services come and go with the configuration.
      if (this.lost || this.#featured !== ready.generation) {
        const features = (await ask('overview').catch(() => undefined))?.features;
        if (features) [this.features, this.#featured] = [features, ready.generation];
      }
      this.ready = ready;
      this.readyAt = Date.now();
      // Failed requests are repeated. A restarted Sluice may have the same generation number as before.
      if (this.lost) dispatchEvent(new Event('hashchange'));
      this.lost = 0;
    } catch (error) {
      this.lost ||= Date.now();
      this.why = error.message;
    }
    this.dispatchEvent(new Event('change'));
  }

  /** begin marks the time at which a view begins to read what it shows. The view ends with the signal. */
  begin(signal) {
    this.#begun.set(signal, this.#events);
  }

  /** hear adds an event listener until the signal aborts. That of a view gets the events since its beginning as well, once the view is shown. */
  hear(type, handler, signal) {
    this.addEventListener(type, (event) => handler(event.detail), { signal });
    const begun = this.#begun.get(signal) ?? this.#events;
    const missed = this.#recent.filter((one) => one.type === type && one.number > begun);
    if (missed.length) setTimeout(() => missed.forEach((one) => signal.aborted || handler(one.detail)));
  }
}

export const live = new Live();

/** repeat calls a function now and again a time after each completion, while the page is visible and until the signal aborts. Errors are ignored. */
export function repeat(work, milliseconds, signal) {
  let timer;
  let running = false;
  const turn = async () => {
    clearTimeout(timer);
    if (running || signal?.aborted) return;
    if (document.hidden) return;
    running = true;
    try {
      await work();
    } catch (error) {
      // The next call tries again. Without a connection the whole page shows that.
      if (error.status === 0 && !live.lost) live.refresh();
    }
    running = false;
    if (!signal?.aborted) timer = setTimeout(turn, milliseconds);
  };
  document.addEventListener('visibilitychange', turn, { signal });
  signal?.addEventListener('abort', () => clearTimeout(timer));
  turn();
}
