// Cells of lists, and the figures that are filled in later.

import { ask } from '../lib/api.js';
import { el, write } from '../lib/dom.js';
import { count, duration, percent, rate } from '../lib/format.js';
import { repeat } from '../lib/live.js';
import { Readings, quantile } from '../lib/traffic.js';
import { linked, stateIcon, within } from './parts.js';

/** named is the first cell of a row: state, name, and a note. */
export function named(kind, item, ...below) {
  return el('div', {}, stateIcon(item.status), el('span', {}, linked(kind, item.name, { 'data-row': true }), below.map((text) => text && el('small', {}, text)),
    item.status !== 'enabled' && item.error?.length ? el('span', { class: `why ${item.status === 'disabled' ? 'bad-text' : 'warn-text'}` }, [item.error].flat()[0]) : null));
}

/** figures are the columns of live traffic. Only visible rows are filled. */
export function figures(kind) {
  const cells = new Map();
  const cell = (item, i) => {
    const node = el('span', { class: 'quiet-text' }, '–');
    if (!cells.has(item.name)) cells.set(item.name, []);
    cells.get(item.name)[i] = node;
    return node;
  };
  const titles = [['Req/s', 'requests'], ['5xx', 'errors'], ['p95']];
  return {
    columns: titles.map(([title, sort], i) => ({ title, sort, first: 'desc', class: 'figure', cell: (item) => cell(item, i) })),
    late(items, signal) {
      const shown = items.map((item) => [item.name, cells.get(item.name)]);
      cells.clear();
      const readings = new Readings(10, 20);
      repeat(async () => {
        const answer = await ask(`traffic/${kind}`, { parameters: { name: items.map((item) => item.name) }, signal });
        readings.add(answer.time, answer[kind]);
        for (const [name, nodes] of shown) fill(nodes, readings.now(name), readings.total(name));
      }, 2000, signal);
    },
  };
}

/** fill writes rate, error ratio and the 95th percentile. Before there is a rate, the latter two are those since the start. */
function fill(nodes, now, total) {
  if (!total) return;
  const [rated, failed, slow] = nodes;
  const share = now ? now.errors : total.requests ? total.serverErrors / total.requests : NaN;
  write(rated, now ? rate(now.rate) : '…');
  write(failed, now?.rate === 0 ? '–' : percent(share));
  failed.className = share > 0.01 ? 'bad-text' : share > 0 ? '' : 'quiet-text';
  const p95 = now ? now.p95 : quantile(total.buckets, 0.95);
  write(slow, duration(p95));
  rated.className = now?.rate > 0 ? '' : 'quiet-text';
  slow.className = Number.isFinite(p95) ? '' : 'quiet-text';
}

/** meter is a small bar. */
export function meter(part, tone = '') {
  return el('span', { class: `meter ${tone}`, 'aria-hidden': 'true' }, el('i', { vars: { '--part': Math.max(0, Math.min(1, part)) } }));
}

/** chips are names in a row, limited to the first few. */
export function chips(kind, names, most = 3, owner = '') {
  return el('div', { class: 'chips' }, names.slice(0, most).map((name) => (kind ? linked(kind, name, { class: 'chip' }, owner && within(name, owner)) : el('span', { class: 'chip' }, name))),
    names.length > most ? el('span', { class: 'chip', title: names.slice(most).join(', ') }, `+${count(names.length - most)}`) : null);
}

