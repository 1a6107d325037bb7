// The part of the route from a service to its endpoints, for the pages of routers and services.

import { el } from '../lib/dom.js';
import { repeat } from '../lib/live.js';
import { shares, standingOf } from '../lib/tree.js';
import { kindOf } from './services.js';
import { objectStation, pool } from './route.js';

/** branches lays out a tree of services: {columns, first, links(), follow(redraw)}. */
export function branches(tree, signal, protocol) {
  const parts = shares(tree);
  const names = [...parts.keys()];
  const pools = new Map(names.map((name) => [name, pool(name, parts.get(name), protocol)]));
  const stops = [];
  const stop = (node, role, share = 1) => {
    const own = objectStation(protocol.kinds.service, node.name, node.object, [role, node.object && [kindOf(node.object), node.object.loadBalancer?.strategy].filter(Boolean).join(', ')]);
    stops.push({ ...node, station: own, part: share });
    return node.children.length ? el('div', { class: 'branch' }, own, el('div', { class: 'branches' }, node.children.map((child) => stop(child, child.role, share * (child.share ?? 1))))) : own;
  };
  const root = el('div', { class: 'tree' }, stop(tree));
  const links = () => stops.filter((one) => pools.has(one.name)).flatMap((one) =>
    pools.get(one.name).ends().map((end) => ({ from: one.station, to: end.node, tone: end.tone, share: end.share * one.part, copy: one.copy })));
  return {
    columns: [['Service', '', root], ...(names.length ? [['Endpoints', '', [...pools.values()].map((one) => one.node)]] : [])],
    first: () => stops[0].station,
    links,
    /** refresh reads the state of the endpoints. */
    async refresh() {
      for (const [name, { list, total }] of await standingOf(names, signal, protocol)) pools.get(name).draw(list, total);
    },
    follow(redraw) {
      if (names.length === 0) return;
      repeat(async () => {
        await this.refresh();
        redraw();
      }, 2000, signal);
    },
  };
}
