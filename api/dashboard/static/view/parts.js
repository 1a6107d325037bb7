// Parts that several views share.

import { ask } from '../lib/api.js';
import { copying, el, icon, sign } from '../lib/dom.js';
import { count, tail } from '../lib/format.js';
import { example, tokens } from '../lib/rule.js';
import { place, placeOf } from '../lib/place.js';
import { kindWords } from '../lib/protocol.js';

const tones = {
  enabled: 'good', warning: 'warn', disabled: 'bad',
  accepted: 'good', degraded: 'warn', retained: 'warn', quarantined: 'bad',
  serving: 'good', draining: 'warn', unhealthy: 'bad', ejected: 'bad', unreachable: 'bad', failing: 'bad',
  valid: 'good', due: 'warn', ordering: 'warn', unused: 'idle',
  synced: 'good', absent: 'idle', idle: 'idle', pending: 'warn', rejected: 'bad', forbidden: 'bad', 'timed out': 'bad',
};

/** tone maps a state to good, warn, bad or idle. */
export const tone = (state) => tones[state] ?? 'warn';

/** stateIcon shows a state as a shape with a text alternative. */
export function stateIcon(state) {
  return [sign(tone(state)), el('span', { class: 'unseen' }, `${state} `)];
}

/** ruled shows a rule with highlighting. */
export function ruled(rule) {
  return el('code', { class: 'rule' }, tokens(rule ?? '').map((token) =>
    token.kind === 'space' || token.kind === 'mark' ? token.text : el('span', { class: token.kind }, token.text)));
}

/** parted shows name@provider with a dimmed provider. */
export function parted(name) {
  const at = name.lastIndexOf('@');
  return at < 0 ? [name] : [name.slice(0, at), el('span', { class: 'at' }, name.slice(at))];
}

/** within leaves the provider out if it is the owner's. */
export function within(name, owner) {
  const at = name.lastIndexOf('@');
  return at > 0 && name.slice(at) === owner.slice(owner.lastIndexOf('@')) ? name.slice(0, at) : name;
}

/** linked links to the page of an object. */
export function linked(kind, name, attributes = {}, shown = name) {
  shown ||= name;
  const target = placeOf(kind, name);
  return target ? el('a', { href: target, ...attributes }, el('span', {}, parted(shown))) : el('b', attributes, parted(shown));
}

/** origin shows where an object was declared. */
export function origin(text, most) {
  return text ? el('span', { class: 'where' }, el('code', { title: text }, tail(text, most)), copying(text, 'the location')) : null;
}

/** finding shows one problem and its object. Similar ones may follow: {others, total}. */
export function finding(one, { others = [], total = 1 } = {}) {
  const state = one.status ?? 'quarantined';
  return el('li', {}, sign(tone(state)),
    el('div', { class: 'head' }, el('span', { class: 'kind' }, kindWords[one.kind] ?? one.kind), linked(one.kind, one.name), one.service ? linked(one.serviceKind ?? 'service', one.service, { class: 'chip' }) : null),
    el('div', { class: 'why' }, one.reason, el('span', { class: 'unseen' }, `: ${words[state] ?? state}`),
      others.length ? el('div', { class: 'chips also' }, 'also', others.slice(0, 4).map((other) => linked(other.kind, other.name, { class: 'chip' })), total - 1 > 4 ? el('a', { class: 'chip', href: one.kind === 'endpoint' ? place('endpoints', '', { status: one.state }) : place('problems', '', { search: one.reason }) }, `+${count(total - 5)}`) : null) : null),
    origin(one.origin) ?? el('span', { class: 'where' }));
}

