// Package forwardauth implements the middleware forwardAuth: another server, the authentication server, decides whether
// a request may pass.
//
// A request passes only if the server has answered with a complete response of status 2xx in time; it then carries the
// headers that the server sets. Otherwise the client gets the server's response or an error. Values that the server
// sets are never taken from the client, and nothing that server and client exchange is logged.
package forwardauth

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/guard"
	"github.com/sluiceproxy/sluice/telemetry"
)

// ForwardAuth is one configured forwardAuth.
type ForwardAuth struct {
	name     string
	warnings []string
	// What may hold a secret is behind pointers, so that nothing of it is printed with the ForwardAuth.
	settings *settings
	server   *server
	counts   *counts
}

// Options are what a forwardAuth needs beside its definition.
type Options struct {
	// ReadFile reads the files that the options of tls name; nil reads them from the disk.
	ReadFile func(path string) ([]byte, error)
	// Dial connects to the authentication server, within a deadline of 10 s that the context has; nil is a [net.Dialer].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// counts are what has become of requests since the object was made.
type counts struct{ passed, refused, failed atomic.Uint64 }

// New checks the definition and reads the files of tls. The address must be a URL of http or https with a host. No
// connection is made before a request comes.
func New(name string, config dynamic.ForwardAuth, options Options) (*ForwardAuth, error) {
	checked, err := newSettings(&config)
	if err != nil {
		return nil, err
	}
	server, err := newServer(&config, checked.address.url, options)
	if err != nil {
		return nil, err
	}
	return &ForwardAuth{
		name: name, warnings: warnings(&config, checked), settings: checked, server: server,
		counts: new(counts),
	}, nil
}

// NoRetain says that no part of a request outlives its handler here.
func (*ForwardAuth) NoRetain() {}

// Guards reports that the authentication server restricts access at all trust levels.
func (f *ForwardAuth) Guards() guard.Access {
	return guard.Access{Guards: guard.Always, Server: f.settings.address.url.String()}
}

// Warnings returns what the definition declares without effect, and what it leaves without a bound.
func (f *ForwardAuth) Warnings() []string { return f.warnings }

// Counts returns how many requests there were since the object was made: "passed" went on, "refused" got the
// authentication server's answer, the sign-in page or a refusal for the size of a body, and "failed" found no
// authentication server that answers.
func (f *ForwardAuth) Counts() map[string]uint64 {
	return map[string]uint64{
		"passed": f.counts.passed.Load(), "refused": f.counts.refused.Load(), "failed": f.counts.failed.Load(),
	}
}

// Close ends the idle connections to the authentication server, and those that requests still use once these have
// come to their end.
func (f *ForwardAuth) Close() { f.server.Close() }

// Wrap returns a handler that sends an authentication request for every request. It calls next when the answer is of
// status 2xx, and passes on any other answer. It answers 302 instead of 401 where authSigninURL is set, 401 when a
// body is larger than maxBodySize or maxResponseBodySize allow, and 500 when the server gives no answer that can be
// used within 30 s.
func (f *ForwardAuth) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		granted := f.admit(w, r)
		if granted == nil {
			return
		}
		f.counts.passed.Add(1)
		telemetry.RecordFrom(r.Context()).Authenticated = true
		f.settings.identity.apply(r, granted)
		f.settings.cookies.serve(w, r, next, granted)
	})
}
