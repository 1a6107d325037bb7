// The page frame, and the view that is shown in it.

import { el, replace, write } from './lib/dom.js';
import { ago } from './lib/format.js';
import { live } from './lib/live.js';
import { parse } from './lib/place.js';
import { protocols } from './lib/protocol.js';
import { shell } from './view/shell.js';
import { failure } from './view/parts.js';
import { keys } from './view/keys.js';
import { overview } from './view/overview.js';
import { problems } from './view/problems.js';
import { routers } from './view/routers.js';
import { router } from './view/router.js';
import { services } from './view/services.js';
import { service } from './view/service.js';
import { middlewares } from './view/middlewares.js';
import { middleware } from './view/middleware.js';
import { endpoints } from './view/endpoints.js';
import { certificates } from './view/certificates.js';
import { changes } from './view/changes.js';
import { explain } from './view/explain.js';
import { findings } from './view/findings.js';
import { requests } from './view/requests.js';
import { unmatched } from './view/unmatched.js';
import { resources } from './view/resources.js';
import { xds } from './view/xds.js';
import { injector } from './view/injector.js';
import { environments } from './view/environments.js';
import { listeners } from './view/listeners.js';
import { client } from './view/client.js';

/** objects are the views of a kind of objects, for each protocol: a list, and a page for each object. */
function objects(view, list, one, names = Object.keys(protocols)) {
  return Object.fromEntries(names.map((name) => [view + protocols[name].suffix, (context) => (context.name ? one : list)(context, protocols[name])]));
}

const views = {
  overview, problems, endpoints, certificates, changes, explain, requests, unmatched,
  ...objects('routers', routers, router),
  ...objects('services', services, service),
  ...objects('middlewares', middlewares, middleware, ['http', 'tcp']),
  xds: (context) => (context.name ? client : xds)(context),
  'xds-resources': resources,
  injector, environments, listeners,
};

const frame = shell();
let current = new AbortController();

/** show builds the view of a place and ends the previous one. */
async function show({ keepFocus = false } = {}) {
  const where = parse(location.hash);
  current.abort();
  const own = (current = new AbortController());
  live.begin(own.signal);
  frame.mark(where.view);
  const make = views[where.view];
  let node;
  let title = 'Not found';
  try {
    if (!make) throw Object.assign(new Error('The dashboard has no such page.'), { status: 404 });
    ({ node, title } = await make({ ...where, signal: own.signal }));
  } catch (error) {
    if (own.signal.aborted) return;
    node = failure(error, () => show());
  }
  if (own.signal.aborted) return;
  const within = frame.main.contains(document.activeElement);
  replace(frame.main, el('div', { class: 'stack' }, node));
  document.title = [title, frame.name(), 'Sluice'].filter(Boolean).join(' · ');
  if (!keepFocus) scrollTo(0, 0);
  if (!keepFocus || within) frame.main.focus({ preventScroll: true });
}

replace(document.getElementById('shell'), frame.node);
// A view that is rebuilt because its object changed keeps its scroll position.
addEventListener('hashchange', (event) => show({ keepFocus: !event.isTrusted }));
// Relative times are updated continually.
setInterval(() => {
  for (const node of document.querySelectorAll('[data-moment]')) write(node, ago(Number(node.dataset.moment)));
}, 5000);
keys(frame);
live.start();
findings.start();
show({ keepFocus: true });
