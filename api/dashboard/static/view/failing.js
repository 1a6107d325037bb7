// Services whose requests fail now, and the causes at their endpoints.

import { page } from '../lib/api.js';
import { count, many, percent, rate } from '../lib/format.js';
import { remark, stateOf } from './endpoints.js';
import { poolOf } from './route.js';

/** A failing service has at least this ratio of 5xx at this rate of requests. */
const failingPart = 0.05;
const failingRate = 0.1;
/** mostly is the ratio of 5xx at which a service counts as down. */
const mostly = 0.5;

/** looked is the maximum number of failing services whose endpoints are read. */
const looked = 5;

/** failingOf returns the failing services as findings, worst first. */
export function failingOf(readings) {
  return [...(readings.kept.at(-1)?.series.keys() ?? [])].map((name) => ({ name, now: readings.now(name) }))
    .filter(({ now }) => now && now.errors > failingPart && now.rate >= failingRate)
    .sort((a, b) => b.now.server - a.now.server)
    .map(({ name, now }) => ({ kind: 'service', name, status: now.errors >= mostly ? 'failing' : 'degraded', fails: true,
      reason: `${percent(now.errors)} of its responses are 5xx (${rate(now.server)}/s).` }));
}

/** cause describes how the endpoints contribute to the failures of a service. */
export function cause(service, endpoints, total = endpoints.length) {
  if (total === 0) return 'It has no endpoints.';
  const bad = endpoints.map((one) => [one, poolOf(one, service)])
    .filter(([one, pool]) => pool && !['serving', 'draining'].includes(stateOf(one, pool)));
  if (!bad.length) return 'Its endpoints are reachable and return 5xx themselves.';
  const [[first, pool]] = bad;
  const whole = bad.length === 1 ? '' : `${count(bad.length)} of ${many(total, 'endpoint')} have problems. `;
  // An endpoint that gets no requests cannot be what fails now, so that the text says that others do.
  const serving = endpoints.filter((one) => poolOf(one, service)?.state === 'serving').length;
  const elsewhere = serving > 0 && bad.every(([, each]) => each.state !== 'serving') ? ` Requests go to ${many(serving, 'other endpoint')}.` : '';
  return `${whole}${first.address} is ${stateOf(first, pool)}: ${remark(first, pool)}.${elsewhere}`;
}

/** explained adds the causes to the first findings. */
export async function explained(findings, signal) {
  return Promise.all(findings.map(async (one, i) => {
    if (i >= looked) return one;
    const found = await page('endpoints', { parameters: { serviceName: one.name, per_page: 500 }, signal }).catch(() => undefined);
    return found ? { ...one, reason: `${one.reason} ${cause(one.name, found.data, found.total)}` } : one;
  }));
}
