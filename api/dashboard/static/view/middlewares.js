// The list of middlewares.

import { el } from '../lib/dom.js';
import { count } from '../lib/format.js';
import { place } from '../lib/place.js';
import { chips, named } from './cells.js';
import { list } from './list.js';
import { states, totals } from './routers.js';

export function middlewares(context) {
  return list({
    view: 'middlewares', path: 'http/middlewares', title: 'Middlewares', hint: 'Search names', states, totals: totals('middlewares'),
    target: (item) => place('middlewares', item.name),
    columns: [
      { title: 'Name', sort: 'name', class: 'name', cell: (item) => named('middleware', item) },
      { title: 'Kind', sort: 'type', class: 'named', cell: (item) => item.type },
      { title: 'Used by', class: 'named', cell: (item) => (item.usedBy?.length ? chips('router', item.usedBy, 4, item.name) : el('span', { class: 'quiet-text' }, 'no router directly')) },
      { title: 'Routers', class: 'figure', cell: (item) => count(item.usedBy?.length ?? 0) },
    ],
  }, context);
}
