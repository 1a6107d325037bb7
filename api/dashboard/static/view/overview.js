// The overview: status, problems, traffic, and changes.

import { ask, page } from '../lib/api.js';
import { el, renew, replace, sign } from '../lib/dom.js';
import { clock, count, many, span } from '../lib/format.js';
import { live, repeat } from '../lib/live.js';
import { place } from '../lib/place.js';
import { busiest } from './busiest.js';
import { entry } from './changes.js';
import { findings } from './findings.js';
import { lane, wide } from './traffic.js';
import { unmatchedBrief } from './unmatched.js';
import { alike, finding, sheet, stateIcon } from './parts.js';

const shownProblems = 6;

/** summary is the status in one sentence; what affects requests comes first. With lost, the time since which there is no connection, it is that. gap says what is not read. */
export function summary(ready, { others = 0, more = false, failed = [], gap = '', lost = 0 } = {}) {
  if (lost) return { tone: 'bad', text: `No connection to Sluice since ${clock(lost)}.` };
  if (!ready) return { tone: 'warn', text: 'The status is not known yet.' };
  if (ready.draining) return { tone: 'warn', text: 'Sluice is stopping. Requests in flight are completed.' };
  const found = (ready.verdicts?.length ?? 0) + (ready.moreVerdicts ?? 0);
  if (!ready.ready) return { tone: 'bad', text: 'Sluice is not ready: a provider has not sent its configuration yet.' };
  const unused = ready.quarantined > 0 ? `${many(ready.quarantined, 'object is', 'objects are')} disabled` : '';
  const refused = ready.retained > 0 ? `${many(ready.retained, 'change is', 'changes are')} refused` : '';
  if (failed.length > 0) {
    const tone = unused || failed.some((one) => one.status === 'failing') ? 'bad' : 'warn';
    return { tone, text: `${many(failed.length, 'service has', 'services have')} failing requests${unused && `, and ${unused}`}.` };
  }
  if (unused) return { tone: 'bad', text: `${unused}${refused && `, and ${refused}`}.` };
  if (refused) return { tone: 'warn', text: `${refused}; the last valid definition serves.` };
  if (found > 0) return { tone: 'warn', text: `${many(found, 'object has', 'objects have')} warnings.` };
  if (others > 0) return { tone: 'warn', text: `${more ? 'At least ' : ''}${many(others, 'problem')} with endpoints, providers or certificates.` };
  if (gap) return { tone: 'warn', text: gap };
  return { tone: 'good', text: 'No problems found.' };
}

export async function overview({ signal }) {
  const state = el('section', { class: 'sheet state', 'aria-label': 'Status' });
  const wrong = el('div', {});
  const traffic = el('div', {});
  const recent = el('div', {});
  const facts = el('div', {});
  const pressed = el('div', {});
  let overviewed;

  const drawState = () => {
    const { ready, lost } = live;
    const { failed, gap } = findings;
    const more = findings.cut.length > 0;
    const known = { others: findings.beside().length, more, failed, gap };
    const { tone, text } = summary(ready, { ...known, lost });
    state.className = `sheet state ${tone}`;
    replace(state, sign(tone), el('h1', {}, text),
      el('p', {}, lost ? `Last known state: ${summary(ready, known).text} This page shows data from before ${clock(lost)}.`
        : ready?.generation > 0 ? `Generation ${ready.generation} has been active for ${span(ready.ageSeconds + (Date.now() - live.readyAt) / 1000)}.` : 'No configuration is active yet.',
      !lost && gap && gap !== text ? ` ${gap}` : null),
      el('div', { class: 'side facts' }, (ready?.providers ?? []).map((one) => el('span', { title: one.reason ?? '' }, stateIcon(one.state), el('span', {}, one.name, one.state === 'synced' ? '' : ` ${one.state}`), one.lastMessageSeconds === undefined ? null : el('span', { class: 'quiet-text', title: 'since its last message' }, span(one.lastMessageSeconds))))));
    const list = [...failed, ...(ready?.verdicts ?? []), ...findings.beside()].sort((a, b) => rank(a) - rank(b));
    const { total } = findings;
    renew(wrong, total === 0 ? null : sheet('Problems', el('a', { href: place('problems') }, more ? `All (at least ${count(total)})` : `All ${count(total)}`), el('ul', { class: 'problems' }, alike(list).slice(0, shownProblems).map(([one, ...others]) => finding(one, { others, total: others.length + 1 })))));
    wrong.hidden = total === 0;
  };
  const drawFacts = () => replace(facts, counts(overviewed));
  const drawPressures = (overload) => {
    replace(pressed, pressures(overload));
    pressed.hidden = !overload;
  };

  async function changesNow() {
    const { data } = await page('generations', { signal });
    replace(recent, sheet('Changes', el('a', { href: place('changes') }, 'All'), el('ol', { class: 'feed' }, data.length ? data.slice(0, 5).map((one) => entry(one, { brief: true })) : el('li', {}, 'None yet.'))));
  }
  const tally = async () => {
    overviewed = await ask('overview', { signal });
    drawFacts();
    drawPressures(overviewed.overload);
  };

  findings.hear(drawState, signal);
  const refresh = () => {
    Promise.allSettled([changesNow(), tally()]);
  };
  live.hear('generation', refresh, signal);
  live.hear('verdicts', refresh, signal);
  await Promise.allSettled([tally(), changesNow(), live.ready ? null : live.refresh(), findings.first()]);
  drawState();
  const lanes = entrypointLanes(traffic);
  repeat(async () => lanes(await ask('traffic', { signal })), 2000, signal);
  if (overviewed?.overload) repeat(async () => drawPressures((await ask('overview', { signal })).overload), 5000, signal);
  return { title: 'Overview', node: [state, wrong, pressed, traffic, unmatchedBrief(signal), busiest(signal), el('div', { class: 'halves' }, recent, facts)] };
}

