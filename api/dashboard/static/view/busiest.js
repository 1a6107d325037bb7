// The routers and services with the most requests, and those with errors.

import { ask } from '../lib/api.js';
import { el, renew, write } from '../lib/dom.js';
import { duration, percent, rate } from '../lib/format.js';
import { repeat } from '../lib/live.js';
import { padded, spark } from '../lib/plot.js';
import { place } from '../lib/place.js';
import { Readings } from '../lib/traffic.js';
import { linked, sheet } from './parts.js';

const rows = 8;
const orders = [['rate', 'Busiest', (one) => one.rate], ['server', 'Most 5xx', (one) => one.server * 1e6 + one.rate * 1e-6], ['p95', 'Slowest', (one) => (one.rate > 0 && Number.isFinite(one.p95) ? one.p95 : -1)]];

/** busiest shows both kinds side by side. */
export function busiest(signal) {
  return el('div', { class: 'halves' }, table('routers', 'router', 'Routers', signal), table('services', 'service', 'Services', signal));
}

function table(kind, one, title, signal) {
  const readings = new Readings(10, 60);
  const body = el('tbody', {});
  let order = orders[0];
  const shown = new Map();
  const buttons = orders.map((each) => el('button', { type: 'button', 'aria-pressed': String(each === order), on: { click() {
    order = each;
    buttons.forEach((button, i) => button.setAttribute('aria-pressed', String(orders[i] === order)));
    draw();
  } } }, each[1]));

  function row(name) {
    if (!shown.has(name)) {
      const course = spark('rate');
      const cells = [0, 1, 2].map(() => el('td', { class: 'figure' }));
      shown.set(name, { course, cells, node: el('tr', {}, el('td', { class: 'name' }, linked(one, name)), el('td', { class: 'course' }, course.node), cells) });
    }
    return shown.get(name);
  }
  function draw() {
    const last = readings.kept[readings.kept.length - 1];
    if (!last) return;
    const all = [...last.series.keys()].map((name) => ({ name, now: readings.now(name), total: readings.total(name) })).filter(({ total }) => total.requests > 0);
    const ranked = all.map((each) => ({ ...each, value: each.now ? order[2](each.now) : each.total.requests * 1e-9 })).sort((a, b) => b.value - a.value || b.total.requests - a.total.requests).slice(0, rows);
    renew(body, ranked.length ? ranked.map(({ name, now }) => {
      const { node, cells, course } = row(name);
      write(cells[0], now ? rate(now.rate) : '…');
      write(cells[1], now?.rate > 0 ? percent(now.errors) : '–');
      cells[1].className = `figure ${now?.errors > 0.01 ? 'bad-text' : ''}`;
      write(cells[2], duration(now?.p95));
      course.draw(padded(readings.course(name).map((point) => point.rate), 30));
      return node;
    }) : el('tr', {}, el('td', { colspan: 5, class: 'none' }, 'No requests yet.')));
  }
  repeat(async () => {
    const answer = await ask(`traffic/${kind}`, { signal });
    readings.add(answer.time, answer[kind]);
    draw();
  }, 2000, signal);
  return sheet(title, [el('div', { class: 'choices', role: 'group', 'aria-label': `Order of ${kind}` }, buttons), el('a', { href: place(kind) }, 'All')],
    el('div', { class: 'table' }, el('table', { class: 'tight' }, el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'Name'), el('th', { scope: 'col' }, 'Last minute'), ['Req/s', '5xx', 'p95'].map((text) => el('th', { scope: 'col', class: 'figure' }, text)))), body)));
}
