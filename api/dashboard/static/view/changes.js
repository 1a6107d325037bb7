// The list of generations: what changed, what was refused, and the differences.

import { ask, page } from '../lib/api.js';
import { el, replace } from '../lib/dom.js';
import { ago, clock, count, duration, many } from '../lib/format.js';
import { live } from '../lib/live.js';
import { place } from '../lib/place.js';
import { alike, finding, linked } from './parts.js';

const marks = { added: ['+', 'plus'], changed: ['~', 'edit'], removed: ['−', 'minus'] };

/** entry shows one generation; brief shows only the first changes. */
export function entry(one, { brief = false, fresh = false } = {}) {
  const most = brief ? 2 : 8;
  const changes = one.changes ?? [];
  const rest = changes.length - most + (one.more ?? 0);
  const numbers = [['added', one.added], ['changed', one.changed], ['removed', one.removed]].filter(([, number]) => number > 0);
  const node = el('li', { class: fresh ? 'arrive' : null, 'data-generation': one.generation },
    el('div', { class: 'stamp' }, el('a', { class: 'number', href: place('changes', String(one.generation)) }, `#${one.generation}`), el('div', { class: 'when', title: clock(Date.parse(one.activated)), 'data-moment': Date.parse(one.activated) }, ago(Date.parse(one.activated)))),
    el('div', {},
      el('div', { class: 'head' }, numbers.length ? numbers.map(([what, number]) => el('span', { class: marks[what][1] }, `${count(number)} ${what}`)) : el('span', { class: 'quiet-text' }, 'no object changed'),
        el('span', { class: 'quiet-text' }, `compiled in ${duration(one.compileSeconds)}`),
        one.refused?.length ? el('a', { class: 'chip bad', href: place('changes', String(one.generation)) }, many(one.refused.length + (one.moreVerdicts ?? 0), 'finding')) : null,
        one.recovered?.length ? el('span', { class: 'chip' }, `${count(one.recovered.length)} recovered`) : null),
      el('ul', { class: 'moves' }, refusals(one.refused ?? [], brief ? 1 : 3), changes.slice(0, most).map((change) => move(change)), rest > 0 ? el('li', {}, el('a', { href: place('changes', String(one.generation)) }, `and ${count(rest)} more`)) : null)));
  return node;
}

/** refusals are the first refusals of a generation, similar ones grouped. */
function refusals(refused, most) {
  return alike(refused).slice(0, most).map(([one, ...others]) => el('li', { class: 'move' },
    el('span', { class: 'what minus', title: 'refused' }, el('span', { 'aria-hidden': 'true' }, '!'), el('span', { class: 'unseen' }, 'refused')), el('span', { class: 'kind' }, one.kind), linked(one.kind, one.name),
    others.length ? el('span', { class: 'quiet-text' }, `and ${count(others.length)} more`) : null, el('span', { class: 'reason' }, one.reason)));
}

function move(change, tag = 'li') {
  const [mark, tone] = marks[change.change] ?? ['~', 'edit'];
  return el(tag, { class: 'move' }, el('span', { class: `what ${tone}`, title: change.change }, el('span', { 'aria-hidden': 'true' }, mark), el('span', { class: 'unseen' }, change.change)), el('span', { class: 'kind' }, change.kind), change.change === 'removed' ? el('span', {}, change.name) : linked(change.kind, change.name), change.origin ? el('code', { class: 'quiet-text' }, change.origin) : null);
}

/** said formats a value of a difference. */
export function said(value) {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function difference(one) {
  return [el('div', { class: 'path' }, one.path),
    one.before === null || one.before === undefined ? null : el('pre', { class: 'before' }, said(one.before)),
    one.after === null || one.after === undefined ? null : el('pre', { class: 'after' }, said(one.after))];
}

/** unfolded is the maximum number of objects whose differences are open initially. */
const unfolded = 10;

function differences(change, open) {
  return el('details', { open }, el('summary', {}, many(change.diff.length + (change.moreDiff ?? 0), 'option')),
    el('div', { class: 'diff' }, change.diff.map(difference), change.moreDiff ? el('div', { class: 'path' }, `and ${count(change.moreDiff)} more`) : null));
}

async function generation({ name, signal }) {
  const one = await ask(`generations/${encodeURIComponent(name)}`, { signal });
  const lags = Object.entries(one.lagSeconds ?? {});
  return {
    title: `Change #${one.generation}`,
    node: [el('header', {}, el('p', { class: 'crumb' }, el('a', { href: place('changes') }, 'Changes')), el('div', { class: 'title' }, el('h1', {}, `Generation ${one.generation}`), el('span', { class: 'quiet-text' }, `${clock(Date.parse(one.activated))}, ${ago(Date.parse(one.activated))}`)),
      el('p', { class: 'facts' }, el('span', {}, 'compiled in ', el('b', {}, duration(one.compileSeconds))), lags.map(([provider, seconds]) => el('span', {}, `${provider}: active `, el('b', {}, duration(seconds)), 'after receipt')), Object.keys(marks).filter((what) => one[what] > 0).map((what) => el('span', { class: marks[what][1] }, `${count(one[what])} ${what}`)))),
    one.refused?.length ? el('section', { class: 'sheet', 'aria-label': 'New findings' }, el('header', {}, el('h2', {}, 'New findings')), el('ul', { class: 'problems' }, alike(one.refused).map(([first, ...others]) => finding(first, { others, total: others.length + 1 })))) : null,
    one.recovered?.length ? el('section', { class: 'sheet', 'aria-label': 'Recovered' }, el('header', {}, el('h2', {}, 'Recovered')), el('div', { class: 'body chips' }, one.recovered.map((each) => linked(each.kind, each.name, { class: 'chip' })))) : null,
    el('section', { class: 'sheet', 'aria-label': 'Objects' }, el('header', {}, el('h2', {}, 'Objects')), el('ol', { class: 'objects' }, one.changes.length ? one.changes.map((change) => el('li', {}, el('div', { class: 'moves' }, move(change, 'div')), change.diff?.length ? differences(change, one.changes.length <= unfolded) : null)) : el('li', {}, 'No object changed.'), one.more ? el('li', {}, `and ${count(one.more)} more objects, which are not kept`) : null))],
  };
}

export async function changes(context) {
  if (context.name) return generation(context);
  const { signal } = context;
  const feed = el('ol', { class: 'feed', 'aria-live': 'polite' });
  const load = async () => {
    const { data } = await page('generations', { signal });
    replace(feed, data.length ? data.map((one) => entry(one)) : el('li', {}, 'No configuration has been activated yet.'));
  };
  await load();
  live.hear('generation', (one) => {
    if (feed.querySelector(`[data-generation="${Number(one.generation)}"]`)) return;
    feed.prepend(entry(one, { fresh: true }));
    while (feed.children.length > 50) feed.lastChild.remove();
  }, signal);
  return { title: 'Changes', node: el('div', {}, el('div', { class: 'title' }, el('h1', {}, 'Changes'), el('span', { class: 'quiet-text' }, 'the last 50 configurations, the newest first')), el('div', { class: 'sheet' }, feed)) };
}
