// A service with its child services.

import { ask, named, page } from './api.js';
import { qualified } from './place.js';
import { protocols } from './protocol.js';

const depth = 6;

/** mirrored is the share of the requests that a mirror gets, and its words. */
function mirrored({ percent = 0, fraction }) {
  if (!fraction) return { role: `mirrors ${percent} % of requests`, share: percent / 100 };
  const { numerator = 0, denominator } = fraction;
  return { role: `mirrors ${numerator} of ${denominator} requests`, share: numerator / denominator };
}

/** children lists the child services: {name, role, copy}. */
export function children(service) {
  const own = (name) => qualified(name, service.name);
  if (service.weighted || service.highestRandomWeight) {
    const list = (service.weighted ?? service.highestRandomWeight).services ?? [];
    const total = list.reduce((sum, one) => sum + (one.weight ?? 1), 0);
    return list.map((one) => ({ name: own(one.name), role: `weight ${one.weight ?? 1}`, share: total > 0 ? (one.weight ?? 1) / total : 0 }));
  }
  if (service.mirroring) {
    return [{ name: own(service.mirroring.service), role: 'main service', share: 1 },
      ...(service.mirroring.mirrors ?? []).map((one) => ({ name: own(one.name), copy: true, ...mirrored(one) }))];
  }
  if (service.failover) {
    return [{ name: own(service.failover.service), role: 'primary', share: 1 }, { name: own(service.failover.fallback), role: 'fallback', share: 0 }].filter((one) => one.name);
  }
  if (service.canary) {
    const { canary, weight = 0, weightTotal = 100 } = service.canary;
    const share = weight / weightTotal;
    return [{ name: own(service.canary.service), role: 'main service', share: 1 - share }, { name: own(canary), role: `canary, weight ${weight} of ${weightTotal}`, share }].filter((one) => one.name);
  }
  return [];
}

/** grow reads a service and its descendants: {name, object, children}; object is undefined if it does not exist. */
export async function grow(name, signal, protocol = protocols.http, above = []) {
  const object = await ask(named(`${protocol.name}/services`, name), { signal }).catch((error) => {
    if (error.status === 404) return undefined;
    throw error;
  });
  const below = object && above.length < depth && !above.includes(name) ? children(object) : [];
  return { name, object, children: await Promise.all(below.map(async (child) => ({ ...child, ...(await grow(child.name, signal, protocol, [...above, name])) }))) };
}

/** leaves are the services of a tree that have endpoints. */
export function leaves(tree) {
  if (tree.children.length) return tree.children.flatMap(leaves);
  return tree.object?.loadBalancer ? [tree.name] : [];
}

/** shares are the services of a tree that have endpoints, by name: the share of the requests at the top that each gets, without mirrored ones. */
export function shares(tree, share = 1, into = new Map()) {
  if (!tree.children.length && tree.object?.loadBalancer) into.set(tree.name, (into.get(tree.name) ?? 0) + share);
  for (const child of tree.children) shares(child, child.copy ? 0 : share * (child.share ?? 1), into);
  return into;
}

/** most is the maximum number of endpoints of a service that are read. */
const most = 1000;

/** standingOf reads the endpoints of services of a protocol: a map of {list, total}. */
export async function standingOf(services, signal, protocol = protocols.http) {
  const answers = await Promise.all(services.map((serviceName) => page('endpoints', { parameters: { serviceName, protocol: protocol.name, per_page: most }, signal })));
  return new Map(services.map((name, i) => [name, { list: answers[i].data, total: answers[i].total }]));
}
