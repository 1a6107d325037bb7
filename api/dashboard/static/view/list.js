// A list that the API pages, searches and sorts; it never holds more rows than one page.

import { el, icon, replace, write } from '../lib/dom.js';
import { page } from '../lib/api.js';
import { count } from '../lib/format.js';
import { live, repeat } from '../lib/live.js';
import { place } from '../lib/place.js';
import { step } from './keys.js';

const rows = 50;
/** pause is the debounce time of the search, in milliseconds. */
const pause = 60;

/**
 * list makes a list view. Its options are
 * view and path (of the page, of the API), title, above (a part between title and search), hint (of the search), states (to filter by), totals() (a promise of counts by
 * state), columns of {title, sort, class, cell(item)}, target(item) (the link of a row), fixed (constant parameters),
 * name (of the object whose page the list is a part of), filter (the parameter that the states are values of, if not status),
 * late(items, signal) (fills in further cells of the visible rows), prepare(data) (the rows of a response), length(data) (how many
 * elements of the list a response has, if not one a row) and every (refresh interval in milliseconds).
 */
export async function list(about, { query, signal }) {
  const state = { search: query.get('search') ?? '', status: query.get(about.filter ?? 'status') ?? '', sort: query.get('sort') ?? '', direction: query.get('direction') ?? '', page: Number(query.get('page')) || 1 };
  const extra = about.kept ? Object.fromEntries(about.kept.map((key) => [key, query.get(key) ?? ''])) : {};
  const body = el('tbody', {});
  const heads = about.columns.map((column) => head(column, () => turn(column)));
  const table = el('table', { class: 'cards' }, el('thead', {}, el('tr', {}, heads.map((one) => one.node))), body);
  const input = el('input', { type: 'search', value: state.search, placeholder: about.hint, 'aria-label': about.hint, autocomplete: 'off', spellcheck: 'false' });
  const filter = choices(about.states ?? [], state.status, (chosen) => change({ status: chosen, page: 1 }));
  const where = el('span', { role: 'status' });
  const back = el('button', { class: 'plain', type: 'button', on: { click: () => change({ page: state.page - 1 }) } }, icon('back'), 'Previous');
  const next = el('button', { class: 'plain', type: 'button', on: { click: () => change({ page: state.page + 1 }) } }, 'Next', icon('next'));
  let asking = new AbortController();
  let drawn = new AbortController();

  const filtered = () => ({ [about.filter ?? 'status']: state.status });
  const address = () => place(about.view, about.name, { search: state.search, ...filtered(), sort: state.sort, direction: state.direction, page: state.page > 1 ? state.page : '', ...extra });

  function draw({ data, next: following, total }) {
    drawn.abort();
    drawn = new AbortController();
    const items = about.prepare ? about.prepare(data) : data;
    const focused = [...body.querySelectorAll('a, button, summary')].indexOf(document.activeElement);
    replace(body, items.length ? items.map((item) => row(about, item)) : el('tr', {}, el('td', { colspan: about.columns.length, class: 'none' }, state.search || state.status ? 'Nothing matches.' : about.empty ?? `There are no ${about.title.toLowerCase()}.`)));
    if (focused >= 0) body.querySelectorAll('a, button, summary')[focused]?.focus({ preventScroll: true });
    const first = (state.page - 1) * rows;
    const length = about.length?.(data) ?? items.length;
    write(where, length ? `${count(first + 1)}–${count(first + length)} of ${count(total)}` : '');
    back.disabled = state.page <= 1;
    next.disabled = !following;
    for (const [i, column] of about.columns.entries()) heads[i].mark(column.sort && column.sort === state.sort ? state.direction || 'asc' : '');
    about.late?.(items, AbortSignal.any([drawn.signal, signal]));
  }

  async function load(quiet) {
    if (quiet && body.contains(getSelection().anchorNode) && !getSelection().isCollapsed) return;
    asking.abort();
    const own = (asking = new AbortController());
    const late = setTimeout(() => table.classList.add('late'), quiet ? 60000 : 250);
    try {
      const parameters = { search: state.search, ...filtered(), sortBy: state.sort, direction: state.sort ? state.direction || 'asc' : '', page: state.page, per_page: rows, ...about.fixed, ...extra };
      const answer = await page(about.path, { parameters, signal: AbortSignal.any([own.signal, signal]) });
      if (!(answer.data.requests ?? answer.data).length && state.page > 1) return void change({ page: 1 });
      if (!own.signal.aborted && !signal.aborted) draw(answer);
    } catch (error) {
      if (error.name === 'AbortError' || quiet) return;
      drawn.abort();
      back.disabled = next.disabled = true;
      write(where, '');
      replace(body, el('tr', {}, el('td', { colspan: about.columns.length, class: 'bad-text', role: 'alert' }, error.message)));
    } finally {
      clearTimeout(late);
      if (!own.signal.aborted) table.classList.remove('late');
    }
  }

  function change(values) {
    Object.assign(state, values);
    history.replaceState(null, '', address());
    filter.mark(state.status);
    return load();
  }
  function turn(column) {
    const direction = state.sort === column.sort ? (state.direction === 'desc' ? 'asc' : 'desc') : (column.first ?? 'asc');
    change({ sort: column.sort, direction, page: 1 });
  }

  let timer;
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => change({ search: input.value.trim(), page: 1 }), pause);
  });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') {
      event.preventDefault();
      step(1);
    }
  });
  body.addEventListener('keydown', (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    if (by < 0 && document.activeElement === body.querySelector('[data-row]')) input.focus();
    else step(by);
  });

  const tally = async () => {
    filter.count(await about.totals?.(signal).catch(() => undefined));
  };
  await Promise.all([tally(), load()]);
  const refresh = () => {
    tally();
    load(true);
  };
  // The order by figures changes without a change of objects.
  repeat(async () => ['requests', 'errors'].includes(state.sort) && load(true), 10000, signal);
  if (about.every) repeat(() => Promise.all([about.totals && tally(), load(true)]), about.every, signal);
  else {
    live.hear('generation', refresh, signal);
    live.hear('verdicts', refresh, signal);
  }
  const parts = [el('div', { class: 'filters' }, el('div', { class: 'search' }, icon('search'), input), about.states ? filter.node : null, about.tools ?? null),
    el('div', { class: 'sheet' }, el('div', { class: 'table' }, table), el('div', { class: 'pager' }, where, back, next))];
  if (about.name) return { title: about.name, node: el('section', { 'aria-label': about.title }, el('h2', { class: 'title' }, about.title), parts) };
  return { title: about.title, node: el('div', {}, el('div', { class: 'title' }, el('h1', {}, about.title), about.note ?? null), about.above ?? null, parts) };
}

