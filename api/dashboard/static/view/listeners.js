// The list of listeners: entrypoints that providers declare.

import { ask } from '../lib/api.js';
import { el } from '../lib/dom.js';
import { chips, named } from './cells.js';
import { list } from './list.js';
import { origin } from './parts.js';
import { states } from './routers.js';

const quiet = (text) => el('span', { class: 'quiet-text' }, text);

/** addressed is where a listener is reached: its socket, and the port of clients where it is another one. */
export const addressed = ({ address, port }) => (port && !address.endsWith(`:${port}`) ? `${address}, port ${port} for clients` : address);

/** totals counts the listeners by state. */
async function totals(signal) {
  const { total = 0, warnings = 0, errors = 0 } = (await ask('overview', { signal })).listeners ?? {};
  return { '': total, enabled: total - warnings - errors, warning: warnings, disabled: errors };
}

export function listeners(context) {
  return list({
    view: 'listeners', path: 'listeners', title: 'Listeners', hint: 'Search names, addresses and hostnames', states, totals,
    empty: 'No provider declares a listener.',
    columns: [
      { title: 'Name', sort: 'name', class: 'name', cell: (item) => named('listener', item) },
      { title: 'Protocol', sort: 'protocol', class: 'named', cell: (item) => item.protocol },
      { title: 'Address', sort: 'address', class: 'named', cell: (item) => el('code', {}, addressed(item)) },
      { title: 'Hostname', sort: 'hostname', class: 'named', cell: (item) => (item.hostname ? el('code', {}, item.hostname) : quiet('any')) },
      { title: 'Declared by', class: 'named', cell: (item) => (item.owner ? origin(item.owner, 48) : quiet('–')) },
      { title: 'Routers', sort: 'routers', class: 'named', cell: (item) => (item.usedBy?.length ? chips(undefined, item.usedBy, 4) : quiet('none')) },
    ],
  }, context);
}
