// Keyboard shortcuts, and the search box for objects.

import { el, icon, replace } from '../lib/dom.js';
import { page } from '../lib/api.js';
import { place } from '../lib/place.js';
import { kindWords } from '../lib/protocol.js';
import { parted, stateIcon } from './parts.js';
import { offered } from './shell.js';

const sources = [
  ['routers', 'router', 'http/routers', (one) => one.rule],
  ['services', 'service', 'http/services', (one) => one.type],
  ['middlewares', 'middleware', 'http/middlewares', (one) => one.type],
  ['routers-tcp', 'tcpRouter', 'tcp/routers', (one) => one.rule],
  ['services-tcp', 'tcpService', 'tcp/services', (one) => one.type],
  ['middlewares-tcp', 'tcpMiddleware', 'tcp/middlewares', (one) => one.type],
  ['routers-udp', 'udpRouter', 'udp/routers', () => ''],
  ['services-udp', 'udpService', 'udp/services', (one) => one.type],
];

/** keys handles the keyboard shortcuts. */
export function keys(frame) {
  const find = finder();
  const help = helping();
  document.body.append(find.node, help.node);
  frame.finder.addEventListener('click', find.open);
  frame.help.addEventListener('click', help.open);
  let pending = '';
  addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && event.target.matches?.('main input[type="search"]')) {
      event.preventDefault(); // The text stays, and the keys below work on what was found.
      event.target.blur();
      return;
    }
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      find.open();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.('input, textarea, select, dialog')) return;
    const view = pending === 'g' && offered().find(([, , key]) => key === event.key)?.[0];
    pending = event.key;
    if (view) {
      pending = '';
      location.hash = place(view);
      return;
    }
    const search = document.querySelector('main input[type="search"]');
    if (event.key === '/') {
      event.preventDefault();
      if (search) search.select();
      else find.open();
    } else if (event.key === '?') help.open();
    else if (event.key === 't') frame.theme.click();
    else if (event.key === 'j' || event.key === 'k') step(event.key === 'j' ? 1 : -1);
  });
}

/** step moves the focus along the rows of the list. */
export function step(by) {
  const rows = [...document.querySelectorAll('main [data-row]')];
  if (!rows.length) return;
  const at = rows.indexOf(document.activeElement);
  rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + by))].focus();
}

function helping() {
  const close = el('button', { class: 'quiet', type: 'button', 'aria-label': 'Close' }, icon('close'));
  const rows = () => [
    ['/', 'search in the list'], ['Ctrl K', 'go to a router, service or middleware'], ['j k', 'next and previous row; Enter opens it'],
    ...offered().map(([, title, key]) => [`g ${key}`, title]), ['Esc', 'leave the search'], ['t', 'light, dark, or as the system'], ['?', 'these keys'],
  ];
  const names = el('dl', {});
  const node = el('dialog', { class: 'keys', 'aria-labelledby': 'keys-title' }, el('header', {}, el('h2', { id: 'keys-title' }, 'Keys'), close), names);
  close.addEventListener('click', () => node.close());
  node.addEventListener('click', (event) => event.target === node && node.close());
  return {
    node,
    open() {
      replace(names, rows().flatMap(([combination, what]) => [el('dt', {}, combination.split(' ').map((key, i) => [i ? ' ' : '', el('kbd', {}, key)])), el('dd', {}, what)]));
      node.showModal();
    },
  };
}

async function found(text, signal) {
  const lists = await Promise.all(sources.map(async ([view, kind, path, more]) => {
    const { data } = await page(path, { parameters: { search: text, sortBy: text && 'relevance', per_page: 6 }, signal });
    return data.map((one) => ({ kind, state: one.status, name: one.name, more: more(one), target: place(view, one.name) }));
  }));
  const matching = offered().filter(([, title]) => title.toLowerCase().startsWith(text.toLowerCase()));
  return [...matching.map(([view, title]) => ({ kind: 'view', name: title, target: place(view) })), ...ranked(lists.flat(), text)];
}

/** relevance ranks how a name matches a text: its beginning, the beginning of a word, a part of it, or not at all (3). */
export function relevance(name, text) {
  const at = name.toLowerCase().indexOf(text.toLowerCase());
  if (at <= 0) return at < 0 ? 3 : 0;
  const words = name.toLowerCase().split(/[^\p{L}\p{N}]+/u);
  return words.some((word) => word.startsWith(text.toLowerCase())) ? 1 : 2;
}

/** ranked sorts objects by the relevance of their names, and keeps the order of those that are equal. */
export const ranked = (items, text) => [...items].sort((a, b) => relevance(a.name, text) - relevance(b.name, text));

function finder() {
  const list = el('ul', { role: 'listbox', id: 'found', 'aria-label': 'Found' });
  const input = el('input', { type: 'text', placeholder: 'Name, rule or host', 'aria-label': 'Find an object', autocomplete: 'off', spellcheck: 'false', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'found' });
  const node = el('dialog', { class: 'finder', 'aria-label': 'Go to an object' }, input, list);
  let items = [];
  let at = 0;
  let timer;
  let asking = new AbortController();

  const choose = (index) => {
    at = Math.max(0, Math.min(items.length - 1, index));
    [...list.children].forEach((child, i) => child.setAttribute('aria-selected', String(i === at)));
    list.children[at]?.scrollIntoView({ block: 'nearest' });
    if (list.children[at]?.id) input.setAttribute('aria-activedescendant', list.children[at].id);
  };
  const go = (item) => {
    if (!item) return;
    node.close();
    location.hash = item.target;
  };
  const update = async () => {
    asking.abort();
    asking = new AbortController();
    try {
      items = await found(input.value.trim(), asking.signal);
    } catch (error) {
      if (error.name === 'AbortError') return;
      items = [];
    }
    replace(list, items.map((item, i) => el('li', { role: 'option', id: `found-${i}`, on: { click: () => go(item), pointermove: () => i !== at && choose(i) } },
      el('span', { class: 'what' }, kindWords[item.kind] ?? item.kind), item.state ? stateIcon(item.state) : null, el('span', { class: 'name' }, parted(item.name)), item.more ? el('span', { class: 'more mono' }, item.more) : null)));
    choose(0);
  };
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(update, 80);
  });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      choose(at + (event.key === 'ArrowDown' ? 1 : -1));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      go(items[at]);
    }
  });
  node.addEventListener('click', (event) => event.target === node && node.close());
  return {
    node,
    open() {
      if (node.open) return;
      input.value = '';
      node.showModal();
      input.focus();
      update();
    },
  };
}
