// Traffic as plots: one row for each entrypoint, router or service.

import { el, replace, write } from '../lib/dom.js';
import { count, duration, percent, rate } from '../lib/format.js';
import { lines, padded } from '../lib/plot.js';

const latencies = [{ name: 'p50', tone: 'p50' }, { name: 'p95', tone: 'p95' }, { name: 'p99', tone: 'p99' }];

const perSecond = (value) => `${rate(value)}/s`;

/** lane returns a row of three plots: {node, draw(times, course, note)}; with collapses, it is a single line while there are no requests. A course has lists requests, errors (5xx), clientErrors (4xx), p50, p95 and p99. */
export function lane(name, head, collapses = false) {
  const requests = lines({ label: `${name}: requests a second`, say: perSecond, kinds: [{ name: 'requests', tone: 'rate', filled: true }] });
  const errors = lines({ label: `${name}: responses with 4xx and 5xx a second`, say: perSecond, least: 1, kinds: [{ name: '4xx', tone: 'client' }, { name: '5xx', tone: 'error', filled: true }] });
  const latency = lines({ label: `${name}: durations`, say: duration, tenfold: true, kinds: latencies });
  const captions = [0, 1, 2].map(() => el('figcaption', {}));
  const under = el('span', { class: 'quiet-text' });
  const node = el('div', { class: 'lane' }, el('div', { class: 'who' }, head, under),
    [requests, errors, latency].map((plot, i) => el('figure', {}, captions[i], plot.node)));
  return {
    node,
    draw(times, course, note) {
      const last = (list) => list[list.length - 1];
      const recent = (list) => {
        const some = list.slice(-5).filter(Number.isFinite);
        return some.reduce((sum, value) => sum + value, 0) / Math.max(1, some.length);
      };
      const asked = recent(course.requests);
      const failed = recent(course.errors);
      const refused = recent(course.clientErrors);
      replace(captions[0], el('b', {}, rate(asked)), 'requests/s');
      replace(captions[1], el('b', { class: failed > 0 && failed / asked > 0.01 ? 'bad-text' : '' }, asked > 0 ? percent(failed / asked) : '–'), el('span', { class: 'key error' }, `5xx, ${rate(failed)}/s`),
        el('b', { class: refused > 0 && refused / asked > 0.1 ? 'warn-text' : '' }, asked > 0 ? percent(refused / asked) : '–'), el('span', { class: 'key client' }, `4xx, ${rate(refused)}/s`));
      replace(captions[2], latencies.map((kind) => el('span', { class: `key ${kind.tone}` }, `${kind.name} `, el('b', {}, duration(last(course[kind.name].filter(Number.isFinite)) || undefined)))));
      const idle = !course.requests.some((value) => value > 0);
      node.classList.toggle('idle', collapses && idle);
      if (note) write(under, collapses && idle ? `${note}, no requests` : note);
      requests.draw(times, [course.requests]);
      errors.draw(times, [course.clientErrors, course.errors]);
      latency.draw(times, latencies.map((kind) => course[kind.name].map((value) => value || NaN)));
    },
  };
}

/** least is the minimum width of a plot in readings: two minutes. */
const least = 60;

/** wide pads the lists of a course to the minimum width. */
export function wide(times, course, step = 2000) {
  const missing = Math.max(0, least - times.length);
  const first = times[0] ?? Date.now();
  return {
    times: [...Array.from({ length: missing }, (_, i) => first - (missing - i) * step), ...times],
    course: Object.fromEntries(Object.entries(course).map(([key, list]) => [key, padded(list, least)])),
  };
}

/** courseOf converts the points of Readings.course. */
export function courseOf(points) {
  return wide(points.map((point) => point.time), {
    requests: points.map((point) => point.rate), errors: points.map((point) => point.server), clientErrors: points.map((point) => point.client),
    p50: points.map((point) => point.p50), p95: points.map((point) => point.p95), p99: points.map((point) => point.p99),
  });
}

/** gauges are figures in a row: {node, draw(values)}, of [title, text, small, class] each. */
export function gauges() {
  const node = el('div', { class: 'gauges' });
  return {
    node,
    draw(values) {
      replace(node, values.map(([title, text, small, tone]) => el('div', { class: 'gauge' }, el('span', {}, title), el('b', { class: tone ?? null }, text, small ? el('small', {}, ` ${small}`) : null))));
    },
  };
}

/** counted are the gauges of the totals since the start. */
export function counted(total) {
  if (!total) return [];
  return [['Requests', count(total.requests)], ['4xx', count(total.clientErrors), percent(total.clientErrors / Math.max(1, total.requests))],
    ['5xx', count(total.serverErrors), percent(total.serverErrors / Math.max(1, total.requests))]];
}
