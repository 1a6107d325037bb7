// The certificates: those of resolvers, and the list of those that are loaded, sorted by expiry.

import { el } from '../lib/dom.js';
import { day, span } from '../lib/format.js';
import { chips } from './cells.js';
import { list } from './list.js';
import { stateIcon } from './parts.js';
import { resolvers } from './resolvers.js';

/** lasting is the remaining validity: {text, sentence}. Whether it is a warning is the status that the API gives. */
export function lasting(one, now = Date.now()) {
  const begins = (Date.parse(one.notBefore) - now) / 1000;
  const seconds = (Date.parse(one.notAfter) - now) / 1000;
  if (seconds < 0) return { text: `expired ${span(-seconds)} ago`, sentence: `Expired ${span(-seconds)} ago` };
  if (begins > 0) return { text: `valid in ${span(begins)}`, sentence: `Not valid yet: valid in ${span(begins)}` };
  return { text: `${span(seconds)} left`, sentence: `Expires in ${span(seconds)}` };
}

export async function certificates(context) {
  const obtained = await resolvers(context);
  return list({
    above: obtained ? el('div', { class: 'stack' }, obtained, el('h2', { class: 'title' }, 'Loaded certificates')) : null,
    view: 'certificates', path: 'certificates', title: 'Certificates', hint: 'Search names', empty: 'There are no certificates.',
    prepare: (all) => [...all].sort((a, b) => Date.parse(a.notAfter) - Date.parse(b.notAfter)),
    columns: [
      { title: 'Name', class: 'name', cell: (item) => el('div', {}, stateIcon(item.status), el('span', {}, el('b', {}, item.commonName || item.sans?.[0] || item.name), el('small', { class: 'mono' }, item.serialNumber))) },
      { title: 'Other names', cell: (item) => chips('', (item.sans ?? []).filter((name) => name !== item.commonName), 4) },
      { title: 'Issuer', class: 'named', cell: (item) => [item.issuerOrg, item.issuerCN].filter(Boolean).join(' ') },
      { title: 'Key', class: 'named', cell: (item) => [item.keyType, item.keySize].filter(Boolean).join(' ') },
      { title: 'Expires', class: 'figure', cell: (item) => day(item.notAfter) },
      { title: 'Left', class: 'figure', cell: (item) => el('span', { class: { disabled: 'bad-text', warning: 'warn-text' }[item.status] ?? '' }, lasting(item).text) },
    ],
  }, context);
}
