// The list of published xDS resources, or of those that a client has.

import { copying, el } from '../lib/dom.js';
import { place } from '../lib/place.js';
import { list } from './list.js';
import { configured, kind, typeNames } from './xds.js';

const types = Object.keys(typeNames).map((type) => [type, type.toUpperCase()]);

/** content shows a resource as JSON, which is written when it is opened first. opened are the resources that stay open when the list is drawn again. */
function content(item, opened) {
  const key = `${item.type} ${item.name}`;
  const body = el('div', {});
  const node = el('details', { class: 'json', open: opened.has(key) }, el('summary', { 'data-row': true }, el('code', {}, item.name)), body);
  const draw = () => {
    const text = JSON.stringify(item.resource, null, 2);
    body.replaceChildren(copying(text, 'the resource'), el('pre', { tabindex: 0, 'aria-label': `${item.type} ${item.name}` }, text));
  };
  if (node.open) draw();
  node.addEventListener('toggle', () => {
    opened[node.open ? 'add' : 'delete'](key);
    if (node.open && !body.firstChild) draw();
  });
  return node;
}

/** resourcesOf lists resources; about are further options of the list. */
export function resourcesOf(about, context) {
  const opened = new Set();
  return list({
    view: 'xds-resources', path: 'xds/resources', title: 'Published resources', hint: 'Search resources by name', states: types, filter: 'type', empty: 'There are no resources.',
    columns: [
      { title: 'Type', class: 'named short', cell: (item) => kind(item.type) },
      { title: 'Resource', class: 'wide', cell: (item) => content(item, opened) },
    ],
    ...about,
  }, context);
}

export async function resources(context) {
  await configured(context.signal);
  return resourcesOf({ note: el('span', { class: 'quiet-text' }, 'what xDS clients can subscribe to'), tools: el('a', { class: 'plain', href: place('xds') }, 'Streams') }, context);
}
