// The list of routers.

import { ask } from '../lib/api.js';
import { el, icon } from '../lib/dom.js';
import { place, qualified } from '../lib/place.js';
import { chips, figures, named } from './cells.js';
import { list } from './list.js';
import { linked, ruled, within } from './parts.js';

export const states = [['enabled', 'Enabled'], ['warning', 'Warnings'], ['disabled', 'Disabled']];

/** totals counts the objects of a kind by state. */
export function totals(kind) {
  return async (signal) => {
    const { http } = await ask('overview', { signal });
    const { total, warnings, errors } = http[kind];
    return { '': total, enabled: total - warnings - errors, warning: warnings, disabled: errors };
  };
}

export function routers(context) {
  const traffic = figures('routers');
  return list({
    view: 'routers', path: 'http/routers', title: 'Routers', hint: 'Search names, rules and services', states, totals: totals('routers'),
    kept: ['serviceName', 'middlewareName'],
    target: (item) => place('routers', item.name),
    late: traffic.late,
    columns: [
      { title: 'Name', sort: 'name', class: 'name', cell: (item) => named('router', item) },
      { title: 'Rule', sort: 'rule', class: 'wide', cell: (item) => ruled(item.rule) },
      { title: 'Entry points', sort: 'entryPoints', class: 'named', cell: (item) => el('span', { class: 'doors' }, (item.using ?? item.entryPoints ?? []).join(', '), item.tls ? el('span', { class: 'secure', title: 'Only with TLS' }, icon('lock'), el('span', { class: 'unseen' }, ' only with TLS')) : null) },
      { title: 'Middlewares', class: 'named', cell: (item) => (item.middlewares?.length ? chips('middleware', item.middlewares.map((name) => qualified(name, item.name)), 3, item.name) : '') },
      { title: 'Service', sort: 'service', class: 'named', cell: (item) => (item.service ? linked('service', qualified(item.service, item.name), {}, within(qualified(item.service, item.name), item.name)) : '') },
      { title: 'Priority', sort: 'priority', first: 'desc', class: 'figure', cell: (item) => (item.priority > Number.MAX_SAFE_INTEGER ? el('span', { class: 'quiet-text', title: item.priorityStr }, 'above all') : item.priorityStr ?? String(item.priority ?? '')) },
      ...traffic.columns,
    ],
  }, context);
}
