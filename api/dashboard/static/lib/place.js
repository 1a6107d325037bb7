// The current place in the page: the fragment of its address.

/** parse parses a place like #/routers/shop%40file?tab=1. */
export function parse(hash) {
  const [path, query] = hash.replace(/^#/, '').split('?', 2);
  let parts;
  try {
    parts = path.split('/').filter(Boolean).map(decodeURIComponent);
  } catch {
    parts = [];
  }
  return { view: parts[0] ?? 'overview', name: parts.slice(1).join('/'), query: new URLSearchParams(query ?? '') };
}

/** place returns the address of a view; empty values are left out. */
export function place(view, name = '', query = {}) {
  const values = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== '') values.append(key, one);
    }
  }
  const text = values.toString();
  return `#/${view === 'overview' && !name ? '' : view}${name ? `/${encodeURIComponent(name)}` : ''}${text ? `?${text}` : ''}`;
}

/** views maps kinds of objects to their lists. */
export const views = {
  router: 'routers', service: 'services', middleware: 'middlewares', tcpRouter: 'routers-tcp', tcpService: 'services-tcp',
  tcpMiddleware: 'middlewares-tcp', udpRouter: 'routers-udp', udpService: 'services-udp',
};

/** clientOf is the node of the xDS client whose rejection a finding is about: "xds client NODE TYPE". */
const clientOf = (kind, name) => (kind === 'source' ? name.match(/^xds client (.+) \S+$/)?.[1] : undefined);

/** placeOf is the page of an object or an xDS client, or the list row of an endpoint or a listener; undefined for kinds without one. */
export function placeOf(kind, name) {
  if (kind === 'endpoint') return place('endpoints', '', { search: name });
  if (kind === 'listener') return place('listeners', '', { search: name });
  const client = clientOf(kind, name);
  if (client) return place('xds', client);
  return views[kind] ? place(views[kind], name) : undefined;
}

/** qualified adds the provider of the referring object to a name without one. */
export function qualified(name, owner) {
  return name.includes('@') ? name : `${name}@${owner.slice(owner.lastIndexOf('@') + 1)}`;
}

/** shareable removes lines that may hold credentials: addresses are shared, and browsers remember them. */
export const shareable = (lines) => lines.filter((line) => !/authorization|cookie|token|secret|password|key/i.test(line.split(':')[0]));
