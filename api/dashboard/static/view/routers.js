// The list of routers.

import { ask } from '../lib/api.js';
import { el, icon } from '../lib/dom.js';
import { place, qualified } from '../lib/place.js';
import { chips, figures, named } from './cells.js';
import { list } from './list.js';
import { choice } from './protocols.js';
import { linked, ruled, within } from './parts.js';

export const states = [['enabled', 'Enabled'], ['warning', 'Warnings'], ['disabled', 'Disabled']];

/** totals counts the objects of a kind by state. */
export function totals(kind, protocol) {
  return async (signal) => {
    const { total, warnings, errors } = (await ask('overview', { signal }))[protocol.name][kind];
    return { '': total, enabled: total - warnings - errors, warning: warnings, disabled: errors };
  };
}

/** secured says how a router takes TLS. */
function secured(item, protocol) {
  if (!item.tls) return null;
  const title = item.tls.passthrough ? 'TLS passes through' : protocol.name === 'tcp' ? 'TLS ends here' : 'Only with TLS';
  return el('span', { class: 'secure', title }, icon('lock'), el('span', { class: 'unseen' }, ` ${title.toLowerCase()}`), item.tls.passthrough ? el('small', {}, 'passthrough') : null);
}

export function routers(context, protocol) {
  const http = protocol.name === 'http';
  const ruledOnes = protocol.name !== 'udp';
  const traffic = http ? figures('routers') : { columns: [] };
  const { middleware, router, service } = protocol.kinds;
  const view = `routers${protocol.suffix}`;
  return list({
    view, path: `${protocol.name}/routers`, title: http ? 'Routers' : `${protocol.title} routers`, states, totals: totals('routers', protocol),
    hint: ruledOnes ? 'Search names, rules and services' : 'Search names and services', note: choice('routers', protocol, context.signal),
    kept: ['serviceName', 'middlewareName'],
    target: (item) => place(view, item.name),
    late: traffic.late,
    columns: [
      { title: 'Name', sort: 'name', class: 'name', cell: (item) => named(router, item) },
      ruledOnes && { title: 'Rule', sort: 'rule', class: 'wide', cell: (item) => ruled(item.rule) },
      { title: 'Entry points', sort: 'entryPoints', class: 'named', cell: (item) => el('span', { class: 'doors' }, (item.using ?? item.entryPoints ?? []).join(', '), secured(item, protocol)) },
      ruledOnes && { title: 'Middlewares', class: 'named', cell: (item) => (item.middlewares?.length ? chips(middleware, item.middlewares.map((name) => qualified(name, item.name)), 3, item.name) : '') },
      { title: 'Service', sort: 'service', class: 'named', cell: (item) => (item.service ? linked(service, qualified(item.service, item.name), {}, within(qualified(item.service, item.name), item.name)) : '') },
      ruledOnes && { title: 'Priority', sort: 'priority', first: 'desc', class: 'figure', cell: (item) => (item.priority > Number.MAX_SAFE_INTEGER ? el('span', { class: 'quiet-text', title: item.priorityStr }, 'above all') : item.priorityStr ?? String(item.priority ?? '')) },
      ...traffic.columns,
    ].filter(Boolean),
  }, context);
}
