// The diagram of a route: entrypoints, rule, middlewares, service, endpoints, and the edges between them.

import { el, renew, replace, svg, write } from '../lib/dom.js';
import { count, many, percent } from '../lib/format.js';
import { place, placeOf } from '../lib/place.js';
import { protocolOf, protocols } from '../lib/protocol.js';
import { meter } from './cells.js';
import { remark, stateOf } from './endpoints.js';
import { loads, loadWords } from './load.js';
import { parted, stateIcon, tone } from './parts.js';

/** boxes is the maximum number of endpoints drawn as boxes; more are drawn as a mosaic. */
export const boxes = 8;

/** station is one node of the diagram. */
export function station({ target, label, below = [], state, missing }) {
  const shade = state ? tone(state) : '';
  return el(target ? 'a' : 'div', { href: target, class: `station ${['bad', 'warn'].includes(shade) ? shade : ''} ${missing ? 'missing' : ''}` },
    el('span', { class: 'label' }, state ? stateIcon(state) : null, el('span', {}, label)), below.map((text) => text && el('small', {}, text)));
}

/** objectStation is the node of a middleware or service; one that does not exist is marked. */
export function objectStation(kind, name, object, below) {
  if (!object) return station({ label: parted(name), below: ['does not exist'], state: 'quarantined', missing: true });
  return station({ target: placeOf(kind, name), label: parted(name), below, state: object.status === 'enabled' ? undefined : object.status });
}

/** poolOf is the entry of an endpoint for a service of a protocol. */
export const poolOf = (endpoint, service, protocol = protocols.http) => endpoint.pools.find((pool) => pool.service === service && protocolOf(pool) === protocol);

/** describe describes in a line why an endpoint does not serve in a pool; empty if it does. */
function describe(endpoint, pool) {
  const state = stateOf(endpoint, pool);
  return [state === 'serving' ? '' : state, remark(endpoint, pool)].filter(Boolean).join(': ');
}

/** endpointStation is the node of one endpoint: {node, draw(endpoint, load)}; part is the share of the route's requests that its service gets. */
function endpointStation(service, part, protocol) {
  const label = el('span', { class: 'label' });
  const load = el('span', { class: 'load' });
  const note = el('small', {});
  const figures = el('span', { class: 'load' });
  const node = el('div', { class: 'station' }, label, load, figures, note);
  return {
    node,
    draw(endpoint, now) {
      const pool = poolOf(endpoint, service, protocol);
      const state = stateOf(endpoint, pool);
      const shade = tone(state);
      node.className = `station ${shade === 'good' ? '' : shade}`;
      replace(label, stateIcon(state), el('span', { class: 'mono' }, endpoint.address));
      replace(load, meter(endpoint.inFlight / 20), el('span', { title: `${protocol.carried} in flight` }, `${endpoint.inFlight} in flight`), el('span', { title: `share of the ${protocol.carried} of this route` }, percent(pool.share * part)));
      const words = loadWords(now, pool);
      replace(figures, el('span', {}, `${words.rate} ${protocol.unit}`), now?.rate === 0 ? null : [el('span', { class: words.bad ? 'bad-text' : '' }, `${words.errors} ${protocol.failed}`), protocol === protocols.http ? el('span', { title: 'mean duration of requests' }, words.mean) : null]);
      write(note, describe(endpoint, pool));
      note.hidden = !note.textContent;
    },
  };
}

/** pool holds the nodes of a service's endpoints: {node, draw(list, total), ends()}, where ends are the nodes with the share of the service's requests and tone. part is the share of the route's requests that the service gets. */
export function pool(service, part = 1, protocol = protocols.http) {
  const ofService = (one) => poolOf(one, service, protocol);
  const node = el('div', { class: 'tree' });
  const stations = new Map();
  const load = loads();
  let ends = [];
  return {
    node,
    ends: () => ends,
    draw(list, total) {
      const own = list.filter(ofService);
      load.read(own);
      if (own.length === 0) {
        const empty = station({ label: 'no endpoints', below: [protocol.without], state: 'quarantined', missing: true });
        replace(node, empty);
        ends = [{ node: empty, tone: 'bad', share: 0 }];
      } else if (own.length > boxes || total > list.length) {
        const grid = mosaic(own, service, total, protocol);
        renew(node, grid);
        ends = [{ node: grid, tone: own.some((one) => ofService(one).state === 'serving') ? '' : 'bad', share: 1 }];
      } else {
        const keys = own.map((one) => `${one.source} ${one.address} ${one.uid ?? ''}`);
        for (const key of stations.keys()) if (!keys.includes(key)) stations.delete(key);
        own.forEach((one, i) => {
          if (!stations.has(keys[i])) stations.set(keys[i], endpointStation(service, part, protocol));
          stations.get(keys[i]).draw(one, load.of(one, ofService(one)));
        });
        const nodes = keys.map((key) => stations.get(key).node);
        if (nodes.length !== node.children.length || nodes.some((one, i) => node.children[i] !== one)) replace(node, nodes);
        ends = own.map((one, i) => {
          const place = ofService(one);
          const shade = tone(stateOf(one, place));
          return { node: nodes[i], tone: shade === 'good' ? '' : shade, share: place.share };
        });
      }
    },
  };
}

