// The frame of every view: the bar with its tabs, the status, and the foot.

import { el, icon, replace, sign, write } from '../lib/dom.js';
import { ago, clock, many } from '../lib/format.js';
import { live } from '../lib/live.js';
import { place } from '../lib/place.js';
import { findings } from './findings.js';

/** tabs are the views in order, with the key that follows g. */
export const tabs = [
  ['overview', 'Overview', 'o'], ['problems', 'Problems', 'p'], ['routers', 'Routers', 'r'], ['services', 'Services', 's'],
  ['middlewares', 'Middlewares', 'm'], ['endpoints', 'Endpoints', 'e'], ['certificates', 'Certificates', 'c'], ['changes', 'Changes', 'h'], ['requests', 'Requests', 'l'], ['listeners', 'Listeners', 'n'], ['environments', 'Environments', 'v'], ['xds', 'xDS', 'd'], ['injector', 'Injector', 'i'], ['explain', 'Explain', 'x'],
];

/** optional are the views that are there with a feature of the same name alone. */
const optional = ['listeners', 'environments', 'xds', 'injector'];

/** offered are the tabs of what is configured. */
export const offered = () => tabs.filter(([view]) => !optional.includes(view) || live.features[view]);

const themes = { '': 'as the system', light: 'light', dark: 'dark' };

function remembered() {
  try {
    return localStorage.getItem('sluice-theme') ?? '';
  } catch {
    return '';
  }
}

function themed(button, choice) {
  if (choice) document.documentElement.dataset.theme = choice;
  else delete document.documentElement.dataset.theme;
  button.title = `Colours: ${themes[choice]} (t)`;
  button.setAttribute('aria-label', button.title);
}

function themeSwitch() {
  const button = el('button', { class: 'quiet', type: 'button' }, icon('theme'));
  let choice = remembered() in themes ? remembered() : '';
  themed(button, choice);
  button.addEventListener('click', () => {
    const names = Object.keys(themes);
    choice = names[(names.indexOf(choice) + 1) % names.length];
    themed(button, choice);
    try {
      localStorage.setItem('sluice-theme', choice);
    } catch {
      // Without storage the choice lasts until the page is left.
    }
  });
  return button;
}

/** shell makes the frame: {node, main, mark(view), name(), theme, finder, help}. */
export function shell() {
  const badge = el('span', { class: 'badge', hidden: true });
  const links = new Map(tabs.map(([view, title]) => [view, el('a', { href: place(view) }, title, view === 'problems' ? badge : null)]));
  const name = el('small', {});
  const word = el('span', {});
  const pulse = el('span', { class: 'pulse wait', role: 'status' }, el('i', {}), word);
  const theme = themeSwitch();
  const help = el('button', { class: 'quiet', type: 'button', title: 'Keys (?)', 'aria-label': 'Keys (?)' }, icon('keys'));
  const finder = el('button', { class: 'jump', type: 'button', title: 'Find an object (Ctrl K)' }, icon('search'), el('span', {}, 'Go to'), ' ', el('kbd', {}, 'Ctrl K'));
  const note = el('div', { class: 'lost-note', role: 'alert', hidden: true });
  const main = el('main', { id: 'main', tabindex: '-1' }, el('p', { class: 'none' }, 'Loading …'));
  const foot = el('footer', { class: 'foot' });

  const update = () => {
    const { ready, version, lost } = live;
    write(name, version?.dashboardName ?? '');
    const late = lost > 0 || !live.connected;
    pulse.className = `pulse ${lost ? 'lost' : live.connected ? '' : 'wait'}`;
    write(word, lost ? 'Disconnected' : live.connected ? 'Live' : late && ready ? 'Polling' : 'Connecting');
    pulse.title = lost ? live.why : live.connected ? 'Changes are shown immediately.' : 'The event stream is closed; the page polls every ten seconds.';
    note.hidden = !lost;
    if (lost) replace(note, sign('bad'), `No connection to Sluice since ${clock(lost)}. The page shows the last known data and keeps trying to reconnect.`);
    const { total, failed } = findings;
    badge.hidden = total === 0;
    badge.className = ready?.quarantined > 0 || failed.length > 0 ? 'badge' : 'badge warn';
    write(badge, `${total}${findings.cut.length ? '+' : ''}`);
    badge.title = [findings.amount, `${many(ready?.quarantined ?? 0, 'object is', 'objects are')} disabled`,
      `${many(ready?.retained ?? 0, 'change is', 'changes are')} refused`].join('; ');
    for (const view of optional) links.get(view).hidden = !live.features[view];
    replace(foot, version ? el('span', {}, `Sluice ${version.Version}`) : null,
      version?.startDate ? el('span', {}, `started ${ago(Date.parse(version.startDate))}`) : null,
      ready ? el('span', {}, `generation ${ready.generation}`) : null,
      el('span', {}, 'Read-only. Connects to no other host.'));
  };
  findings.hear(update); // It reports each change of live, too.

  const node = el('div', {},
    el('header', { class: 'bar' },
      el('a', { class: 'brand', href: place('overview') }, el('img', { src: 'icon.svg', alt: '' }), 'Sluice', name),
      el('nav', { class: 'tabs', 'aria-label': 'Views' }, [...links.values()]),
      el('div', { class: 'tools' }, finder, pulse, theme, help)),
    note, main, foot);
  return {
    node, main, theme, finder, help,
    name: () => live.version?.dashboardName ?? '',
    mark(view) {
      for (const [key, link] of links) {
        if (key === view || view.startsWith(`${key}-`)) link.setAttribute('aria-current', 'page');
        else link.removeAttribute('aria-current');
      }
      links.get(view.split('-')[0])?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    },
  };
}
