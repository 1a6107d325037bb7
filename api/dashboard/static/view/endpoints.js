// The list of endpoints with their state in each pool and their load.

import { el } from '../lib/dom.js';
import { duration, percent, many } from '../lib/format.js';
import { place } from '../lib/place.js';
import { protocolOf, protocols } from '../lib/protocol.js';
import { meter } from './cells.js';
import { list } from './list.js';
import { loads, loadWords } from './load.js';
import { linked, stateIcon, tone } from './parts.js';

const states = [['serving', 'Serving'], ['draining', 'Draining'], ['unhealthy', 'Unhealthy'], ['ejected', 'Ejected']];

const order = ['serving', 'draining', 'unreachable', 'unhealthy', 'ejected'];

/** stateOf is the state of an endpoint in a pool. One that gets requests though connections to it fail is unreachable. */
export const stateOf = (endpoint, pool) => (pool.state === 'serving' && endpoint.connectFailures > 0 ? 'unreachable' : pool.state);

/** remark explains why an endpoint does not serve, or shows its slow start. */
export function remark(endpoint, pool) {
  if (pool.reason) return pool.reason + (pool.backSeconds ? `; back in ${duration(pool.backSeconds)}` : '');
  if (endpoint.connectFailures > 0) return `${many(endpoint.connectFailures, 'failed connection')} since its last response`;
  return pool.slowStart > 0 && pool.slowStart < 1 ? `slow start, ${percent(pool.slowStart)} of its share` : '';
}

/** rowsOf are the rows of an endpoint: {endpoint, pool, first, rest}, one for each of its pools that are shown: that of the selected service, the worst and the busiest ones. */
export function rowsOf(endpoint, service = '', protocol = protocols.http) {
  const rank = (pool) => (pool.service === service && protocolOf(pool) === protocol ? -10 : 0) - order.indexOf(stateOf(endpoint, pool));
  const sorted = [...endpoint.pools].sort((a, b) => rank(a) - rank(b) || (b.requests ?? 0) - (a.requests ?? 0));
  const shown = sorted.slice(0, most);
  const rest = sorted.length - shown.length;
  return shown.length ? shown.map((pool, i) => ({ endpoint, pool, first: i === 0, rest: i === shown.length - 1 ? rest : 0 })) : [{ endpoint, first: true, rest: 0 }];
}

/** most is the maximum number of services of an endpoint that are shown. */
const most = 4;

const idle = (endpoint) => endpoint.upstreams.reduce((sum, one) => sum + one.idleConnections, 0);

/** once shows a cell only in the first row of an endpoint. */
const once = (cell) => (row) => (row.first ? cell(row.endpoint) : '');

/** ofPool shows a cell of an endpoint in a pool. */
const ofPool = (cell) => ({ endpoint, pool }) => (pool ? cell(pool, endpoint) : '');

export function columns(scale, load) {
  const words = (pool, endpoint) => loadWords(load.of(endpoint, pool), pool);
  return [
    { title: 'Address', class: 'name', cell: ({ endpoint, pool, first }) => el('div', {}, stateIcon(pool ? stateOf(endpoint, pool) : 'serving'), el('span', {}, el(first ? 'b' : 'span', { class: first ? 'mono' : 'mono quiet-text' }, endpoint.address), first ? el('span', { class: 'beside' }, [endpoint.source, endpoint.uid].filter(Boolean).join(' · ')) : null)) },
    { title: 'Service', class: 'wide', cell: ({ endpoint, pool, rest }) => (pool ? [protocolOf(pool) === protocols.http ? null : [el('span', { class: 'chip' }, protocolOf(pool).title), ' '], linked(protocolOf(pool).kinds.service, pool.service, { 'data-row': true }), ' ', el('span', { class: 'quiet-text' }, stateOf(endpoint, pool)), remark(endpoint, pool) ? el('span', { class: `why ${tone(stateOf(endpoint, pool)) === 'bad' ? 'bad-text' : 'warn-text'}` }, remark(endpoint, pool)) : null, rest ? el('div', { class: 'quiet-text' }, `and ${many(rest, 'more service')}`) : null] : '') },
    { title: 'Req/s', class: 'figure', cell: ofPool((pool, endpoint) => words(pool, endpoint).rate) },
    { title: '5xx', class: 'figure', cell: ofPool((pool, endpoint) => el('span', { class: words(pool, endpoint).bad ? 'bad-text' : '', title: protocolOf(pool) === protocols.http ? 'responses with 5xx, and requests without a response' : `failed ${protocolOf(pool).carried}` }, words(pool, endpoint).errors)) },
    { title: 'Mean', class: 'figure', cell: ofPool((pool, endpoint) => el('span', { title: 'mean duration of requests' }, words(pool, endpoint).mean)) },
    { title: 'Share', class: 'figure', cell: ofPool((pool) => percent(pool.share)) },
    { title: 'In flight', class: 'figure', cell: once((item) => el('span', { class: 'bar-cell' }, meter(item.inFlight / scale.most), String(item.inFlight))) },
    { title: 'Failed connections', class: 'figure', cell: once((item) => el('span', { class: item.connectFailures ? 'bad-text' : 'quiet-text' }, String(item.connectFailures))) },
    { title: 'Idle connections', class: 'figure', cell: once((item) => el('span', { title: item.upstreams.map((one) => `${one.scheme}${one.host ? ` ${one.host}` : ''}: ${many(one.idleConnections, 'connection')}`).join('\n') }, String(idle(item)))) },
  ];
}

export function endpoints(context) {
  const scale = { most: 8 };
  const load = loads();
  const { query } = context;
  const service = query.get('serviceName') ?? '';
  const protocol = protocols[query.get('protocol')] ?? protocols.http;
  return list({
    view: 'endpoints', path: 'endpoints', title: 'Endpoints', hint: 'Search addresses, services and sources', states, every: 2000,
    kept: ['serviceName', 'protocol'],
    tools: service ? el('a', { class: 'chip', href: place('endpoints') }, `of ${protocol === protocols.http ? '' : `${protocol.title} `}${service} ×`) : null,
    length: (all) => all.length,
    prepare(all) {
      scale.most = Math.max(8, ...all.map((one) => one.inFlight));
      load.read(all);
      return all.flatMap((endpoint) => rowsOf(endpoint, service, protocol));
    },
    columns: columns(scale, load),
  }, context);
}
