// All findings, which the overview, the page of problems and the navigation count and show.

import { all, ask, page } from '../lib/api.js';
import { live, repeat } from '../lib/live.js';
import { Readings } from '../lib/traffic.js';
import { lasting } from './certificates.js';
import { remark, stateOf } from './endpoints.js';
import { explained, failingOf } from './failing.js';

/** failedStates are the states in which an endpoint gets no requests although it should. */
const failedStates = ['unhealthy', 'ejected'];

/** read is the maximum number of endpoints of each state that are read. */
const read = 100;

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
    ({ kind: 'endpoint', name: one.address, status: 'degraded', state: pool.state, service: pool.service, reason: [stateOf(one, pool), remark(one, pool)].filter(Boolean).join(': ') })));
}

/** Findings keeps all findings up to date. What cannot be read keeps its last value. Its event is `change`. */
class Findings extends EventTarget {
  /** failed are services whose requests fail, worst first. */
  failed = [];
  /** endpoints are failed endpoints by service, more the number of further endpoints. */
  endpoints = [];
  more = 0;
  certificates = [];
  #readings = new Readings(10, 30);

  start() {
    repeat(() => this.requests(), 4000);
    repeat(() => this.refresh(), 10000);
    for (const type of ['generation', 'verdicts']) live.hear(type, () => this.refresh());
    live.hear('change', () => this.#changed());
  }

  #changed() {
    this.dispatchEvent(new Event('change'));
  }

  /** requests reads the counters of services. */
  async requests() {
    const answer = await ask('traffic/services');
    this.#readings.add(answer.time, answer.services);
    this.failed = await explained(failingOf(this.#readings));
    this.#changed();
  }

  /** refresh reads endpoints and certificates. */
  async refresh() {
    await Promise.allSettled([
      Promise.all(failedStates.map((status) => page('endpoints', { parameters: { status, per_page: read } }))).then((lists) => {
        this.endpoints = failedEndpoints([...new Map(lists.flatMap((one) => one.data).map((one) => [`${one.source} ${one.address} ${one.uid ?? ''}`, one])).values()]);
        this.more = lists.reduce((sum, one) => sum + one.total - one.data.length, 0);
      }),
      all('certificates', { most: 500 }).then(({ list }) => {
        this.certificates = expiring(list);
      }),
    ]);
    this.#changed();
  }

  /** beside are the findings that are not about declared objects or requests. */
  beside() {
    return [...providersOf(live.ready), ...this.endpoints, ...this.certificates];
  }

  /** verdicts is the number of declared objects with a finding. */
  get verdicts() {
    return (live.ready?.verdicts?.length ?? 0) + (live.ready?.moreVerdicts ?? 0);
  }

  /** total is the number of all findings. */
  get total() {
    return this.verdicts + this.failed.length + this.beside().length + this.more;
  }

  /** hear adds a listener until the signal aborts. */
  hear(handler, signal) {
    this.addEventListener('change', handler, { signal });
  }
}

export const findings = new Findings();
