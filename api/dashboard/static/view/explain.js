// Form and result of api/explain: which router would serve a request, and why.

import { ask, page } from '../lib/api.js';
import { el, replace, sign } from '../lib/dom.js';
import { many, outcome, percent } from '../lib/format.js';
import { place, placeOf, shareable } from '../lib/place.js';
import { linked, parted, ruled, sheet } from './parts.js';
import { station, diagram } from './route.js';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE'];

/** headersOf parses the lines of the form. */
export const headersOf = (text) => text.split('\n').map((line) => line.trim()).filter(Boolean);

export async function explain({ query, signal }) {
  const declared = page('listeners', { parameters: { per_page: 500 }, signal }).then(({ data }) => data.filter((one) => ['HTTP', 'HTTPS'].includes(one.protocol)));
  const entries = (await Promise.all([ask('entrypoints', { signal }), declared].map((one) => one.catch(() => [])))).flat();
  const wanted = query.get('method') ?? 'GET';
  const method = el('select', { name: 'method' }, [...new Set([...methods, wanted])].map((one) => el('option', { selected: one === wanted }, one)));
  const url = el('input', { type: 'text', name: 'url', value: query.get('url') ?? '', placeholder: 'https://shop.example.com/api', autocomplete: 'off', spellcheck: 'false', required: true });
  const entry = el('select', { name: 'entrypoint' }, el('option', { value: '' }, 'from the URL'), entries.map((one) => el('option', { selected: one.name === query.get('entrypoint') }, one.name)));
  const headers = el('textarea', { name: 'headers', rows: 2, placeholder: 'X-Team: shop', spellcheck: 'false' });
  headers.value = query.getAll('header').join('\n');
  const client = el('input', { type: 'text', name: 'client', value: query.get('client') ?? '', placeholder: '127.0.0.1', autocomplete: 'off', spellcheck: 'false' });
  const answer = el('div', { class: 'stack', 'aria-live': 'polite' });
  let drawn = new AbortController();

  const run = async () => {
    drawn.abort();
    drawn = new AbortController();
    const both = AbortSignal.any([drawn.signal, signal]);
    const question = { method: method.value, url: url.value.trim(), entrypoint: entry.value, client: client.value.trim(), header: headersOf(headers.value) };
    history.replaceState(null, '', place('explain', '', { ...question, header: shareable(question.header) }));
    try {
      const told = await ask('explain', { parameters: question, signal: both });
      replace(answer, shown(told, both));
    } catch (error) {
      if (error.name === 'AbortError') return;
      replace(answer, el('section', { class: 'sheet verdict bad', role: 'alert' }, sign('bad'), el('h2', {}, 'The explanation failed.'), el('p', {}, error.message)));
    }
  };
  const form = el('form', { class: 'ask', on: { submit(event) {
    event.preventDefault();
    run();
  } } },
  el('label', {}, 'Method', method), el('label', {}, 'URL', url), el('label', {}, 'Entry point', entry),
  el('label', { class: 'whole' }, 'Headers, one per line', headers), el('label', {}, 'Client address', client),
  el('div', { class: 'go' }, el('button', { class: 'plain main', type: 'submit' }, 'Explain')));
  if (url.value) await run();
  return {
    title: 'Explain',
    node: [el('div', {}, el('div', { class: 'title' }, el('h1', {}, 'Explain a request'), el('span', { class: 'quiet-text' }, 'Which router would serve a request, and why. Nothing is sent.')), el('div', { class: 'sheet' }, el('div', { class: 'body' }, form))), answer],
  };
}

