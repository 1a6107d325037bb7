// The environment services: which subset of each answers each tag, and what answers a given tag.

import { page } from '../lib/api.js';
import { el, icon, renew, replace, sign, write } from '../lib/dom.js';
import { count, many } from '../lib/format.js';
import { repeat } from '../lib/live.js';
import { place, placeOf } from '../lib/place.js';
import { linked, origin, sheet } from './parts.js';

/** rows is the number of services of a page, columns the maximum number of tags that the matrix shows. */
const rows = 50;
const columns = 24;

/** described says what answers a tag, and why. */
export function described({ reason, subset }) {
  return { exact: 'the environment itself', ancestor: `the nearest ancestor, ${subset}`, default: `the default, ${subset}`, any: 'any endpoint, since it has no subset', none: 'nothing: 503' }[reason] ?? reason;
}

/** shown is the text of an answer in the matrix. */
export const shown = ({ reason, subset }) => ({ exact: subset, ancestor: subset, none: '–' }[reason] ?? reason);

/** toneOf is good where an endpoint may answer, bad where none may, and idle where nothing is selected. */
export const toneOf = ({ reason, up }) => (reason === 'none' ? 'idle' : up ? 'good' : 'bad');

/** breakable lets a tag break after its splitters. */
const breakable = (tag, splitter = '.') => tag.split(splitter).flatMap((level, i) => (i ? [splitter, el('wbr', {}), level] : [level]));

/** endpointsOf says how many endpoints get requests. */
const endpointsOf = ({ serving, endpoints }) => `${count(serving)} of ${many(endpoints, 'endpoint')}`;

/** answer shows what answers a tag, with a link to the service. */
function answer(one, splitter) {
  const text = el('span', { class: { exact: 'exact', none: 'quiet-text' }[one.reason] ?? 'quiet-text' }, breakable(shown(one), splitter));
  const title = one.reason === 'none' ? described(one) : `${described(one)}; ${one.service}, ${endpointsOf(one)}`;
  const state = { good: 'up: ', bad: 'down: ', idle: '' }[toneOf(one)];
  return el('span', { class: 'answer', title }, sign(toneOf(one)), el('span', { class: 'unseen' }, state), one.service ? el('a', { href: placeOf('service', one.service) }, text) : text);
}

/** matrix is the table of services and tags. */
function matrix(services, tags) {
  if (!services.length) return el('p', { class: 'body quiet-text' }, 'Nothing matches.');
  return el('div', { class: 'table matrix', tabindex: '0', role: 'region', 'aria-label': 'Services and tags' }, el('table', { class: 'cards' },
    el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'Service'), tags.map((tag) => el('th', { scope: 'col' }, breakable(tag))))),
    el('tbody', {}, services.map((service) => el('tr', {},
      el('th', { scope: 'row', class: 'name' }, linked('service', service.name, { 'data-row': true }), el('small', {}, service.header), origin(service.origin, 24)),
      tags.map((tag, i) => el('td', { class: 'named', 'data-label': tag }, service.answers?.[i] ? answer(service.answers[i], service.splitter) : null)))))));
}

const resultColumns = [
  ['Service', 'name', (service) => el('div', {}, linked('service', service.name))],
  ['Answered by', 'named', ({ answers: [one], splitter }) => answer(one, splitter)],
  ['Because', 'named', ({ answers: [one] }) => described(one)],
  ['Endpoints', 'figure', ({ answers: [one] }) => (one.reason === 'none' ? '–' : endpointsOf(one))],
  ['Header', 'named', (service) => el('code', {}, service.header)],
];

/** result is what each service answers a tag with. */
function result(tag, { services, total }) {
  const failing = services.filter(({ answers: [one] }) => toneOf(one) !== 'good').length;
  const title = tag ? ['With ', el('code', {}, tag)] : 'Without a tag';
  return el('section', { class: 'sheet', 'aria-label': 'Result' },
    el('header', {}, el('h2', {}, title), el('span', { class: failing ? 'bad-text' : 'quiet-text' }, failing ? `${many(failing, 'service')} cannot answer` : 'every service can answer')),
    el('div', { class: 'table' }, el('table', { class: 'cards' }, el('thead', {}, el('tr', {}, resultColumns.map(([name, style]) => el('th', { scope: 'col', class: style }, name)))),
      el('tbody', {}, services.map((service) => el('tr', {}, resultColumns.map(([name, style, cell]) => el('td', { class: style, 'data-label': name }, cell(service)))))))),
    total > services.length ? el('p', { class: 'body quiet-text' }, `The first ${count(services.length)} of ${count(total)} services.`) : null);
}

