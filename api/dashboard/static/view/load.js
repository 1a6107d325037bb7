// Requests, errors and durations of endpoints, from the counters of api/endpoints.

import { duration, percent, rate } from '../lib/format.js';
import { Rates } from '../lib/rates.js';

const keyOf = (endpoint, pool) => `${pool.protocol ?? 'http'} ${pool.service} ${endpoint.source} ${endpoint.address} ${endpoint.uid ?? ''}`;

/** loads computes the load of endpoints in their pools: read(list) notes a reading, of(endpoint, pool) returns {rate, errors, server, mean}, or undefined before the second reading. */
export function loads() {
  const rates = new Rates(10);
  let now = new Map();
  return {
    read(list, time = Date.now()) {
      now = new Map(list.flatMap((endpoint) => endpoint.pools.map((pool) => {
        const { requests, errors, timed, seconds } = pool;
        return [keyOf(endpoint, pool), rates.add(keyOf(endpoint, pool), time, { requests, errors, timed, seconds })];
      })));
      rates.keep(now);
    },
    of(endpoint, pool) {
      const grown = now.get(keyOf(endpoint, pool));
      return grown && { rate: grown.requests, server: grown.errors, errors: grown.requests > 0 ? grown.errors / grown.requests : 0, mean: grown.timed > 0 ? grown.seconds / grown.timed : NaN };
    },
  };
}

/** loadWords are the load as texts: {rate, errors, mean, bad}. Before there is a rate, errors and mean are those since the endpoint was added. */
export function loadWords(load, pool) {
  const share = load ? load.errors : pool.requests ? pool.errors / pool.requests : NaN;
  const mean = load ? load.mean : pool.timed ? pool.seconds / pool.timed : NaN;
  return { rate: load ? rate(load.rate) : '…', errors: load?.rate === 0 ? '–' : percent(share), mean: duration(mean), bad: share > 0.01 && load?.rate !== 0 };
}
