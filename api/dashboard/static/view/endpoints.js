// The list of endpoints with their state in each pool and their load.

import { el } from '../lib/dom.js';
import { duration, percent, many } from '../lib/format.js';
import { place } from '../lib/place.js';
import { meter } from './cells.js';
import { list } from './list.js';
import { linked, stateIcon, tone } from './parts.js';

const states = [['serving', 'Serving'], ['draining', 'Draining'], ['unhealthy', 'Unhealthy'], ['ejected', 'Ejected']];

const order = ['serving', 'draining', 'unreachable', 'unhealthy', 'ejected'];

/** stateOf is the state of an endpoint in a pool. One that gets requests though connections to it fail is unreachable. */
export const stateOf = (endpoint, pool) => (pool.state === 'serving' && endpoint.connectFailures > 0 ? 'unreachable' : pool.state);

/** worst is the pool with the worst state. */
export function worst(endpoint) {
  return [...endpoint.pools].sort((a, b) => order.indexOf(stateOf(endpoint, b)) - order.indexOf(stateOf(endpoint, a)))[0];
}

/** remark explains why an endpoint does not serve, or shows its slow start. */
export function remark(endpoint, pool) {
  if (pool.reason) return pool.reason + (pool.backSeconds ? `; back in ${duration(pool.backSeconds)}` : '');
  if (endpoint.connectFailures > 0) return `${many(endpoint.connectFailures, 'connect')} failed since it last answered`;
  return pool.slowStart > 0 && pool.slowStart < 1 ? `slow start, ${percent(pool.slowStart)} of its share` : '';
}

/** places are the pools of an endpoint that are shown: that of the selected service, and the worst ones. */
function places(endpoint, service) {
  const rank = (pool) => (pool.service === service ? -10 : 0) - order.indexOf(stateOf(endpoint, pool));
  const sorted = [...endpoint.pools].sort((a, b) => rank(a) - rank(b));
  return { shown: sorted.slice(0, 3), rest: Math.max(0, sorted.length - 3) };
}

const idle = (endpoint) => endpoint.upstreams.reduce((sum, one) => sum + one.idleConnections, 0);

export function columns(scale, service = '') {
  return [
    { title: 'Address', class: 'name', cell: (item) => el('div', {}, stateIcon(worst(item) ? stateOf(item, worst(item)) : 'serving'), el('span', {}, el('b', { class: 'mono' }, item.address), el('span', { class: 'beside' }, [item.source, item.uid].filter(Boolean).join(' · ')))) },
    { title: 'Services', class: 'wide', cell: (item) => [places(item, service).shown.map((pool, i) => el('div', {}, linked('service', pool.service, i === 0 ? { 'data-row': true } : {}), ' ', el('span', { class: 'quiet-text' }, stateOf(item, pool)), remark(item, pool) ? el('span', { class: `why ${tone(stateOf(item, pool)) === 'bad' ? 'bad-text' : 'warn-text'}` }, remark(item, pool)) : null)), places(item, service).rest ? el('div', { class: 'quiet-text' }, `and ${many(places(item, service).rest, 'more service')}`) : null] },
    { title: 'In flight', class: 'figure', cell: (item) => el('span', { class: 'bar-cell' }, meter(item.inFlight / scale.most), String(item.inFlight)) },
    { title: 'Latency', class: 'figure', cell: (item) => duration(Math.max(...item.pools.map((pool) => pool.latencySeconds)) || undefined) },
    { title: 'Share', class: 'figure', cell: (item) => places(item, service).shown.map((pool) => el('div', {}, percent(pool.share))) },
    { title: 'Failed connects', class: 'figure', cell: (item) => el('span', { class: item.connectFailures ? 'bad-text' : 'quiet-text' }, String(item.connectFailures)) },
    { title: 'Idle connections', class: 'figure', cell: (item) => el('span', { title: item.upstreams.map((one) => `${one.scheme}${one.host ? ` ${one.host}` : ''}: ${many(one.idleConnections, 'connection')}`).join('\n') }, String(idle(item))) },
  ];
}

export function endpoints(context) {
  const scale = { most: 8 };
  const { query } = context;
  const service = query.get('serviceName');
  return list({
    view: 'endpoints', path: 'endpoints', title: 'Endpoints', hint: 'Search addresses, services and sources', states, every: 2000,
    kept: ['serviceName'],
    tools: service ? el('a', { class: 'chip', href: place('endpoints') }, `of ${service} ×`) : null,
    prepare(all) {
      scale.most = Math.max(8, ...all.map((one) => one.inFlight));
      return all;
    },
    columns: columns(scale, service ?? ''),
  }, context);
}