function row(about, item) {
  const target = about.target?.(item);
  const node = el('tr', { class: target ? 'open' : null }, about.columns.map((column) =>
    el('td', { class: column.class, 'data-label': column.title }, column.cell(item))));
  if (target) {
    node.addEventListener('click', (event) => {
      if (event.target.closest('a, button, summary') || String(getSelection())) return;
      location.hash = target;
    });
  }
  return node;
}

function head(column, turn) {
  if (!column.sort) return { node: el('th', { scope: 'col', class: column.class }, column.title), mark() {} };
  const button = el('button', { type: 'button', on: { click: turn } }, column.title, icon('up'));
  const node = el('th', { scope: 'col', class: column.class }, button);
  return {
    node,
    mark(direction) {
      if (!direction) {
        node.removeAttribute('aria-sort');
        return;
      }
      node.setAttribute('aria-sort', direction === 'asc' ? 'ascending' : 'descending');
      button.lastChild.replaceWith(icon(direction === 'asc' ? 'up' : 'down'));
    },
  };
}

/** choices are buttons of states, one of which is chosen: {node, mark(state), count(totals)}. */
export function choices(states, chosen, choose) {
  const numbers = new Map();
  const buttons = [['', 'All'], ...states].map(([value, title]) => {
    const number = el('small', {});
    numbers.set(value, number);
    return [value, el('button', { type: 'button', 'aria-pressed': String(value === chosen), on: { click: () => choose(value) } }, title, number)];
  });
  return {
    node: el('div', { class: 'choices', role: 'group', 'aria-label': 'State' }, buttons.map(([, button]) => button)),
    mark: (value) => buttons.forEach(([own, button]) => button.setAttribute('aria-pressed', String(own === value))),
    count: (totals) => totals && numbers.forEach((node, value) => write(node, totals[value] === undefined ? '' : count(totals[value]))),
  };
}
