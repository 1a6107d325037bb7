// The common part of the pages of routers and services: live traffic of one object.

import { ask } from '../lib/api.js';
import { el, replace } from '../lib/dom.js';
import { bytes, duration, rate } from '../lib/format.js';
import { live, repeat } from '../lib/live.js';
import { spread } from '../lib/plot.js';
import { Readings, quantile } from '../lib/traffic.js';
import { counted, courseOf, gauges, lane } from './traffic.js';
import { sheet } from './parts.js';

/** traffic plots the traffic of an object (of routers or services) since the view was opened, and the histogram of durations since the start. */
export function traffic(kind, name, signal) {
  const readings = new Readings(10, 300);
  const figures = gauges();
  const course = lane(name, el('b', {}, 'Now'));
  const durations = el('div', { class: 'body' });
  const whole = el('div', { class: 'stack' });
  let drawn = -1;
  const sheets = [sheet('Traffic', el('span', { class: 'quiet-text' }, 'since this page was opened'), course.node, figures.node), sheet('Request duration', el('span', { class: 'quiet-text' }, 'since Sluice started'), durations)];
  repeat(async () => {
    const answer = await ask(`traffic/${kind}`, { parameters: { name }, signal });
    readings.add(answer.time, answer[kind]);
    const total = readings.total(name);
    if (!total) {
      replace(whole, el('section', { class: 'sheet', 'aria-label': 'Traffic' }, el('p', { class: 'body quiet-text' }, 'This object has no counters of its own; see the routers and services that use it.')));
      drawn = -1;
      return;
    }
    if (drawn < 0) replace(whole, sheets);
    const now = readings.now(name);
    figures.draw([...counted(total), ['Received', bytes(total.bytesReceived), now ? `${bytes(now.received)}/s` : ''], ['Sent', bytes(total.bytesSent), now ? `${bytes(now.sent)}/s` : ''],
      ['Mean', total.requests ? duration(total.seconds / total.requests) : '–']]);
    const { times, course: lists } = courseOf(readings.course(name));
    course.draw(times, lists, now ? 'last ten seconds' : 'counting …');
    if (total.requests !== drawn) {
      drawn = total.requests;
      replace(durations, spread(total.buckets, [[0.5, 'p50'], [0.95, 'p95'], [0.99, 'p99']].map(([q, tone]) => ({ value: quantile(total.buckets, q), tone, name: tone }))));
    }
  }, 2000, signal);
  return whole;
}

/** follow rebuilds a view when a generation changes its object. */
export function follow(kinds, names, signal) {
  live.hear('generation', (one) => {
    const concerned = (one.changes ?? []).some((change) => kinds.includes(change.kind) && names().has(change.name)) || one.more > 0;
    if (concerned) dispatchEvent(new Event('hashchange'));
  }, signal);
  live.hear('verdicts', (detail) => {
    if ([...(detail.worse ?? []), ...(detail.recovered ?? [])].some((one) => names().has(one.name))) dispatchEvent(new Event('hashchange'));
  }, signal);
}

