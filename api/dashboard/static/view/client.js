// The page of an xDS client: its streams, what they have subscribed to, and the resources that they have.

import { all } from '../lib/api.js';
import { el, icon, renew } from '../lib/dom.js';
import { clock, count, many } from '../lib/format.js';
import { repeat } from '../lib/live.js';
import { place } from '../lib/place.js';
import { heading, sheet } from './parts.js';
import { resourcesOf } from './resources.js';
import { configured, kind, statusOf, version } from './xds.js';

/** most is the maximum number of names of a type that are shown. */
const most = 100;

/** streamsOf reads the streams of a node. */
async function streamsOf(node, signal) {
  const { list } = await all('xds/clients', { parameters: { search: node }, signal });
  return list.filter((one) => one.node === node);
}

const columns = [
  ['Type', 'named', (type) => kind(type.type)],
  ['Names', 'wide', (type) => el('div', { class: 'chips whole' }, type.names.slice(0, most).map((name) => el('code', { class: 'chip' }, name === '*' ? 'all (*)' : name)), type.names.length > most ? el('span', { class: 'chip' }, `+${count(type.names.length - most)}`) : null)],
  ['Sent', 'named short', (type) => version(type.sent, type.sentAt)],
  ['Acknowledged', 'named short', (type) => version(type.acknowledged, type.acknowledgedAt)],
  ['Status', 'named status', statusOf],
];

/** streamSheet shows one stream. */
function streamSheet(stream) {
  const facts = [['Identity', stream.identity], ['Namespaces', stream.namespaces?.join(', ')], ['Agent', stream.agent], ['Protocol', { sotw: 'state of the world', delta: 'incremental' }[stream.protocol]], ['Since', clock(Date.parse(stream.since))]];
  return sheet(`Stream of ${stream.address}`, null,
    el('div', { class: 'body facts' }, facts.filter(([, text]) => text).map(([title, text]) => el('span', {}, el('span', { class: 'quiet-text' }, title), text))),
    el('div', { class: 'table' }, el('table', { class: 'cards' }, el('thead', {}, el('tr', {}, columns.map(([title, style]) => el('th', { scope: 'col', class: style }, title)))),
      el('tbody', {}, stream.types.length ? stream.types.map((type) => el('tr', {}, columns.map(([title, style, cell]) => el('td', { class: style, 'data-label': title }, cell(type))))) : el('tr', {}, el('td', { class: 'none', colspan: columns.length }, 'No subscription.'))))));
}

export async function client(context) {
  const { name, signal } = context;
  await configured(signal);
  const streams = el('div', { class: 'stack' });
  const states = await streamsOf(name, signal);
  if (!states.length) throw Object.assign(new Error(`No stream has the node ${name}. Clients that have disconnected are not listed.`), { status: 404 });
  const summary = el('span', { class: 'chip' });
  let drawn = '';
  const draw = (list) => {
    const text = JSON.stringify(list);
    if (text === drawn && !list.some((one) => one.status === 'pending')) return;
    drawn = text;
    summary.replaceChildren(many(list.length, 'stream'));
    renew(streams, list.length ? list.map(streamSheet) : el('section', { class: 'sheet', 'aria-label': 'Streams' }, el('p', { class: 'body quiet-text' }, 'The client has disconnected.')));
  };
  draw(states);
  repeat(async () => draw(await streamsOf(name, signal)), 3000, signal);
  const { node } = await resourcesOf({ view: 'xds', name, title: 'Resources that the client has subscribed to', fixed: { node: name }, empty: 'It has no resources.' }, context);
  return {
    title: name,
    node: [heading({ view: 'xds', title: 'xDS' }, name, states[0].status, summary, el('a', { class: 'plain', href: place('xds-resources') }, icon('search'), 'All resources')), streams, node],
  };
}
