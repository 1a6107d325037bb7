// What Sluice tells by itself: its events, and what has to be asked for again and again. A page that nobody sees asks nothing.

import { address, ask } from './api.js';

const patience = [1000, 2000, 5000, 10000, 15000];

/** unseen is for how long a page that nobody sees keeps its stream: with HTTP/1.1 all tabs of a browser share six connections. */
const unseen = 10000;

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Live holds what the whole page shows: connected, hello, ready, version. Listeners hear of `change`, `generation`, `verdicts`, `providers` and `ready`. */
class Live extends EventTarget {
  connected = false;
  /** ready is the answer of api/ready; undefined before the first. */
  ready = undefined;
  version = undefined;
  /** lost is since when nobody answers, in milliseconds; 0 while somebody does. */
  lost = 0;
  /** generation is the last one that is known of. */
  generation = undefined;
  #source = undefined;
  #tries = 0;
  #away = false;

  start() {
    this.#listen();
    repeat(() => this.refresh(), 10000);
    addEventListener('online', () => this.#again(0));
    document.addEventListener('visibilitychange', () => this.#seen());
  }

  /** seen gives the stream back when nobody looks, and takes it up again with whoever does. */
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
      // A stream that begins anew does not tell what was missed, and neither does a Sluice that was started again.
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
        this.dispatchEvent(new CustomEvent(type, { detail }));
      });
    }
    source.addEventListener('error', () => {
      if (this.connected) {
        this.connected = false;
        this.refresh();
      }
      // The browser tries again by itself after a broken connection, but not after an answer such as 503.
      if (source.readyState === EventSource.CLOSED) this.#again(patience[Math.min(this.#tries++, patience.length - 1)]);
    });
  }

  #again(wait) {
    this.#source?.close();
    clearTimeout(this.timer);
    if (this.#away) return;
    this.timer = setTimeout(() => this.#listen(), wait);
  }

  /** refresh asks how Sluice stands. */
  async refresh() {
    try {
      const ready = await ask('ready', { also: [503] });
      if (!this.version || this.lost) this.version = await ask('version').catch(() => undefined);
      this.ready = ready;
      this.readyAt = Date.now();
      // What could not be asked for meanwhile is asked for again, and a Sluice that was started again may count like the one before.
      if (this.lost) dispatchEvent(new Event('hashchange'));
      this.lost = 0;
    } catch (error) {
      this.lost ||= Date.now();
      this.why = error.message;
    }
    this.dispatchEvent(new Event('change'));
  }

  /** hear calls a function at each event of a type until the signal ends. */
  hear(type, handler, signal) {
    this.addEventListener(type, (event) => handler(event.detail), { signal });
  }
}

export const live = new Live();

/** repeat calls a function now, and again a time after it is done, while the page is seen and until the signal ends. What it throws is left to it. */
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
    } catch {
      // The next turn tries again; live.lost says that nobody answers.
    }
    running = false;
    if (!signal?.aborted) timer = setTimeout(turn, milliseconds);
  };
  document.addEventListener('visibilitychange', turn, { signal });
  signal?.addEventListener('abort', () => clearTimeout(timer));
  turn();
}
