// The protocols of routers, services and middlewares.

/**
 * protocols are what differs between them: the kinds of objects, the end of the names of their views, and the words for what
 * they carry: carried in the plural and one in the singular, unit as a rate, failed for those that fail, and without for what
 * becomes of them without an endpoint.
 */
export const protocols = {
  http: { name: 'http', title: 'HTTP', kinds: { router: 'router', service: 'service', middleware: 'middleware' }, suffix: '', unit: 'req/s', failed: '5xx', carried: 'requests', one: 'request', without: 'requests get 503' },
  tcp: { name: 'tcp', title: 'TCP', kinds: { router: 'tcpRouter', service: 'tcpService', middleware: 'tcpMiddleware' }, suffix: '-tcp', unit: 'conn/s', failed: 'failed', carried: 'connections', one: 'connection', without: 'connections are closed' },
  udp: { name: 'udp', title: 'UDP', kinds: { router: 'udpRouter', service: 'udpService', middleware: 'udpMiddleware' }, suffix: '-udp', unit: 'sessions/s', failed: 'failed', carried: 'sessions', one: 'session', without: 'datagrams are dropped' },
};

/** protocolOf is the protocol of a pool of an endpoint, or of a line of live requests. */
export const protocolOf = (one) => protocols[(one?.protocol ?? one?.Protocol ?? 'http').toLowerCase()] ?? protocols.http;

/** kindWords are the names of kinds of objects whose key is no word. */
export const kindWords = { tcpRouter: 'TCP router', tcpService: 'TCP service', tcpMiddleware: 'TCP middleware', udpRouter: 'UDP router', udpService: 'UDP service', tcpServersTransport: 'TCP transport' };
