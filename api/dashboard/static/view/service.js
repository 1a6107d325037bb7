// The page of a service: its children, endpoints, the traffic of HTTP, and its definition.

import { ask, named } from '../lib/api.js';
import { el } from '../lib/dom.js';
import { place } from '../lib/place.js';
import { grow } from '../lib/tree.js';
import { branches } from './branches.js';
import { options, users } from './middleware.js';
import { follow, traffic } from './object.js';
import { definition, faults, heading, sheet } from './parts.js';
import { namesOf } from './router.js';
import { kindOf } from './services.js';
import { diagram } from './route.js';

export async function service({ name, signal }, protocol) {
  const http = protocol.name === 'http';
  const [object, tree] = await Promise.all([ask(named(`${protocol.name}/services`, name), { signal }), grow(name, signal, protocol)]);
  const wrong = await faults(protocol.kinds.service, object, signal);
  const below = branches(tree, signal, protocol);
  await below.refresh().catch(() => undefined);
  const picture = diagram(below.columns, below.links, signal);
  requestAnimationFrame(picture.draw);
  below.follow(picture.draw);
  follow([protocol.kinds.service], () => new Set(namesOf(tree)), signal);
  return {
    title: name,
    node: [heading({ view: `services${protocol.suffix}`, title: http ? 'Services' : `${protocol.title} services` }, name, object.status, el('span', { class: 'chip' }, kindOf(object)), object.loadBalancer ? el('a', { class: 'plain', href: place('endpoints', '', { serviceName: name, protocol: http ? '' : protocol.name }) }, 'Endpoints') : null), wrong,
      sheet('Route to endpoints', el('span', { class: 'quiet-text' }, `widths and percentages are shares of this service’s ${protocol.carried}; the other figures are of all routers`), picture.node),
      http ? traffic('services', name, signal) : null,
      el('div', { class: 'halves' }, sheet('Definition', null, el('div', { class: 'body' }, definition(options(object, ['serverStatus'])))), users(object.usedBy, protocol.kinds.router))],
  };
}
