// All findings, which the overview, the page of problems and the navigation count and show.

import { ask, page } from '../lib/api.js';
import { many } from '../lib/format.js';
import { live, repeat } from '../lib/live.js';
import { protocolOf } from '../lib/protocol.js';
import { Readings } from '../lib/traffic.js';
import { lasting } from './certificates.js';
import { remark, stateOf } from './endpoints.js';
import { explained, failingOf } from './failing.js';

/** failedStates are the states in which an endpoint gets no requests although it should. */
const failedStates = ['unhealthy', 'ejected'];

/** most is the maximum number of endpoints, and of certificates, of each state that are read. */
const most = 100;

/** sources are what the findings are read from, in the words of a sentence. */
const sources = { endpoints: 'endpoints', certificates: 'certificates', traffic: 'service traffic' };

const together = new Intl.ListFormat('en-GB');

/** gapOf says which sources are not read; it is empty when all are. Without a connection, values of before count as read. */
export function gapOf(states, lost = 0) {
  const failed = Object.keys(sources).filter((name) => states[name] === 'failed' || (states[name] === 'stale' && !lost));
  if (failed.length) {
    const text = together.format(failed.map((name) => sources[name]));
    return `${text[0].toUpperCase()}${text.slice(1)} could not be read.`;
  }
  return Object.values(states).includes('unread') ? 'Reading …' : '';
}

/** alsoAs are the states of findings that a filter by state includes. */
const alsoAs = { quarantined: ['quarantined', 'disabled'], degraded: ['degraded', 'warning'] };

/** matches reports whether a finding has the state, and the text in its name, service or reason. An empty filter matches. */
export function matches(one, { search = '', status = '' }) {
  const text = [one.name, one.service, one.reason].filter(Boolean).join('\n').toLowerCase();
  return text.includes(search.toLowerCase()) && (!status || (alsoAs[status] ?? [status]).includes(one.status));
}

/** partOf reads the first elements of a list in each of some states: {list, cut}. cut are the states that have further elements. */
async function partOf(path, states) {
  const answers = await Promise.all(states.map((status) => page(path, { parameters: { status, per_page: most } })));
  const cut = answers.map(({ data, total }, i) => ({ path, status: states[i], read: data.length, total })).filter((one) => one.total > one.read);
  return { list: answers.flatMap((one) => one.data), cut };
}

/** distinct leaves out endpoints that are in the lists of two states. */
const distinct = (list) => [...new Map(list.map((one) => [`${one.source} ${one.address} ${one.uid ?? ''}`, one])).values()];

/** providersOf returns the problems of providers, as findings. */
export function providersOf(ready) {
  return (ready?.providers ?? []).filter((one) => !['synced', 'absent'].includes(one.state)).map((one) =>
    ({ kind: 'provider', name: one.name, status: one.required ? 'quarantined' : 'degraded', reason: one.reason || `Its state is ${one.state}.` }));
}

/** expiring returns the certificates that are expired, not yet valid, or expire soon. */
function expiring(list) {
  return list.filter((one) => one.status !== 'enabled').map((one) =>
    ({ kind: 'certificate', name: one.commonName || one.sans?.[0] || one.name, status: one.status, reason: `${lasting(one).sentence}.` }));
}

/** failedEndpoints returns a finding for each endpoint and service in which the endpoint gets no requests. */
export function failedEndpoints(list) {
  return list.flatMap((one) => one.pools.filter((pool) => failedStates.includes(pool.state)).map((pool) =>
    ({ kind: 'endpoint', name: one.address, status: 'degraded', state: pool.state, service: pool.service, serviceKind: protocolOf(pool).kinds.service, reason: [stateOf(one, pool), remark(one, pool)].filter(Boolean).join(': ') })));
}

/** Findings keeps all findings up to date. What cannot be read keeps its last value. Its event is `change`. */
class Findings extends EventTarget {
  /** failed are services whose requests fail, worst first. */
  failed = [];
  /** endpoints are failed endpoints by service. */
  endpoints = [];
  certificates = [];
  /** states are those of the sources: unread, read, failed (never read) or stale (read before, but not the last time). */
  states = { endpoints: 'unread', certificates: 'unread', traffic: 'unread' };
  #cut = { endpoints: [], certificates: [] };
  #readings = new Readings(10, 30);
  #first = undefined;

  start() {
    repeat(() => this.requests(), 4000);
    repeat(() => this.refresh(), 10000);
    for (const type of ['generation', 'verdicts']) live.hear(type, () => this.refresh());
    live.hear('change', () => this.#changed());
  }

  #changed() {
    this.dispatchEvent(new Event('change'));
  }

  /** read reads a source by a function that returns its state. */
  async #read(source, work) {
    try {
      this.states[source] = await work();
    } catch (error) {
      this.states[source] = ['read', 'stale'].includes(this.states[source]) ? 'stale' : 'failed';
      throw error;
    } finally {
      this.#changed();
    }
  }

  /** requests reads the counters of services. Rates need two readings. */
  requests() {
    return this.#read('traffic', async () => {
      const answer = await ask('traffic/services');
      this.#readings.add(answer.time, answer.services);
      this.failed = await explained(failingOf(this.#readings));
      return this.#readings.ready ? 'read' : 'unread';
    });
  }

  /** refresh reads endpoints and certificates. */
  refresh() {
    const done = Promise.allSettled([
      this.#part('endpoints', failedStates, (list) => failedEndpoints(distinct(list))),
      this.#part('certificates', ['warning', 'disabled'], expiring),
    ]);
    this.#first ??= done;
    return done;
  }

  /** first is the promise of the first refresh. */
  first() {
    return this.#first ?? this.refresh();
  }

  #part(source, states, findingsOf) {
    return this.#read(source, async () => {
      const { list, cut } = await partOf(source, states);
      this[source] = findingsOf(list);
      this.#cut[source] = cut;
      return 'read';
    });
  }

  /** gap says which sources are not read; it is empty when all are. */
  get gap() {
    return gapOf(this.states, live.lost);
  }

  /** cut are the lists that are read only in part: {path, status, read, total}. */
  get cut() {
    return Object.values(this.#cut).flat();
  }

  /** beside are the findings that are not about declared objects or requests. */
  beside() {
    return [...providersOf(live.ready), ...this.endpoints, ...this.certificates];
  }

  /** verdicts is the number of declared objects with a finding. */
  get verdicts() {
    return (live.ready?.verdicts?.length ?? 0) + (live.ready?.moreVerdicts ?? 0);
  }

  /** total is the number of all findings that are known. There are more if a list is cut. */
  get total() {
    return this.verdicts + this.failed.length + this.beside().length;
  }

  /** amount is the number of all findings in words. */
  get amount() {
    return `${this.cut.length ? 'at least ' : ''}${many(this.total, 'finding')}`;
  }

  /** hear adds a listener until the signal aborts. */
  hear(handler, signal) {
    this.addEventListener('change', handler, { signal });
  }
}

export const findings = new Findings();
