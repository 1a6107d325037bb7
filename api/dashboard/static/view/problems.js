// Problems: each object that is not in use or degraded, its reason, and its origin.

import { all, ask, page } from '../lib/api.js';
import { el, icon, renew, write } from '../lib/dom.js';
import { live, repeat } from '../lib/live.js';
import { place } from '../lib/place.js';
import { many } from '../lib/format.js';
import { Readings } from '../lib/traffic.js';
import { explained, failingOf } from './failing.js';
import { alike, finding } from './parts.js';
import { lasting } from './certificates.js';
import { worst, remark } from './endpoints.js';

/** providers returns the problems of providers, as findings. */
export function providers(ready) {
  return (ready?.providers ?? []).filter((one) => !['synced', 'absent'].includes(one.state)).map((one) =>
    ({ kind: 'provider', name: one.name, status: one.required ? 'quarantined' : 'degraded', reason: one.reason || `It is ${one.state}.` }));
}

/** ending returns the certificates that are expired, or expire within two weeks. */
export async function ending(signal) {
  const { list } = await all('certificates', { signal, most: 500 });
  return list.map((one) => ({ one, left: lasting(one) })).filter(({ left }) => left.state !== 'enabled').map(({ one, left }) =>
    ({ kind: 'certificate', name: one.commonName || one.sans?.[0] || one.name, status: left.state, reason: `It ${left.state === 'disabled' ? left.text : `ends soon: ${left.text}`}.` }));
}

/** failing returns endpoints that should get requests and do not, and the number of further ones. */
export async function failing(signal, most = 100) {
  const lists = await Promise.all(['unhealthy', 'ejected'].map((status) => page('endpoints', { parameters: { status, per_page: most }, signal })));
  const seen = new Map(lists.flatMap((one) => one.data).map((one) => [`${one.source} ${one.address} ${one.uid ?? ''}`, one]));
  const findings = [...seen.values()].map((one) => {
    const pool = worst(one);
    return { kind: 'endpoint', name: one.address, status: 'degraded', state: pool?.state, service: pool?.service, reason: [pool?.state, pool && remark(one, pool)].filter(Boolean).join(': ') };
  });
  return { findings, more: lists.reduce((sum, one) => sum + one.total - one.data.length, 0) };
}

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

  const load = async () => {
    asking.abort();
    const own = (asking = new AbortController());
    try {
      const found = await all('verdicts', { parameters: { search: state.search, status: state.status }, signal: AbortSignal.any([own.signal, signal]), most: state.most });
      if (own.signal.aborted) return;
      const grouped = state.search ? found.list.map((one) => [one]) : alike(found.list);
      renew(list, grouped.length ? grouped.map(together) : el('li', {}, state.search || state.status ? 'Nothing matches.' : 'Every object is in use as it was declared.'));
      pager.hidden = !found.more;
      write(word, many(found.total, 'finding'));
    } catch (error) {
      if (error.name !== 'AbortError') renew(list, el('li', {}, el('span', { class: 'bad-text', role: 'alert' }, error.message)));
    }
  };
  const others = async () => {
    const [certificates, endpoints] = await Promise.all([ending(signal).catch(() => []), failing(signal).catch(() => ({ findings: [], more: 0 }))]);
    const rows = alike([...providers(live.ready), ...endpoints.findings, ...certificates]);
    also.parentElement.hidden = rows.length === 0;
    renew(also, rows.map(together), endpoints.more ? el('li', {}, el('div', { class: 'why' }, el('a', { href: place('endpoints', '', { status: 'unhealthy' }) }, `and ${many(endpoints.more, 'more endpoint')}`))) : null);
  };
  const readings = new Readings(10, 20);
  const requests = async () => {
    const answer = await ask('traffic/services', { signal });
    readings.add(answer.time, answer.services);
    const rows = await explained(failingOf(readings), signal);
    failed.parentElement.hidden = rows.length === 0;
    renew(failed, rows.map((one) => finding(one)));
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
  const buttons = [['', 'All'], ['quarantined', 'Not in use'], ['degraded', 'Defects']].map(([value, title]) => el('button', {
    type: 'button', 'aria-pressed': String(value === state.status),
    on: { click() {
      state.status = value;
      buttons.forEach((one) => one.setAttribute('aria-pressed', String(one === this)));
      history.replaceState(null, '', place('problems', '', { search: state.search, status: state.status }));
      load();
    } },
  }, title));
  const first = el('section', { class: 'sheet', hidden: true, 'aria-label': 'Services whose requests fail' }, el('header', {}, el('h2', {}, 'Services whose requests fail'), el('span', { class: 'quiet-text' }, 'in the last ten seconds')), failed);
  const beside = el('section', { class: 'sheet', hidden: true, 'aria-label': 'Endpoints, providers and certificates' }, el('header', {}, el('h2', {}, 'Endpoints, providers and certificates')), also);
  await load();
  for (const type of ['generation', 'verdicts', 'providers']) {
    live.hear(type, () => {
      load();
      others();
    }, signal);
  }
  repeat(requests, 2000, signal);
  repeat(others, 10000, signal);
  return {
    title: 'Problems',
    node: [el('div', {},
      el('div', { class: 'title' }, el('h1', {}, 'Problems'), el('span', { class: 'quiet-text' }, word)),
      el('div', { class: 'filters' }, el('div', { class: 'search' }, icon('search'), input), el('div', { class: 'choices', role: 'group', 'aria-label': 'State' }, buttons)),
      el('div', { class: 'stack' }, first, el('div', { class: 'sheet' }, list, pager), beside))],
  };
}