/** asked is the form for a tag, with its result. */
function asked(tag, remember, signal) {
  const input = el('input', { type: 'text', name: 'tag', value: tag ?? '', placeholder: 'dev.proj1.feature1', autocomplete: 'off', spellcheck: 'false' });
  const told = el('div', { 'aria-live': 'polite' });
  const run = async (quiet) => {
    const wanted = quiet ? tag : (tag = input.value.trim());
    if (wanted === undefined) return;
    remember(wanted);
    try {
      // An empty parameter is left out by ask; a request without a tag needs it.
      const { data, total } = await page(`environments?tag=${encodeURIComponent(wanted)}`, { parameters: { per_page: 500 }, signal });
      if (wanted === tag) renew(told, result(wanted, { services: data.services, total }));
    } catch (error) {
      if (error.name !== 'AbortError' && !quiet) replace(told, el('section', { class: 'sheet verdict bad', role: 'alert' }, sign('bad'), el('h2', {}, 'The question failed.'), el('p', {}, error.message)));
    }
  };
  const form = el('form', { class: 'ask one', on: { submit(event) {
    event.preventDefault();
    run(false);
  } } }, el('label', {}, 'With this tag, who answers?', input), el('div', { class: 'go' }, el('button', { class: 'plain main', type: 'submit' }, 'Show')));
  return { node: [sheet('A tag', el('span', { class: 'quiet-text' }, 'empty: a request without a tag'), el('div', { class: 'body' }, form)), told], run };
}

export async function environments({ query, signal }) {
  const state = { search: query.get('search') ?? '', page: Number(query.get('page')) || 1, from: 0, tag: query.get('tag') ?? undefined };
  const remember = () => {
    const address = place('environments', '', { search: state.search, page: state.page > 1 ? state.page : '', tag: state.tag });
    history.replaceState(null, '', state.tag === '' ? `${address}${address.includes('?') ? '&' : '?'}tag=` : address);
  };
  const body = el('div', {});
  const where = el('span', { role: 'status' });
  const input = el('input', { type: 'search', value: state.search, placeholder: 'Search services', 'aria-label': 'Search services', autocomplete: 'off', spellcheck: 'false' });
  const button = (title, name, change) => el('button', { class: 'plain', type: 'button', on: { click: () => turn(change()) } }, name === 'back' ? icon(name) : null, title, name === 'next' ? icon(name) : null);
  const back = button('Previous', 'back', () => ({ page: state.page - 1 }));
  const next = button('Next', 'next', () => ({ page: state.page + 1 }));
  const fewer = button('Previous tags', 'back', () => ({ from: Math.max(0, state.from - columns) }));
  const more = button('Next tags', 'next', () => ({ from: state.from + columns }));
  let asking = new AbortController();
  let before = '';

  const load = async () => {
    asking.abort();
    asking = new AbortController();
    const both = AbortSignal.any([asking.signal, signal]);
    const parameters = { search: state.search, page: state.page, per_page: rows };
    const first = await page('environments', { parameters, signal: both });
    if (state.from >= first.data.tags.length) state.from = 0;
    const tags = first.data.tags.slice(state.from, state.from + columns);
    const { data, next: following, total } = tags.length ? await page('environments', { parameters: { ...parameters, tag: tags }, signal: both }) : first;
    if (!state.search && !total) throw Object.assign(new Error('There is no environment service. One divides the requests to a service by the tag in a header.'), { status: 404 });
    const all = first.data.tags.length + (first.data.moreTags ?? 0);
    const text = JSON.stringify([data, tags, following, total, state.page]);
    if (text === before) return;
    before = text;
    renew(body, matrix(data.services, tags));
    back.disabled = state.page <= 1;
    next.disabled = !following;
    fewer.disabled = state.from === 0;
    more.disabled = state.from + columns >= first.data.tags.length;
    back.hidden = next.hidden = total <= rows;
    fewer.hidden = more.hidden = all <= columns;
    write(where, `${many(total, 'service')}, ${all > columns ? `tags ${count(state.from + 1)}–${count(state.from + tags.length)} of ${count(all)}` : many(all, 'tag')}`);
  };
  const turn = async (values) => {
    Object.assign(state, values);
    remember();
    await load().catch((error) => error.name !== 'AbortError' && replace(body, el('p', { class: 'body bad-text', role: 'alert' }, error.message)));
  };
  let timer;
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => turn({ search: input.value.trim(), page: 1 }), 60);
  });
  const form = asked(state.tag, (tag) => {
    state.tag = tag;
    remember();
  }, signal);
  await Promise.all([load(), form.run(true)]);
  repeat(async () => {
    try {
      await Promise.all([load(), form.run(true)]);
    } catch (error) {
      if (error.status === 404) dispatchEvent(new Event('hashchange')); // The last service is gone.
      throw error;
    }
  }, 3000, signal);
  return {
    title: 'Environments',
    node: [el('header', {}, el('div', { class: 'title' }, el('h1', {}, 'Environments'), el('div', { class: 'side' }, el('span', { class: 'quiet-text' }, 'which subset of a service answers each tag')))),
      form.node,
      el('div', {}, el('div', { class: 'filters' }, el('div', { class: 'search' }, icon('search'), input)),
        el('section', { class: 'sheet', 'aria-label': 'Matrix' }, body, el('div', { class: 'pager' }, where, fewer, more, back, next)))],
  };
}