/** alike groups findings with the same text, kind and service. */
export function alike(findings) {
  const groups = new Map();
  for (const one of findings) {
    const key = `${one.status} ${one.kind} ${one.serviceKind ?? ''} ${one.service ?? ''} ${one.reason}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(one);
  }
  return [...groups.values()];
}

const words = { quarantined: 'disabled', degraded: 'warning', retained: 'change refused', disabled: 'disabled', warning: 'warning', failing: 'failing requests' };

/** sheet is a titled part of a view. */
export function sheet(title, tools, ...content) {
  return el('section', { class: 'sheet', 'aria-label': title }, el('header', {}, el('h2', {}, title), tools), content);
}

/** heading is the head of an object's page. */
export function heading(list, name, state, ...side) {
  return el('header', {}, el('p', { class: 'crumb' }, el('a', { href: place(list.view) }, list.title)),
    el('div', { class: 'title' }, el('div', { class: 'lead' }, state ? stateIcon(state) : null, el('h1', {}, parted(name)), copying(name, 'the name')), el('div', { class: 'side' }, side)));
}

/** explaining links to the explain form with a request that matches the rule. */
export function explaining(router) {
  const guess = example(router.rule ?? '', Boolean(router.tls));
  return el('a', { class: 'plain', href: place('explain', '', { ...guess, entrypoint: (router.using ?? router.entryPoints ?? [])[0] }) }, icon('search'), 'Explain a request');
}

/** consequence describes the effect of a disabled object on requests. */
const consequence = {
  router: 'Disabled: requests that match its rule get 503.',
  service: 'Disabled: requests for it get 503.',
  middleware: 'Disabled, and so are the routers that use it.',
  tcpRouter: 'Disabled: connections that match its rule are closed.',
  tcpService: 'Disabled, and so are the routers that use it.',
  tcpMiddleware: 'Disabled, and so are the routers that use it.',
  udpRouter: 'Disabled: it takes no datagrams.',
  udpService: 'Disabled, and so are the routers that use it.',
};

/** faults lists the problems of an object and their origins. */
export async function faults(kind, object, signal) {
  const errors = [object.error ?? []].flat();
  if (!errors.length) return null;
  const verdicts = await ask('verdicts', { parameters: { kind, search: object.name }, signal }).catch(() => []);
  const declared = verdicts.find((one) => one.name === object.name)?.origin;
  return el('section', { class: 'sheet', 'aria-label': 'Findings' }, el('ul', { class: 'problems' }, errors.map((reason, i) =>
    el('li', {}, sign(tone(object.status)), el('div', { class: 'why' }, reason),
      i === errors.length - 1 ? el('div', { class: 'where' }, object.status === 'disabled' ? consequence[kind] : 'Enabled.', declared ? [' Declared in', origin(declared)] : null) : null))));
}

/** most is the maximum number of list elements in a definition. */
const most = 20;

/** definition shows a value of the API as a tree of names and values. */
export function definition(value, depth = 0) {
  const entries = Object.entries(value).filter(([, inner]) => inner !== null && inner !== undefined);
  if (!entries.length) return el('p', { class: 'none' }, 'No options.');
  return el('dl', { class: 'definition' }, entries.flatMap(([name, inner]) => {
    if (simple(inner)) return [el('dt', {}, name), el('dd', {}, el('code', {}, plain(inner)))];
    if (Array.isArray(inner) && inner.every(simple)) return [el('dt', {}, name), el('dd', {}, el('div', { class: 'chips' }, inner.map((one) => el('code', { class: 'chip' }, plain(one)))))];
    if (Array.isArray(inner) && inner.every(flat)) return [el('dt', {}, name), el('dd', {}, el('ul', {}, inner.slice(0, most).map((one) => el('li', {}, Object.entries(one).map(([key, value], i) => [i ? '  ' : '', el('span', { class: 'quiet-text' }, `${key} `), el('code', {}, plain(value))])))), inner.length > most ? el('span', { class: 'quiet-text' }, `and ${count(inner.length - most)} more`) : null)];
    const numbered = Array.isArray(inner) ? Object.fromEntries(inner.slice(0, most).map((one, i) => [`${i + 1}`, one])) : inner;
    return [el('dt', { class: 'above' }, name, Array.isArray(inner) && inner.length > most ? `, the first ${most} of ${count(inner.length)}` : ''), el('dd', { class: 'inner' }, depth < 8 ? definition(numbered, depth + 1) : '…')];
  }));
}

const flat = (value) => value !== null && typeof value === 'object' && !Array.isArray(value) && Object.values(value).every(simple);
const simple = (value) => value === null || typeof value !== 'object';
const plain = (value) => (value === '' ? '""' : String(value));

/** failure is shown in place of a view that failed to load. */
export function failure(error, again) {
  return el('div', { class: 'sheet failure', role: 'alert' }, el('h1', {}, error.status === 404 ? 'Not found.' : 'This page could not be loaded.'), el('p', {}, error.message),
    el('button', { class: 'plain', type: 'button', on: { click: again } }, 'Try again'));
}