/** reasons is the maximum number of bad endpoints that are listed below a mosaic. */
const reasons = 3;

function mosaic(list, service, total, protocol) {
  const own = (one) => poolOf(one, service, protocol);
  const states = new Map();
  const most = Math.max(8, ...list.map((one) => one.inFlight));
  const bad = [];
  const tiles = list.map((one) => {
    const state = stateOf(one, own(one));
    states.set(state, (states.get(state) ?? 0) + 1);
    if (tone(state) === 'bad') bad.push(one);
    return el('i', { class: tone(state), title: `${one.address}: ${state}, ${many(one.inFlight, protocol.one)} in flight`, vars: { '--part': one.inFlight / most } });
  });
  const words = [...states].map(([state, number]) => `${count(number)} ${state}`).join(', ');
  const kinds = new Set(bad.map((one) => own(one).state));
  const alone = kinds.size === 1 && !kinds.has('serving') ? [...kinds][0] : '';
  const whole = total > list.length ? `${words} of the first ${count(list.length)}` : words;
  const listed = (status, text) => el('a', { href: place('endpoints', '', { serviceName: service, protocol: protocol === protocols.http ? '' : protocol.name, status }) }, text);
  return el('div', { class: 'mosaic' }, el('p', {}, whole, ' · ', listed('', total > list.length ? `all ${count(total)}` : 'list')), el('div', { class: 'chips', role: 'img', 'aria-label': whole }, tiles),
    bad.length ? el('ul', {}, bad.slice(0, reasons).map((one) => el('li', {}, stateIcon('unhealthy'), ' ', el('span', { class: 'mono' }, one.address), ` ${describe(one, own(one))}`)),
      bad.length > reasons ? el('li', {}, listed(alone, `and ${count(bad.length - reasons)} more`)) : null) : null);
}

/**
 * diagram lays out columns of [title, class, nodes] and draws the edges of links(), each {from, to, tone, share, copy}: from the
 * right side of one node to the left side of another, or downwards in the column layout.
 */
export function diagram(columns, links, signal) {
  const edges = svg('svg', { 'aria-hidden': 'true' });
  const node = el('div', { class: 'route' }, edges, columns.map(([title, kind, nodes]) => el('section', { class: `column ${kind}`, 'aria-label': title }, el('h3', {}, title), nodes)));
  const draw = () => {
    const base = node.getBoundingClientRect();
    if (!base.width) return;
    const left = base.left - node.scrollLeft;
    edges.style.setProperty('width', `${node.scrollWidth}px`);
    const below = getComputedStyle(node).gridAutoFlow === 'row';
    replace(edges, links().filter((link) => link.from?.isConnected && link.to?.isConnected).map((link) => {
      const a = link.from.getBoundingClientRect();
      const b = link.to.getBoundingClientRect();
      return svg('path', { class: `edge ${link.tone ?? ''} ${link.copy ? 'copy' : ''}`, d: below ? fall(a, b, left, base.top) : run(a, b, left, base.top), vars: { '--share': link.share ?? 0.1 } });
    }));
  };
  const watch = new ResizeObserver(draw);
  watch.observe(node);
  signal.addEventListener('abort', () => watch.disconnect());
  return { node, draw };
}

function run(a, b, left, top) {
  const [x, y] = [a.right - left, a.top + a.height / 2 - top];
  const [u, v] = [b.left - left, b.top + b.height / 2 - top];
  const bend = Math.max(14, (u - x) / 2);
  return `M${x} ${y}C${x + bend} ${y} ${u - bend} ${v} ${u} ${v}`;
}

/** In the column layout, edges run along the left side so that they cross no box. */
function fall(a, b, left, top) {
  const x = Math.min(a.left, b.left) - left - 6;
  const [y, v] = [a.bottom - top - Math.min(14, a.height / 2), b.top + Math.min(16, b.height / 2) - top];
  return `M${a.left - left} ${y}C${x - 3} ${y} ${x} ${y + 4} ${x} ${y + 10}L${x} ${v - 10}C${x} ${v - 4} ${x - 3} ${v} ${b.left - left} ${v}`;
}