function shown(told, signal) {
  const fine = told.router && (!told.status || told.location);
  const title = told.router ? [linked('router', told.router.name), outcome(told)] : `Sluice responds with ${told.status}: ${told.reason}.`;
  return [
    el('section', { class: `sheet verdict ${fine ? '' : 'bad'}`, 'aria-label': 'Result' }, sign(fine ? 'good' : 'bad'), el('h2', {}, title),
      el('p', {}, `${told.method} ${told.host ?? ''}${told.path ?? ''} on ${told.entryPoint}${told.tls ? ' with TLS' : ''}`, told.router && told.reason ? `. ${upper(told.reason)}.` : ''),
      told.forwardedPath ? el('p', {}, 'Forwarded path: ', el('code', {}, told.forwardedPath)) : null,
      told.guess ? el('p', { class: 'quiet-text' }, `Entry point ${told.entryPoint} was chosen: ${told.guess}.`) : null),
    told.router ? picture(told, signal) : null,
    told.router ? sheet('Why this router', null, el('ol', { class: 'candidates' }, candidate(told.router))) : null,
    told.elsewhere?.length ? sheet('Served on other entry points', null, el('ul', { class: 'candidates' }, told.elsewhere.map((one) => el('li', {}, el('div', { class: 'head' }, linked('router', one.router), el('span', {}, `on ${one.entryPoint} ${one.tls ? 'with' : 'without'} TLS`)))))) : null,
    told.next?.length ? sheet(told.router ? 'Other candidates' : 'Closest routers', null, el('ol', { class: 'candidates' }, told.next.map(candidate))) : null,
  ];
}

const upper = (text) => text[0].toUpperCase() + text.slice(1);

function candidate(one) {
  return el('li', {}, el('div', { class: 'head' }, linked('router', one.name), el('span', { class: 'quiet-text' }, `priority ${one.priority}`)), ruled(one.rule),
    el('ul', { class: 'steps' }, (one.why ?? []).map((step) => el('li', {}, sign(one.matches ? 'good' : 'bad'), el('span', { class: 'unseen' }, one.matches ? 'holds: ' : 'does not hold: '), el('code', {}, step)))),
    one.reason ? el('p', { class: 'quiet-text' }, one.reason) : null);
}

function picture(told, signal) {
  const entry = station({ label: told.entryPoint, below: [told.tls ? 'TLS' : ''] });
  const router = station({ target: placeOf('router', told.router.name), label: parted(told.router.name), below: [`priority ${told.router.priority}`], state: told.service ? undefined : 'disabled' });
  const steps = (told.middlewares ?? []).map((name) => station({ target: placeOf('middleware', name), label: parted(name) }));
  const links = [];
  const columns = [['Entry point', 'entries', entry], ['Router', '', router], ...(steps.length ? [['Middlewares', 'chain', steps]] : [])];
  links.push({ from: entry, to: router, share: 0.2 });
  if (steps.length) links.push({ from: router, to: steps[0], share: 0.2 });
  if (told.service) {
    const { services, endpoints } = served(told.service, links);
    columns.push(['Service', '', services]);
    if (endpoints.length) columns.push(['Endpoints', '', endpoints]);
    links.push({ from: steps[steps.length - 1] ?? router, to: services[0], share: 0.2 });
  }
  const drawn = diagram(columns, () => links, signal);
  requestAnimationFrame(drawn.draw);
  return sheet('Route of the request', null, drawn.node);
}

const most = 8;

/** served lays out a service of an explanation and its edges to endpoints. */
function served(service, links, role = '') {
  const own = station({ target: service.kind === 'internal' ? undefined : placeOf('service', service.name), label: parted(service.name), below: [[role, service.kind].filter(Boolean).join(', ')], state: service.up ? undefined : 'disabled' });
  const endpoints = service.endpoints ?? [];
  const total = endpoints.reduce((sum, one) => sum + one.share, 0);
  const stations = endpoints.slice(0, most).map((one) => {
    const part = total > 0 ? one.share / total : 0;
    const node = station({ label: el('span', { class: 'mono' }, one.address), below: [`${one.state}, ${percent(part)} of the requests`], state: one.state });
    links.push({ from: own, to: node, share: part, tone: one.share > 0 ? '' : 'bad' });
    return node;
  });
  if (endpoints.length > most) stations.push(el('p', { class: 'quiet-text' }, 'and ', el('a', { href: place('endpoints', '', { serviceName: service.name }) }, many(endpoints.length - most, 'more endpoint'))));
  const below = (service.services ?? []).map((one) => served(one, links, [one.role, one.weight ? `weight ${one.weight}` : '', one.percent ? `${one.percent} %` : ''].filter(Boolean).join(', ')));
  return { services: [own, ...(below.length ? [el('div', { class: 'branches' }, below.flatMap((one) => one.services))] : [])], endpoints: [...stations, ...below.flatMap((one) => one.endpoints)] };
}

