// The list of services.

import { el } from '../lib/dom.js';
import { many } from '../lib/format.js';
import { place } from '../lib/place.js';
import { chips, figures, meter, named } from './cells.js';
import { list } from './list.js';
import { choice } from './protocols.js';
import { states, totals } from './routers.js';

const kinds = { loadbalancer: 'load balancer', weighted: 'weighted', mirroring: 'mirroring', failover: 'failover', canary: 'canary', highestrandomweight: 'highest random weight', directresponse: 'direct response' };

/** kindOf is the display name of a service's kind. */
export const kindOf = (item) => kinds[(item.type ?? '').toLowerCase()] ?? item.type ?? 'internal';

function servers(item) {
  const all = Object.values(item.serverStatus ?? {});
  if (!all.length) return el('span', { class: 'quiet-text' }, item.loadBalancer ? 'none' : '–');
  const up = all.filter((one) => one === 'UP').length;
  return el('span', { class: 'bar-cell', title: `${up} of ${many(all.length, 'server')} up` }, meter(up / all.length, up < all.length ? 'mixed' : ''),
    el('span', { class: up === 0 ? 'bad-text' : up < all.length ? 'warn-text' : '' }, `${up}/${all.length}`));
}

export function services(context, protocol) {
  const http = protocol.name === 'http';
  const traffic = http ? figures('services') : { columns: [] };
  const view = `services${protocol.suffix}`;
  return list({
    view, path: `${protocol.name}/services`, title: http ? 'Services' : `${protocol.title} services`, hint: 'Search names', states, totals: totals('services', protocol),
    note: choice('services', protocol, context.signal),
    target: (item) => place(view, item.name),
    late: traffic.late,
    columns: [
      { title: 'Name', sort: 'name', class: 'name', cell: (item) => named(protocol.kinds.service, item) },
      { title: 'Kind', sort: 'type', class: 'named short', cell: kindOf },
      { title: 'Strategy', class: 'named', cell: (item) => item.loadBalancer?.strategy ?? '' },
      { title: 'Servers', sort: 'servers', class: 'figure', cell: servers },
      { title: 'Used by', class: 'named', cell: (item) => (item.usedBy?.length ? chips(protocol.kinds.router, item.usedBy, 2, item.name) : el('span', { class: 'quiet-text' }, 'no router directly')) },
      ...traffic.columns,
    ],
  }, context);
}
