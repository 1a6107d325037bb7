// What the pages of routers and of services have in common: the traffic of one object, as it goes on.

import { ask } from '../lib/api.js';
import { el, replace } from '../lib/dom.js';
import { bytes, duration, rate } from '../lib/format.js';
import { live, repeat } from '../lib/live.js';
import { spread } from '../lib/plot.js';
import { Readings, quantile } from '../lib/traffic.js';
import { counted, courseOf, gauges, lane } from './lanes.js';
import { sheet } from './parts.js';

/** traffic shows what goes on in one object of a kind (routers, services) since the view was opened, and how durations spread since Sluice started. */
export function traffic(kind, name, signal) {
  const readings = new Readings(10, 300);
  const figures = gauges();
  const course = lane(name, el('b', {}, 'Now'));
  const durations = el('div', { class: 'body' });
  let drawn = 0;
  repeat(async () => {
    const answer = await ask(`traffic/${kind}`, { parameters: { name }, signal });
    readings.add(answer.time, answer[kind]);
    const total = readings.total(name);
    const now = readings.now(name);
    figures.draw([...counted(total), ['Received', total ? bytes(total.bytesReceived) : '–', now ? `${bytes(now.received)}/s` : ''], ['Sent', total ? bytes(total.bytesSent) : '–', now ? `${bytes(now.sent)}/s` : ''],
      ['Mean', total?.requests ? duration(total.seconds / total.requests) : '–']]);
    const { times, course: lists } = courseOf(readings.course(name));
    course.draw(times, lists, now ? `${rate(now.client)} 4xx/s` : 'counting …');
    if (total && total.requests !== drawn) {
      drawn = total.requests;
      replace(durations, spread(total.buckets, [[0.5, 'p50'], [0.95, 'p95'], [0.99, 'p99']].map(([q, tone]) => ({ value: quantile(total.buckets, q), tone, name: tone }))));
    } else if (!total) {
      replace(durations, el('p', { class: 'none' }, 'No request yet.'));
    }
  }, 2000, signal);
  return [sheet('Traffic', el('span', { class: 'quiet-text' }, 'plots begin when the page is opened'), course.node, figures.node), sheet('How long requests took', el('span', { class: 'quiet-text' }, 'since Sluice started'), durations)];
}

/** follow builds a view again when a generation changes its object. */
export function follow(kinds, names, signal) {
  live.hear('generation', (one) => {
    const concerned = (one.changes ?? []).some((change) => kinds.includes(change.kind) && names().has(change.name)) || one.more > 0;
    if (concerned) dispatchEvent(new Event('hashchange'));
  }, signal);
  live.hear('verdicts', (detail) => {
    if ([...(detail.worse ?? []), ...(detail.recovered ?? [])].some((one) => names().has(one.name))) dispatchEvent(new Event('hashchange'));
  }, signal);
}

