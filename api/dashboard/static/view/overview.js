// The overview: status, problems, traffic, and changes.

import { ask, page } from '../lib/api.js';
import { el, renew, replace, sign } from '../lib/dom.js';
import { count, many, span } from '../lib/format.js';
import { live, repeat } from '../lib/live.js';
import { place } from '../lib/place.js';
import { busiest } from './busiest.js';
import { entry } from './changes.js';
import { explained } from './failing.js';
import { lane, wide } from './traffic.js';
import { alike, finding, sheet, stateIcon } from './parts.js';
import { ending, failing, providers } from './problems.js';

const shownProblems = 6;

/** summary is the status in one sentence; what affects requests comes first. */
export function summary(ready, { others = 0, failed = [] } = {}) {
  if (!ready) return { tone: 'warn', text: 'The status is not known yet.' };
  if (ready.draining) return { tone: 'warn', text: 'Sluice is stopping. Requests in flight are completed.' };
  const findings = (ready.verdicts?.length ?? 0) + (ready.moreVerdicts ?? 0);
  if (!ready.ready) return { tone: 'bad', text: 'Sluice is not ready: a provider has not delivered yet.' };
  const unused = ready.quarantined > 0 ? `${many(ready.quarantined, 'object is', 'objects are')} not in use` : '';
  if (failed.length > 0) {
    const tone = unused || failed.some((one) => one.status === 'failing') ? 'bad' : 'warn';
    return { tone, text: `${many(failed.length, 'service fails', 'services fail')} requests${unused && `, and ${unused}`}.` };
  }
  if (unused) return { tone: 'bad', text: `${unused}.` };
  if (findings > 0) return { tone: 'warn', text: `All is in use, ${many(findings, 'object')} with defects.` };
  if (others > 0) return { tone: 'warn', text: 'All is in use as declared. Some of what it needs does not stand well.' };
  return { tone: 'good', text: 'All is in use as it was declared.' };
}

export async function overview({ signal }) {
  const state = el('section', { class: 'sheet state', 'aria-label': 'Status' });
  const wrong = el('div', {});
  const traffic = el('div', {});
  const recent = el('div', {});
  const facts = el('div', {});
  let overviewed;
  let others = [];
  let unseen = 0;
  let failed = [];

  const drawState = () => {
    const { ready } = live;
    const { tone, text } = summary(ready, { others: others.length, failed });
    state.className = `sheet state ${tone}`;
    replace(state, sign(tone), el('h1', {}, text),
      el('p', {}, ready?.generation > 0 ? `Generation ${ready.generation} has served for ${span(ready.ageSeconds + (Date.now() - live.readyAt) / 1000)}.` : 'No configuration is in use yet.'),
      el('div', { class: 'side facts' }, (ready?.providers ?? []).map((one) => el('span', { title: one.reason ?? '' }, stateIcon(one.state), el('span', {}, one.name, one.state === 'synced' ? '' : ` ${one.state}`), one.lastMessageSeconds === undefined ? null : el('span', { class: 'quiet-text', title: 'since its last message' }, span(one.lastMessageSeconds))))));
    const findings = [...failed, ...providers(ready), ...(ready?.verdicts ?? []), ...others];
    findings.sort((a, b) => rank(a) - rank(b));
    const total = findings.length + (ready?.moreVerdicts ?? 0) + unseen;
    renew(wrong, total === 0 ? null : sheet('Problems', el('a', { href: place('problems') }, total > shownProblems ? `All ${count(total)}` : 'Open'), el('ul', { class: 'problems' }, alike(findings).slice(0, shownProblems).map(([one, ...others]) => finding(one, { others, total: others.length + 1 })))));
    wrong.hidden = total === 0;
  };
  const drawFacts = () => replace(facts, counts(overviewed));

  async function problemsBeside() {
    const [certificates, endpoints] = await Promise.all([ending(signal).catch(() => []), failing(signal).catch(() => ({ findings: [], more: 0 }))]);
    others = [...endpoints.findings, ...certificates];
    unseen = endpoints.more;
    drawState();
  }
  async function changesNow() {
    const { data } = await page('generations', { signal });
    replace(recent, sheet('Changes', el('a', { href: place('changes') }, 'All'), el('ol', { class: 'feed' }, data.length ? data.slice(0, 5).map((one) => entry(one, { brief: true })) : el('li', {}, 'None yet.'))));
  }
  const tally = async () => {
    overviewed = await ask('overview', { signal });
    drawFacts();
  };

  live.hear('change', drawState, signal);
  const refresh = () => {
    Promise.allSettled([changesNow(), tally(), problemsBeside()]);
  };
  live.hear('generation', refresh, signal);
  live.hear('verdicts', refresh, signal);
  await Promise.allSettled([tally(), changesNow(), live.ready ? null : live.refresh(), problemsBeside()]);
  drawState();
  const lanes = entrypointLanes(traffic);
  repeat(async () => lanes(await ask('traffic', { signal })), 2000, signal);
  repeat(problemsBeside, 10000, signal);
  return { title: 'Overview', node: [state, wrong, traffic, busiest(signal, async (list) => {
    const told = await explained(list, signal);
    const same = JSON.stringify(told) === JSON.stringify(failed);
    failed = told;
    if (!same) drawState();
  }), el('div', { class: 'halves' }, recent, facts)] };
}

/** rank sorts findings: what affects requests comes first, then what is not in use. */
const rank = (one) => (one.fails ? 0 : ['quarantined', 'disabled'].includes(one.status) ? 1 : 2);

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
      const course = known.get(one.name) ?? { requests: [], errors: [], p50: [], p95: [], p99: [] };
      const drawn = wide(history?.times ?? [], { requests: course.requests, errors: course.errors, p50: course.p50, p95: course.p95, p99: course.p99 });
      lanes.get(one.name).draw(drawn.times, drawn.course, many(one.openConnections, 'open connection'));
    }
  };
}

function counts(overviewed) {
  if (!overviewed) return null;
  const { http, certificates, features } = overviewed;
  const rows = [['Routers', 'routers', http.routers], ['Services', 'services', http.services], ['Middlewares', 'middlewares', http.middlewares], ['Certificates', 'certificates', certificates]].filter(([, , one]) => one);
  return sheet('In use', null, el('table', {}, el('thead', {}, el('tr', {}, ['', 'Total', 'Defects', 'Not in use'].map((title) => el('th', { scope: 'col', class: title ? 'figure' : null }, title || el('span', { class: 'unseen' }, 'Kind'))))),
    el('tbody', {}, rows.map(([title, view, one]) => el('tr', {}, el('th', { scope: 'row' }, el('a', { href: place(view) }, title)), el('td', { class: 'figure' }, count(one.total ?? 0)),
      number(one.warnings, 'warn', place(view, '', { status: 'warning' })), number(one.errors, 'bad', place(view, '', { status: 'disabled' })))))),
  el('div', { class: 'body facts' }, Object.entries(features ?? {}).map(([name, value]) => el('span', {}, stateIcon(value ? 'serving' : 'absent'), { tracing: 'Tracing', metrics: 'Metrics', accessLog: 'Access log' }[name] ?? name, el('span', { class: 'quiet-text' }, value === true ? 'on' : value || 'off')))));
}

function number(value, tone, target) {
  return el('td', { class: 'figure' }, value > 0 ? el('a', { href: target, class: `${tone}-text` }, count(value)) : el('span', { class: 'quiet-text' }, '0'));
}

