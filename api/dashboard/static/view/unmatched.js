// Requests that no router matched: hosts and paths that got 404.

import { page } from '../lib/api.js';
import { el, renew } from '../lib/dom.js';
import { ago, count, many } from '../lib/format.js';
import { repeat } from '../lib/live.js';
import { place } from '../lib/place.js';
import { list } from './list.js';
import { sheet } from './parts.js';

const shown = 5;

/** explaining is the place that explains why no router matches such a request. */
export function explaining(one) {
  const method = one.method === '_OTHER' ? 'GET' : one.method;
  return place('explain', '', { method, url: `${one.tls ? 'https' : 'http'}://${one.host}${one.path.replace(/…$/, '')}`, entrypoint: one.entryPoint });
}

const columns = [
  { title: 'Host and path', class: 'name', cell: (one) => el('div', {}, el('span', { class: 'mono' }, el('a', { href: explaining(one), 'data-row': true }, one.host || '(no host)', el('span', { class: 'at' }, one.path)))) },
  { title: 'Method', class: 'named', cell: (one) => (one.method === '_OTHER' ? 'other' : one.method) },
  { title: 'Entry point', class: 'named', cell: (one) => `${one.entryPoint}${one.tls ? ' (TLS)' : ''}` },
  { title: 'Requests', class: 'figure', cell: (one) => el('span', { title: one.overcount ? `at most ${count(one.overcount)} too many` : null }, `${one.overcount ? '≈ ' : ''}${count(one.requests)}`) },
  { title: 'Last', class: 'figure', cell: (one) => el('span', { 'data-moment': Date.parse(one.last) }, ago(Date.parse(one.last))) },
  { title: '', class: 'figure', cell: (one) => el('a', { href: explaining(one) }, 'Explain', el('span', { class: 'unseen' }, ` ${one.host}${one.path}`)) },
];

/** summed says how many requests there were. */
const summed = (answer) => `${many(answer.total, 'request')} since the start${answer.dropped ? `, ${count(answer.dropped)} of them not listed` : ''}`;

/** unmatchedBrief is the part of the overview with the most frequent ones; it is empty while there are none. */
export function unmatchedBrief(signal) {
  const node = el('div', { hidden: true });
  repeat(async () => {
    const { data } = await page('traffic/unmatched', { parameters: { per_page: shown }, signal });
    node.hidden = data.total === 0;
    renew(node, sheet('Requests without a route', [el('span', { class: 'quiet-text' }, summed(data)), el('a', { href: place('unmatched') }, 'All')],
      el('div', { class: 'table' }, el('table', { class: 'cards' }, el('thead', {}, el('tr', {}, columns.map((one) => el('th', { scope: 'col', class: one.class }, one.title || el('span', { class: 'unseen' }, 'Explain'))))),
        el('tbody', {}, data.requests.map((one) => el('tr', {}, columns.map((column) => el('td', { class: column.class, 'data-label': column.title }, column.cell(one))))))))));
  }, 4000, signal);
  return node;
}

/** unmatched is the list of all of them. */
export function unmatched(context) {
  const note = el('span', { class: 'quiet-text' });
  return list({
    view: 'unmatched', path: 'traffic/unmatched', title: 'Requests without a route', hint: 'Search hosts and paths', every: 4000, note,
    empty: 'Every request matched a router.',
    prepare(answer) {
      note.textContent = `404, because no router matched: ${summed(answer)}`;
      return answer.requests;
    },
    columns: columns.map((one) => (one.title ? one : { ...one, title: 'Why' })),
  }, context);
}
