// The page of a middleware: options, counters, and users.

import { ask, named } from '../lib/api.js';
import { el, replace } from '../lib/dom.js';
import { count } from '../lib/format.js';
import { repeat } from '../lib/live.js';
import { linked, definition, faults, heading, sheet } from './parts.js';

const told = new Set(['name', 'provider', 'status', 'usedBy', 'error', 'type']);

/** options are the declared fields of an object's JSON. */
export function options(object, other = []) {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !told.has(key) && !other.includes(key)));
}

/** users lists the objects that refer to an object. */
export function users(names = [], kind = 'router') {
  return sheet('Used by', el('span', { class: 'quiet-text' }, count(names.length)), el('div', { class: 'body chips' }, names.length ? [names.slice(0, 60).map((name) => linked(kind, name, { class: 'chip' })), names.length > 60 ? el('span', { class: 'chip' }, `+${count(names.length - 60)}`) : null] : el('span', { class: 'none' }, 'No router uses it directly.')));
}

export async function middleware({ name, signal }, protocol) {
  const http = protocol.name === 'http';
  const object = await ask(named(`${protocol.name}/middlewares`, name), { signal });
  const wrong = await faults(protocol.kinds.middleware, object, signal);
  const state = el('div', {});
  if (http) repeat(async () => {
    const own = (await ask('middlewares', { signal })).find((one) => one.name === name);
    replace(state, own ? standings(own) : null);
  }, 5000, signal);
  return {
    title: name,
    node: [heading({ view: `middlewares${protocol.suffix}`, title: http ? 'Middlewares' : `${protocol.title} middlewares` }, name, object.status, el('span', { class: 'chip' }, object.type)), wrong,
      el('div', { class: 'halves' }, sheet('Definition', null, el('div', { class: 'body' }, definition(options(object)))), el('div', { class: 'stack' }, state, users(object.usedBy, protocol.kinds.router)))],
  };
}

function standings(own) {
  const rows = (own.owners ?? []).map((one) => el('tr', {}, el('td', {}, one.owner || 'all routers'), el('td', {}, one.state ?? ''), el('td', {}, Object.entries(one.levels ?? {}).map(([key, value]) => el('div', {}, `${key} `, el('b', {}, count(value)))))));
  return sheet('State', null,
    Object.keys(own.counts ?? {}).length ? el('div', { class: 'gauges' }, Object.entries(own.counts).map(([key, value]) => el('div', { class: 'gauge' }, el('span', {}, key), el('b', {}, count(value))))) : null,
    rows.length ? el('div', { class: 'table' }, el('table', {}, el('thead', {}, el('tr', {}, ['For', 'State', 'Levels'].map((title) => el('th', { scope: 'col' }, title)))), el('tbody', {}, rows))) : null);
}
