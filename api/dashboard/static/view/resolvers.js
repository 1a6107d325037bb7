// The certificate resolvers: what each has, orders and fails to obtain.

import { page } from '../lib/api.js';
import { el, icon, renew, replace, sign, write } from '../lib/dom.js';
import { clock, count, day, many, span } from '../lib/format.js';
import { repeat } from '../lib/live.js';
import { chips } from './cells.js';
import { choices } from './list.js';
import { sheet, stateIcon } from './parts.js';

/** rows is the number of certificates of a page. */
const rows = 25;

/** states are those to filter by. */
const states = [['failing', 'Failing'], ['pending', 'Pending'], ['due', 'Due'], ['valid', 'Valid']];

/** until says how far away a moment is. */
export function until(moment, now = Date.now()) {
  const seconds = (Date.parse(moment) - now) / 1000;
  return seconds < 1 ? 'now' : `in ${span(seconds)}`;
}

/** expiry is when a certificate expires: {text, tone}. */
export function expiry({ notAfter, state }, now = Date.now()) {
  if (!notAfter) return { text: 'none yet', tone: 'quiet-text' };
  const seconds = (Date.parse(notAfter) - now) / 1000;
  if (seconds < 0) return { text: `expired ${span(-seconds)} ago`, tone: state === 'unused' ? 'quiet-text' : 'bad-text' };
  return { text: `in ${span(seconds)}`, tone: '' };
}

/** problem is the last problem document as a text. */
export const problem = ({ type, detail, names }) => [[type, detail].filter(Boolean).join(': '), ...Object.entries(names ?? {}).map(([name, reason]) => `${name}: ${reason}`)].join('; ');

/** moment shows a time with its date and clock as the title; a dash without one. */
const moment = (text, shown) => (text ? el('span', { title: clock(Date.parse(text)) }, shown(text)) : '–');

/** renewal is the day of a renewal, or its time if it is within two days. */
const renewal = (text) => (Date.parse(text) - Date.now() < 2 * 86400 * 1000 ? clock(Date.parse(text)) : day(text));

const columns = [
  ['Certificate', 'name', (one) => el('div', {}, stateIcon(one.state), el('span', {}, el('b', {}, one.names?.[0] ?? 'no names'), one.names?.length > 1 ? el('small', { title: one.names.slice(1).join(', ') }, one.names.slice(1, 4).join(', '), one.names.length > 4 ? ` and ${count(one.names.length - 4)} more` : '') : null))],
  ['Resolver', 'named', (one) => one.resolver],
  ['State', 'status', (one) => [el('span', { class: { failing: 'bad-text', unused: 'quiet-text' }[one.state] ?? '' }, one.state),
    one.last ? el('span', { class: 'why bad-text' }, problem(one.last)) : null]],
  ['Expires', 'figure', (one) => el('span', { class: expiry(one).tone, title: one.notAfter ? clock(Date.parse(one.notAfter)) : null }, expiry(one).text)],
  ['Renews', 'figure', (one) => moment(one.renew, renewal)],
  ['Attempts', 'figure', (one) => (one.failures ? count(one.failures) : '–')],
  ['Next attempt', 'figure', (one) => (one.last ? moment(one.next, until) : '–')],
  ['Routers', 'named', (one) => (one.routers?.length ? chips('router', one.routers, 2) : el('span', { class: 'quiet-text' }, 'none'))],
];

/** table shows certificates. */
const table = (certificates, empty) => el('div', { class: 'table' }, el('table', { class: 'cards' },
  el('thead', {}, el('tr', {}, columns.map(([title, style]) => el('th', { scope: 'col', class: style }, title)))),
  el('tbody', {}, certificates.length ? certificates.map((one) => el('tr', {}, columns.map(([title, style, cell]) => el('td', { class: style, 'data-label': title }, cell(one))))) : el('tr', {}, el('td', { class: 'none', colspan: columns.length }, empty)))));

