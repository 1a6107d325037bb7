// Package forwardproxy makes an entrypoint an explicit forward proxy: a client sends it requests in absolute form (RFC
// 9112 section 3.2.2), as most HTTP libraries do where the environment variable HTTP_PROXY names it.
//
// A request that a router matches is served by that router, so that Services are balanced as behind any entrypoint; a
// request to another host goes to the host that it names (Direct). CONNECT is refused at the entrypoint: only http is
// proxied, and clients go to https directly unless HTTPS_PROXY is set.
package forwardproxy