/** rank sorts findings: what affects requests comes first, then what is disabled, then refused changes. */
const rank = (one) => (one.fails ? 0 : ['quarantined', 'disabled'].includes(one.status) ? 1 : one.status === 'retained' ? 2 : 3);

/** internal is the entrypoint of Sluice's own pages; it is shown last. */
const internal = 'traefik';

/** entrypointLanes returns the function that draws a response of api/traffic. */
function entrypointLanes(place) {
  let lanes = new Map();
  return ({ entryPoints, history }) => {
    const known = new Map((history?.entryPoints ?? []).map((one) => [one.name, one]));
    const busy = (name) => (known.get(name)?.requests ?? []).some((value) => value > 0);
    const names = entryPoints.map((one) => one.name).sort((a, b) => busy(b) - busy(a) || (a === internal) - (b === internal));
    if (names.join() !== [...lanes.keys()].join()) {
      lanes = new Map(names.map((name) => [name, lane(`Entry point ${name}`, el('b', {}, name), true)]));
      replace(place, sheet('Traffic by entry point', el('span', { class: 'quiet-text' }, `last ${span(Math.max(60, history?.times?.length ?? 0) * (history?.interval ?? 2))}`), [...lanes.values()].map((one) => one.node)));
    }
    for (const one of entryPoints) {
      const course = known.get(one.name) ?? { requests: [], errors: [], clientErrors: [], p50: [], p95: [], p99: [] };
      const drawn = wide(history?.times ?? [], { requests: course.requests, errors: course.errors, clientErrors: course.clientErrors, p50: course.p50, p95: course.p95, p99: course.p99 });
      lanes.get(one.name).draw(drawn.times, drawn.course, many(one.openConnections, 'open connection'));
    }
  };
}

/** pressures shows the pressure of each monitor of overload, and what is done about it. */
function pressures(overload) {
  if (!overload) return null;
  const active = overload.active.length > 0;
  return sheet('Overload', el('span', { class: 'quiet-text' }, active ? `active: ${overload.active.join(', ')}` : 'no action is active'),
    el('div', { class: 'body facts' }, Object.entries(overload.pressures).map(([monitor, value]) => el('span', {}, stateIcon(active ? 'overloaded' : 'serving'), monitor, el('span', { class: 'quiet-text' }, `${Math.round(100 * value)} %`)))));
}

function counts(overviewed) {
  if (!overviewed) return null;
  const { http, tcp, udp, certificates, listeners, features } = overviewed;
  const beside = [[tcp, 'TCP', '-tcp'], [udp, 'UDP', '-udp']].flatMap(([of, title, suffix]) => ['routers', 'services', 'middlewares'].filter((kind) => of?.[kind]?.total).map((kind) => [`${title} ${kind}`, kind + suffix, of[kind]]));
  const rows = [['Routers', 'routers', http.routers], ['Services', 'services', http.services], ['Middlewares', 'middlewares', http.middlewares], ...beside, ['Certificates', 'certificates', certificates], ['Listeners', 'listeners', listeners]].filter(([, , one]) => one);
  return sheet('Objects', null, el('table', {}, el('thead', {}, el('tr', {}, ['', 'Total', 'Warnings', 'Disabled'].map((title) => el('th', { scope: 'col', class: title ? 'figure' : null }, title || el('span', { class: 'unseen' }, 'Kind'))))),
    el('tbody', {}, rows.map(([title, view, one]) => el('tr', {}, el('th', { scope: 'row' }, el('a', { href: place(view) }, title)), el('td', { class: 'figure' }, count(one.total ?? 0)),
      number(one.warnings, 'warn', place(view, '', { status: 'warning' })), number(one.errors, 'bad', place(view, '', { status: 'disabled' })))))),
  el('div', { class: 'body facts' }, Object.entries(features ?? {}).map(([name, value]) => el('span', {}, stateIcon(value ? 'serving' : 'absent'), { tracing: 'Tracing', metrics: 'Metrics', accessLog: 'Access log', xds: 'xDS', injector: 'Injector', listeners: 'Listeners' }[name] ?? name, el('span', { class: 'quiet-text' }, value === true ? 'on' : value || 'off')))));
}

function number(value, tone, target) {
  return el('td', { class: 'figure' }, value > 0 ? el('a', { href: target, class: `${tone}-text` }, count(value)) : el('span', { class: 'quiet-text' }, '0'));
}

