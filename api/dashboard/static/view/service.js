// The page of a service: its children, endpoints, traffic, and definition.

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

export async function service({ name, signal }) {
  const [object, tree] = await Promise.all([ask(named('http/services', name), { signal }), grow(name, signal)]);
  const wrong = await faults('service', object, signal);
  const below = branches(tree, signal);
  await below.refresh().catch(() => undefined);
  const picture = diagram(below.columns, below.links, signal);
  requestAnimationFrame(picture.draw);
  below.follow(picture.draw);
  follow(['service'], () => new Set(namesOf(tree)), signal);
  return {
    title: name,
    node: [heading({ view: 'services', title: 'Services' }, name, object.status, el('span', { class: 'chip' }, kindOf(object)), object.loadBalancer ? el('a', { class: 'plain', href: place('endpoints', '', { serviceName: name }) }, 'Endpoints') : null), wrong,
      sheet('Route to endpoints', el('span', { class: 'quiet-text' }, 'widths and percentages are shares of this service’s requests; the other figures are of all routers'), picture.node),
      traffic('services', name, signal),
      el('div', { class: 'halves' }, sheet('Definition', null, el('div', { class: 'body' }, definition(options(object, ['serverStatus'])))), users(object.usedBy))],
  };
}
