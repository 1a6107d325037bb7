// The page of a router: the route of what it takes, the traffic of HTTP, and its definition.

import { ask, named } from '../lib/api.js';
import { el } from '../lib/dom.js';
import { qualified } from '../lib/place.js';
import { grow } from '../lib/tree.js';
import { branches } from './branches.js';
import { options } from './middleware.js';
import { follow, traffic } from './object.js';
import { definition, explaining, faults, heading, ruled, sheet } from './parts.js';
import { objectStation, station, diagram } from './route.js';

/** steps reads the middlewares in the order in which they are applied, with chains expanded. */
async function steps(names, owner, protocol, signal, above = []) {
  const lists = await Promise.all(names.map(async (short) => {
    const name = qualified(short, owner);
    const object = await ask(named(`${protocol.name}/middlewares`, name), { signal }).catch((error) => {
      if (error.status === 404) return undefined;
      throw error;
    });
    const chain = object?.chain?.middlewares;
    if (chain && !above.includes(name)) return steps(chain, name, protocol, signal, [...above, name]);
    return [{ name, object, through: above[above.length - 1] }];
  }));
  return lists.flat();
}

export async function router({ name, signal }, protocol) {
  const http = protocol.name === 'http';
  const { kinds } = protocol;
  const object = await ask(named(`${protocol.name}/routers`, name), { signal });
  const [wrong, chain, tree] = await Promise.all([
    faults(kinds.router, object, signal),
    steps(object.middlewares ?? [], name, protocol, signal),
    object.service ? grow(qualified(object.service, name), signal, protocol) : undefined,
  ]);
  const below = tree && branches(tree, signal, protocol);
  await below?.refresh().catch(() => undefined);
  const entries = (object.using ?? object.entryPoints ?? []).map((one) => station({ label: one, below: [object.tls ? (object.tls.passthrough ? 'TLS passes through' : 'TLS') : ''] }));
  if (!entries.length) entries.push(station({ label: 'no entry point', below: [`receives no ${protocol.carried}`], state: 'disabled', missing: true }));
  const rule = station({ label: protocol.name === 'udp' ? 'all datagrams' : ruled(object.rule), below: [protocol.name === 'udp' ? '' : `priority ${object.priorityStr ?? object.priority}`], state: object.status === 'enabled' ? undefined : object.status });
  const stops = chain.map((step) => objectStation(kinds.middleware, step.name, step.object, [[step.object?.type, step.through && `by ${step.through}`].filter(Boolean).join(', ')]));
  const links = () => {
    const line = [rule, ...stops, below?.first()].filter(Boolean);
    const broken = object.status === 'disabled' ? 'bad' : '';
    return [...entries.map((entry) => ({ from: entry, to: rule, share: 0.2 })), ...along(rule, stops, below?.first(), broken), ...(line.length > 1 ? below?.links() ?? [] : [])];
  };
  const picture = diagram([['Entry points', 'entries', entries], ['Rule', '', rule], ...(stops.length ? [['Middlewares', 'chain', stops]] : []), ...(below?.columns ?? [])], links, signal);
  requestAnimationFrame(picture.draw);
  below?.follow(picture.draw);
  follow(Object.values(kinds), () => new Set([name, ...chain.map((step) => step.name), ...(tree ? namesOf(tree) : [])]), signal);
  return {
    title: name,
    node: [heading({ view: `routers${protocol.suffix}`, title: http ? 'Routers' : `${protocol.title} routers` }, name, object.status, http ? explaining(object) : null), wrong,
      sheet(`Route of a ${protocol.one}`, el('span', { class: 'quiet-text' }, `widths and percentages are shares of this router’s ${protocol.carried}; the other figures are of all routers`), picture.node),
      http ? traffic('routers', name, signal) : null,
      sheet('Definition', null, el('div', { class: 'body' }, definition({ ...options(object, ['using', 'priorityStr']), priority: object.priorityStr ?? object.priority ?? null })))],
  };
}

/** along links the middlewares: rule, middlewares, service. */
function along(rule, stops, service, tone) {
  if (!stops.length) return service ? [{ from: rule, to: service, share: 0.2, tone }] : [];
  return [{ from: rule, to: stops[0], share: 0.2, tone }, ...(service ? [{ from: stops[stops.length - 1], to: service, share: 0.2, tone }] : [])];
}

/** namesOf lists the services of a tree. */
export function namesOf(tree) {
  return [tree.name, ...tree.children.flatMap(namesOf)];
}
