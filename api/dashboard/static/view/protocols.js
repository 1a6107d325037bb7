// The choice of the protocol above a list of routers, services or middlewares.

import { ask } from '../lib/api.js';
import { el, replace } from '../lib/dom.js';
import { count } from '../lib/format.js';
import { live } from '../lib/live.js';
import { place } from '../lib/place.js';
import { protocols } from '../lib/protocol.js';

/** choice links to the lists of a kind of all protocols. It is hidden as long as there are objects of HTTP alone. */
export function choice(kind, chosen, signal) {
  const node = el('nav', { class: 'choices', 'aria-label': 'Protocol', hidden: true });
  const draw = async () => {
    const overview = await ask('overview', { signal }).catch(() => undefined);
    if (!overview) return;
    const offered = Object.values(protocols).filter((one) => overview[one.name]?.[kind]);
    replace(node, offered.map((one) => el('a', { href: place(kind + one.suffix), 'aria-current': one === chosen ? 'true' : null }, one.title, el('small', {}, count(overview[one.name][kind].total)))));
    node.hidden = chosen === protocols.http && offered.every((one) => one === chosen || !overview[one.name][kind].total);
  };
  draw();
  live.hear('generation', draw, signal);
  return node;
}
