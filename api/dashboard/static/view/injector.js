// The page of the admission webhook: what it has done with pods, its certificates, and its configuration.

import { ask } from '../lib/api.js';
import { el, renew, sign } from '../lib/dom.js';
import { ago, clock, count, day, many, span } from '../lib/format.js';
import { repeat } from '../lib/live.js';
import { gauges } from './traffic.js';
import { sheet } from './parts.js';

/** configured throws where the injector is not configured. */
async function configured(signal) {
  const { features } = await ask('overview', { signal });
  if (!features.injector) throw Object.assign(new Error('The injector is off: set injector.config or injector.configMap in the static configuration.'), { status: 404 });
}

/** left says how long a certificate is still valid. */
export function left(notAfter, now = Date.now()) {
  const seconds = (Date.parse(notAfter) - now) / 1000;
  return seconds < 0 ? { text: `expired ${span(-seconds)} ago`, tone: 'bad-text' } : { text: `${span(seconds)} left`, tone: '' };
}

/** table is a table whose columns are [title, class, cell]. */
const table = (columns, rows, empty) => el('div', { class: 'table' }, el('table', { class: 'cards' },
  el('thead', {}, el('tr', {}, columns.map(([title, style]) => el('th', { scope: 'col', class: style }, title)))),
  el('tbody', {}, rows.length ? rows.map((row) => el('tr', {}, columns.map(([title, style, cell]) => el('td', { class: style, 'data-label': title }, cell(row))))) : el('tr', {}, el('td', { class: 'none', colspan: columns.length }, empty)))));

const skippedColumns = [
  ['Namespace', 'named', (one) => one.namespace || el('span', { class: 'quiet-text' }, 'other namespaces')],
  ['Reason', 'named', (one) => el('code', {}, one.reason)],
  ['Pods', 'figure', (one) => count(one.pods)],
];

const certificateColumns = [
  ['Certificate', 'named', ([title]) => title],
  ['Expires', 'figure', ([, notAfter]) => el('span', { title: clock(Date.parse(notAfter)) }, day(notAfter))],
  ['Left', 'figure', ([, notAfter]) => el('span', { class: left(notAfter).tone }, left(notAfter).text)],
];

/** readiness says whether reviews are answered. */
const readiness = ({ notReady }) => el('p', { class: 'body' }, sign(notReady ? 'bad' : 'good'), ' ',
  notReady ? el('span', { class: 'bad-text' }, `Not ready: ${notReady}`) : 'Ready: reviews are answered.');

/** reloaded says how the last attempt to read the configuration ended. */
function reloaded({ at, error }) {
  const moment = at ? el('span', { 'data-moment': Date.parse(at), title: clock(Date.parse(at)) }, ago(Date.parse(at))) : null;
  if (!at) return el('p', { class: 'body quiet-text' }, 'It has not been read yet.');
  if (!error) return el('p', { class: 'body' }, sign('good'), ' Read ', moment, '.');
  return [el('p', { class: 'body' }, sign('bad'), ' ', el('span', { class: 'bad-text' }, 'Refused '), moment, '. The last good configuration, if any, stays in use.'),
    el('pre', { class: 'body reason', tabindex: '0', 'aria-label': 'Why the configuration was refused' }, error)];
}

/** drawn are the parts of the page. */
function drawn(status) {
  const certificates = [['Webhook', status.certificateNotAfter], ['Authority', status.authorityNotAfter]].filter(([, notAfter]) => notAfter);
  const skipped = status.skipped.reduce((sum, one) => sum + one.pods, 0);
  return [
    sheet('State', null, readiness(status)),
    sheet('Configuration', null, reloaded(status.reload)),
    sheet('Certificates', status.certificateNotAfter && !status.authorityNotAfter ? el('span', { class: 'quiet-text' }, 'from files') : null, table(certificateColumns, certificates, 'There is no certificate yet.')),
    sheet('Skipped pods', el('span', { class: 'quiet-text' }, many(skipped, 'pod')), table(skippedColumns, status.skipped, 'No pod was skipped.')),
  ];
}

export async function injector({ signal }) {
  await configured(signal);
  const figures = gauges();
  const parts = el('div', { class: 'stack' });
  let before = '';
  const draw = (status) => {
    const text = [JSON.stringify(status), ...[status.certificateNotAfter, status.authorityNotAfter].map((notAfter) => (notAfter ? left(notAfter).text : ''))].join();
    if (text === before) return;
    before = text;
    const skipped = status.skipped.reduce((sum, one) => sum + one.pods, 0);
    figures.draw([['Injected', count(status.injected)], ['Skipped', count(skipped)], ['Failed', count(status.failed), '', status.failed ? 'bad-text' : ''], ['Refused requests', count(status.refused), '', status.refused ? 'warn-text' : '']]);
    renew(parts, drawn(status));
  };
  draw(await ask('injector', { signal }));
  repeat(async () => draw(await ask('injector', { signal })), 3000, signal);
  return {
    title: 'Injector',
    node: [el('header', {}, el('div', { class: 'title' }, el('h1', {}, 'Injector'), el('div', { class: 'side' }, el('span', { class: 'quiet-text' }, 'what the admission webhook has done since the start of this process')))),
      el('section', { class: 'sheet counters', 'aria-label': 'Reviews' }, figures.node), parts],
  };
}
