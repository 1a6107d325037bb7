// The list of the streams of xDS clients: what they have subscribed to, and which versions they have accepted.

import { ask, page } from '../lib/api.js';
import { el } from '../lib/dom.js';
import { ago, clock, count, many, span } from '../lib/format.js';
import { place } from '../lib/place.js';
import { list } from './list.js';
import { stateIcon } from './parts.js';
import { gauges } from './traffic.js';

export const states = [['synced', 'Synced'], ['pending', 'Pending'], ['rejected', 'Rejected']];

/** typeNames are the types of resources with what they hold. */
export const typeNames = { lds: 'listeners', rds: 'routes', cds: 'clusters', eds: 'endpoints' };

/** configured throws where xDS is not configured. */
export async function configured(signal) {
  const { features } = await ask('overview', { signal });
  if (!features.xds) throw Object.assign(new Error('xDS is off: set xds.address in the static configuration.'), { status: 404 });
}

/** namesOf says to how many resources a type is subscribed. */
export const namesOf = (type) => (type.names.includes('*') ? 'all' : count(type.names.length));

/** sinceSent is how long a response has been waiting for an answer, in seconds. */
export const sinceSent = (type, now = Date.now()) => (now - Date.parse(type.sentAt)) / 1000;

/** statusOf shows the status of a type, and why the client has rejected its last response. */
export function statusOf(type) {
  if (!type.status) return el('span', { class: 'quiet-text' }, 'nothing sent');
  const { rejected } = type;
  return [el('span', { class: { rejected: 'bad-text', pending: 'warn-text' }[type.status] ?? '' }, type.status, type.status === 'pending' ? ` for ${span(sinceSent(type))}` : ''),
    rejected ? el('span', { class: 'why bad-text' }, `Version ${rejected.version}, `, el('span', { 'data-moment': Date.parse(rejected.time) }, ago(Date.parse(rejected.time))), `: ${rejected.message || 'no reason given'}`) : null];
}

/** version shows a version, and when it was sent or acknowledged. */
export const version = (text, moment) => (text ? el('span', { class: 'mono', title: moment ? clock(Date.parse(moment)) : null }, text) : el('span', { class: 'quiet-text' }, 'none'));

/** kind shows a type of resources. */
export const kind = (type) => el('span', { title: typeNames[type] ?? '' }, type.toUpperCase());

/** rowsOf are the rows of a stream: {stream, type, first}, one for each type. */
export const rowsOf = (stream) => (stream.types.length ? stream.types : [undefined]).map((type, i) => ({ stream, type, first: i === 0 }));

const nodeOf = ({ stream, first }) => {
  if (!first) return el('span', { class: 'again quiet-text' }, stream.node);
  return el('div', {}, stateIcon(stream.status ?? 'idle'), el('span', {},
    stream.node ? el('a', { href: place('xds', stream.node), 'data-row': true }, stream.node) : el('b', { class: 'quiet-text' }, 'without a node id'),
    el('small', {}, [stream.identity, stream.agent].filter(Boolean).join(' · '))));
};

const once = (cell) => ({ stream, first }) => (first ? cell(stream) : '');
const ofType = (cell) => ({ type }) => (type ? cell(type) : '');

export async function xds(context) {
  await configured(context.signal);
  const figures = gauges();
  return list({
    view: 'xds', path: 'xds/clients', title: 'xDS', hint: 'Search nodes, addresses and identities', states, every: 3000,
    empty: 'No client is connected.', note: el('span', { class: 'quiet-text' }, 'streams of clients that get services and endpoints from Sluice'),
    above: el('section', { class: 'sheet counters', 'aria-label': 'Streams' }, figures.node),
    tools: el('a', { class: 'plain', href: place('xds-resources') }, 'Published resources'),
    async totals(signal) {
      const total = async (path, status) => (await page(path, { parameters: { status, per_page: 1 }, signal })).total;
      const [all, resources, ...numbers] = await Promise.all([total('xds/clients', ''), total('xds/resources', ''), ...states.map(([status]) => total('xds/clients', status))]);
      figures.draw([['Streams', count(all)], ...states.map(([status, title], i) => [title, count(numbers[i]), '', numbers[i] > 0 ? tones[status] : '']), ['Published resources', count(resources)]]);
      return { '': all, ...Object.fromEntries(states.map(([status], i) => [status, numbers[i]])) };
    },
    length: (all) => all.length,
    prepare: (all) => all.flatMap(rowsOf),
    target: ({ stream }) => (stream.node ? place('xds', stream.node) : undefined),
    columns: [
      { title: 'Node', class: 'name', cell: nodeOf },
      { title: 'Address', class: 'named short', cell: once((stream) => el('span', { class: 'mono' }, stream.address)) },
      { title: 'Protocol', class: 'named', cell: once((stream) => el('span', { title: { sotw: 'state of the world', delta: 'incremental' }[stream.protocol] }, stream.protocol)) },
      { title: 'Age', class: 'figure', cell: once((stream) => el('span', { title: `since ${clock(Date.parse(stream.since))}` }, span((Date.now() - Date.parse(stream.since)) / 1000))) },
      { title: 'Type', class: 'named', cell: ({ type }) => (type ? kind(type.type) : el('span', { class: 'quiet-text' }, 'no subscription')) },
      { title: 'Names', class: 'figure', cell: ofType((type) => el('span', { title: type.names.length > 1 ? many(type.names.length, 'name') : type.names[0] }, namesOf(type))) },
      { title: 'Sent', class: 'named short', cell: ofType((type) => version(type.sent, type.sentAt)) },
      { title: 'Acknowledged', class: 'named short', cell: ofType((type) => version(type.acknowledged, type.acknowledgedAt)) },
      { title: 'Status', class: 'named status', cell: ofType(statusOf) },
    ],
  }, context);
}

const tones = { pending: 'warn-text', rejected: 'bad-text' };
