// The list of middlewares.

import { el } from '../lib/dom.js';
import { count } from '../lib/format.js';
import { place } from '../lib/place.js';
import { chips, named } from './cells.js';
import { list } from './list.js';
import { choice } from './protocols.js';
import { states, totals } from './routers.js';

export function middlewares(context, protocol) {
  const view = `middlewares${protocol.suffix}`;
  return list({
    view, path: `${protocol.name}/middlewares`, title: protocol.name === 'http' ? 'Middlewares' : `${protocol.title} middlewares`, hint: 'Search names', states,
    totals: totals('middlewares', protocol), note: choice('middlewares', protocol, context.signal),
    target: (item) => place(view, item.name),
    columns: [
      { title: 'Name', sort: 'name', class: 'name', cell: (item) => named(protocol.kinds.middleware, item) },
      { title: 'Kind', sort: 'type', class: 'named', cell: (item) => item.type },
      { title: 'Used by', class: 'named', cell: (item) => (item.usedBy?.length ? chips(protocol.kinds.router, item.usedBy, 4, item.name) : el('span', { class: 'quiet-text' }, 'no router directly')) },
      { title: 'Routers', class: 'figure', cell: (item) => count(item.usedBy?.length ?? 0) },
    ],
  }, context);
}