/** resolver shows one resolver: why it cannot work, that its authority fails, or how many certificates it has. */
function resolver(one) {
  const total = Object.values(one.states).reduce((sum, number) => sum + number, 0);
  const failing = one.states.failing ?? 0;
  const authority = one.failures ? `The certificate authority fails, so that all orders wait; ${many(one.failures, 'attempt')}, the next ${one.next ? until(one.next) : 'now'}${one.last ? `: ${problem(one.last)}` : ''}` : '';
  return el('li', {}, sign(one.fault || authority ? 'bad' : failing ? 'warn' : 'good'),
    el('div', { class: 'head' }, el('span', { class: 'kind' }, 'resolver'), el('b', {}, one.name)),
    el('div', { class: 'why' }, one.fault || authority ? el('span', { class: 'bad-text' }, one.fault ? `It cannot be used: ${one.fault}` : authority) : `${many(total, 'certificate')}${failing ? `, ${count(failing)} failing` : ''}`));
}

/** totals counts the certificates of all resolvers by state. */
export function totals(resolvers) {
  const all = { '': 0, ...Object.fromEntries(states.map(([state]) => [state, 0])) };
  for (const { states: own } of resolvers) {
    for (const [state, number] of Object.entries(own)) {
      all[state] = (all[state] ?? 0) + number;
      all[''] += number;
    }
  }
  return all;
}

/** resolvers is the part of a page with all resolvers and their certificates, those that fail first; null without a resolver. */
export async function resolvers({ signal }) {
  const state = { search: '', state: '', page: 1 };
  const body = el('div', {});
  const all = el('ul', { class: 'problems' });
  const where = el('span', { role: 'status' });
  const button = (title, by) => el('button', { class: 'plain', type: 'button', on: { click: () => turn({ page: state.page + by }) } }, title);
  const [back, next] = [button('Previous', -1), button('Next', 1)];
  const filter = choices(states, '', (chosen) => turn({ state: chosen, page: 1 }));
  const input = el('input', { type: 'search', placeholder: 'Search names and problems', 'aria-label': 'Search names and problems', autocomplete: 'off', spellcheck: 'false' });
  let asking = new AbortController();
  let before = '';
  let known = 0;

  const load = async () => {
    asking.abort();
    const own = (asking = new AbortController());
    const { data, next: following, total } = await page('resolvers', { parameters: { ...state, per_page: rows }, signal: AbortSignal.any([own.signal, signal]) });
    known = data.resolvers.length;
    const text = JSON.stringify([data, state, total]) + data.certificates.map((one) => [expiry(one).text, one.next && until(one.next)]).join();
    if (text === before) return;
    before = text;
    renew(all, data.resolvers.map(resolver));
    renew(body, table(data.certificates, state.search || state.state ? 'Nothing matches.' : 'No router needs a certificate of a resolver.'));
    filter.count(totals(data.resolvers));
    write(where, many(total, 'certificate'));
    back.disabled = state.page <= 1;
    next.disabled = !following;
    back.hidden = next.hidden = total <= rows;
  };
  const turn = (values) => {
    Object.assign(state, values);
    filter.mark(state.state);
    return load().catch((error) => {
      if (error.name === 'AbortError') return;
      before = '';
      replace(body, el('p', { class: 'body bad-text', role: 'alert' }, error.message));
    });
  };
  let timer;
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => turn({ search: input.value.trim(), page: 1 }), 60);
  });
  await load();
  if (!known) return null;
  // Fewer certificates may have fewer pages.
  repeat(() => load().catch((error) => (error.status === 400 ? turn({ page: 1 }) : Promise.reject(error))), 3000, signal);
  return [sheet('Resolvers', el('span', { class: 'quiet-text' }, 'certificates that are obtained by ACME'), all),
    el('div', {}, el('div', { class: 'filters' }, el('div', { class: 'search' }, icon('search'), input), filter.node),
      el('section', { class: 'sheet', 'aria-label': 'Certificates of resolvers' }, body, el('div', { class: 'pager' }, where, back, next)))];
}
