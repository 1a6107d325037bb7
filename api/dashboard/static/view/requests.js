// The live tail: finished requests, TCP connections and UDP sessions as they happen, selected by a filter.

import { el, replace, write } from '../lib/dom.js';
import { bytes, count, duration, many } from '../lib/format.js';
import { place, qualified } from '../lib/place.js';
import { protocolOf } from '../lib/protocol.js';
import { watch } from '../lib/watch.js';
import { linked } from './parts.js';

/** kept is the maximum number of rows. */
const kept = 200;

const fields = [['protocol', 'Protocol', 'http, tcp or udp'], ['router', 'Router', 'shop@file'], ['service', 'Service', 'shop@file'], ['host', 'Host or server name', 'shop.example.com'], ['method', 'Method', 'GET'], ['path', 'Path contains', '/api'], ['status', 'Status', '5xx, 404 or 500-504']];

/** toned is the class of a status. */
const toned = (status) => (status >= 500 ? 'bad-text' : status >= 400 ? 'warn-text' : '');

const columns = [
  ['Time', 'named', (one) => one.time ? new Date(one.StartUTC ?? one.time).toLocaleTimeString('en-GB') : ''],
  ['Request', 'name request', (one) => el('div', {}, el('span', {}, el('b', {}, one.Protocol?.toUpperCase() ?? one.RequestMethod), ' ', el('span', { class: 'mono' }, one.Protocol ? one.TLSServerName ?? one.ClientAddr : `${one.RequestHost ?? ''}${one.RequestPath ?? ''}`)))],
  ['Status', 'figure', (one) => (one.Protocol ? el('span', { class: one.ErrorCode ? 'bad-text' : '' }, (one.ConnectionEnd ?? one.ErrorCode ?? '').replaceAll('_', ' ')) : el('span', { class: toned(one.DownstreamStatus) }, String(one.DownstreamStatus)))],
  ['Duration', 'figure', (one) => duration(one.Duration / 1e9)],
  ['Sent', 'figure', (one) => bytes(one.BytesSent ?? one.DownstreamContentSize)],
  ['Router', 'named', (one) => (one.RouterName ? linked(protocolOf(one).kinds.router, one.RouterName) : 'none')],
  ['Endpoint', 'named', (one) => [el('span', { class: 'mono' }, one.ServiceAddr ?? ''), one.ErrorCode ? el('span', { class: 'why bad-text' }, one.ErrorReason || (one.ErrorCode === 'no_router' ? 'no router matches' : one.ErrorCode)) : null]],
];

export async function requests({ query, signal }) {
  const inputs = fields.map(([name, , example]) => el('input', { type: 'text', name, value: query.get(name) ?? '', placeholder: example, autocomplete: 'off', spellcheck: 'false' }));
  const word = el('span', { class: 'quiet-text', role: 'status' });
  const body = el('tbody', {});
  const pause = el('button', { class: 'plain', type: 'button', 'aria-pressed': 'false' }, 'Pause');
  let current = new AbortController();
  let waiting = [];
  let seen = 0;
  let lost = 0;
  let paused = false;
  let connected = false;

  const parameters = () => Object.fromEntries(inputs.map((input) => [input.name, ['router', 'service'].includes(input.name) && input.value.trim() ? qualified(input.value.trim(), '@file') : input.value.trim()]));
  const state = (text) => write(word, `${text} · ${many(seen, 'request')}${lost ? `, ${count(lost)} left out because too many came at once` : ''}`);
  const going = () => connected && state(paused ? 'Paused' : 'Live');
  const draw = () => {
    if (paused || !waiting.length) return;
    body.prepend(...waiting.reverse().slice(0, kept).map((one) => el('tr', {}, columns.map(([title, kind, cell]) => el('td', { class: kind, 'data-label': title }, cell(one))))));
    waiting = [];
    while (body.children.length > kept) body.lastChild.remove();
    going();
  };
  const handlers = {
    hello() {
      connected = true;
      going();
    },
    request(line) {
      seen++;
      waiting.push(line);
      if (waiting.length > kept) waiting.shift();
    },
    lost(number) {
      lost += number;
      going();
    },
    broken() {
      connected = false;
      state('Disconnected, reconnecting');
    },
    refused({ status, message }) {
      connected = false;
      write(word, status === 404 ? 'Off: set api.liveRequests to true in the static configuration.' : message);
    },
  };
  const listen = () => {
    current.abort();
    current = new AbortController();
    replace(body);
    [waiting, seen, lost] = [[], 0, 0];
    history.replaceState(null, '', place('requests', '', parameters()));
    connected = false;
    state('Connecting');
    watch(parameters(), handlers, AbortSignal.any([current.signal, signal]));
  };
  const timer = setInterval(draw, 250);
  signal.addEventListener('abort', () => clearInterval(timer));
  pause.addEventListener('click', () => {
    paused = !paused;
    pause.setAttribute('aria-pressed', String(paused));
    write(pause, paused ? 'Continue' : 'Pause');
    going();
    draw();
  });
  const form = el('form', { class: 'ask tail', on: { submit(event) {
    event.preventDefault();
    listen();
  } } }, fields.map(([, title], i) => el('label', {}, title, inputs[i])), el('div', { class: 'go' }, el('button', { class: 'plain main', type: 'submit' }, 'Apply'), pause));
  listen();
  return {
    title: 'Requests',
    node: [el('div', {}, el('div', { class: 'title' }, el('h1', {}, 'Live requests'), word), el('div', { class: 'sheet' }, el('div', { class: 'body' }, form))),
      el('div', { class: 'sheet' }, el('div', { class: 'table' }, el('table', { class: 'cards', 'aria-label': 'Requests, newest first' }, el('thead', {}, el('tr', {}, columns.map(([title, kind]) => el('th', { scope: 'col', class: kind }, title)))), body)))],
  };
}
