// Problems: each finding with its reason and, for a declared object, its origin.

import { all } from '../lib/api.js';
import { el, icon, renew, write } from '../lib/dom.js';
import { live } from '../lib/live.js';
import { place } from '../lib/place.js';
import { count } from '../lib/format.js';
import { findings, matches } from './findings.js';
import { alike, finding } from './parts.js';

/** cutWords name the elements of a list in a state. */
const cutWords = { unhealthy: 'unhealthy endpoints', ejected: 'ejected endpoints', warning: 'certificates that expire soon', disabled: 'certificates that are not valid' };

/** cutRow says that a list is read only in part, and links to the whole list. */
const cutRow = ({ path, status, read, total }) => el('li', {}, el('div', { class: 'why' }, 'Of ',
  el('a', { href: place(path, '', path === 'endpoints' ? { status } : {}) }, `${count(total)} ${cutWords[status]}`), `, only the first ${count(read)} are read.`));

const together = ([one, ...others]) => finding(one, { others, total: others.length + 1 });

export async function problems({ query, signal }) {
  const list = el('ul', { class: 'problems' });
  const also = el('ul', { class: 'problems' });
  const failed = el('ul', { class: 'problems' });
  const state = { search: query.get('search') ?? '', status: query.get('status') ?? '', most: 100 };
  const input = el('input', { type: 'search', value: state.search, placeholder: 'Search names and reasons', 'aria-label': 'Search names and reasons', autocomplete: 'off', spellcheck: 'false' });
  const more = el('button', { class: 'plain', type: 'button' }, 'Show more');
  const pager = el('div', { class: 'pager', hidden: true }, el('span', {}), more);
  const word = el('span', { role: 'status' });
  let asking = new AbortController();
  let matching = 0;
  const grouped = (rows) => (state.search ? rows.map((one) => [one]) : alike(rows));

  const load = async () => {
    asking.abort();
    const own = (asking = new AbortController());
    try {
      const found = await all('verdicts', { parameters: { search: state.search, status: state.status }, signal: AbortSignal.any([own.signal, signal]), most: state.most });
      if (own.signal.aborted) return;
      renew(list, found.list.length ? grouped(found.list).map(together) : el('li', {}, state.search || state.status ? 'Nothing matches.' : 'No object has a finding.'));
      pager.hidden = !found.more;
      matching = found.total;
      draw();
    } catch (error) {
      if (error.name !== 'AbortError') renew(list, el('li', {}, el('span', { class: 'bad-text', role: 'alert' }, error.message)));
    }
  };
  const draw = () => {
    const [others, failing] = [findings.beside(), findings.failed].map((rows) => rows.filter((one) => matches(one, state)));
    const { amount, cut, gap } = findings;
    also.parentElement.hidden = others.length + cut.length === 0;
    renew(also, grouped(others).map(together), cut.map(cutRow));
    failed.parentElement.hidden = failing.length === 0;
    renew(failed, failing.map((one) => finding(one)));
    const shown = state.search || state.status ? `${count(matching + others.length + failing.length)} of ` : '';
    write(word, `${shown}${amount}${gap && `. ${gap}`}`);
  };
  let timer;
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      state.search = input.value.trim();
      history.replaceState(null, '', place('problems', '', { search: state.search, status: state.status }));
      load();
    }, 80);
  });
  more.addEventListener('click', () => {
    state.most += 200;
    load();
  });
  const buttons = [['', 'All'], ['quarantined', 'Disabled'], ['retained', 'Changes refused'], ['degraded', 'Warnings']].map(([value, title]) => el('button', {
    type: 'button', 'aria-pressed': String(value === state.status),
    on: { click() {
      state.status = value;
      buttons.forEach((one) => one.setAttribute('aria-pressed', String(one === this)));
      history.replaceState(null, '', place('problems', '', { search: state.search, status: state.status }));
      load();
    } },
  }, title));
  const first = el('section', { class: 'sheet', hidden: true, 'aria-label': 'Services with failing requests' }, el('header', {}, el('h2', {}, 'Services with failing requests'), el('span', { class: 'quiet-text' }, 'last ten seconds')), failed);
  const beside = el('section', { class: 'sheet', hidden: true, 'aria-label': 'Endpoints, providers and certificates' }, el('header', {}, el('h2', {}, 'Endpoints, providers and certificates')), also);
  await load();
  draw();
  for (const type of ['generation', 'verdicts']) live.hear(type, load, signal);
  findings.hear(draw, signal);
  return {
    title: 'Problems',
    node: [el('div', {},
      el('div', { class: 'title' }, el('h1', {}, 'Problems'), el('span', { class: 'quiet-text' }, word)),
      el('div', { class: 'filters' }, el('div', { class: 'search' }, icon('search'), input), el('div', { class: 'choices', role: 'group', 'aria-label': 'State' }, buttons)),
      el('div', { class: 'stack' }, first, el('section', { class: 'sheet', 'aria-label': 'Declared objects' }, el('header', {}, el('h2', {}, 'Declared objects')), list, pager), beside))],
  };
}
