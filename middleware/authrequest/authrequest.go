// Package authrequest implements the middleware authRequest: another server decides by the status of its answer whether
// a request may pass, as auth_request of nginx.
//
// A status 2xx lets the request pass, with headers of the answer. 401 and 403 refuse it with that status alone, or with
// a redirect in place of 401. Every other answer, and none, is an error, 500. Answers may be kept for a time. Values
// that the server sets are never taken from the client, and nothing that server and client exchange is logged.
package authrequest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/authorize"
	"github.com/sluiceproxy/sluice/middleware/guard"
)

// timeout is how long the server has for its whole answer.
const timeout = 60 * time.Second

var errTimeout = errors.New("its time is over")

// AuthRequest is one configured authRequest.
type AuthRequest struct {
	name string
	// What may hold a secret is behind pointers, so that nothing of it is printed with the AuthRequest.
	settings *settings
	client   *authorize.Client
	answers  *Cache
	counts   *counts
	warnings []string
}

// Options are what an authRequest needs beside its definition.
type Options struct {
	// ReadFile reads the files that the options of tls name; nil reads them from the disk.
	ReadFile func(path string) ([]byte, error)
	// Dial connects to the server, within a deadline of 10 s that the context has; nil is a [net.Dialer].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Cache keeps answers. It may be shared; nil makes a new one.
	Cache *Cache
}

// counts are what has become of requests since the object was made.
type counts struct{ passed, refused, failed, remembered atomic.Uint64 }

// New checks the definition and reads the files of tls. The URL must be one of http or https with a host, without
// credentials, and with variables in its path and query only. No connection is made before a request comes. The error
// names the option.
func New(name string, config dynamic.AuthRequest, options Options) (*AuthRequest, error) {
	checked, err := newSettings(&config)
	if err != nil {
		return nil, err
	}
	client, err := authorize.NewClient(authorize.Server{
		Kind: "authRequest", Option: "url", URL: checked.server, TLS: config.TLS,
		ReadFile: options.ReadFile, Dial: options.Dial,
	})
	if err != nil {
		return nil, err
	}
	if checked.fixed != nil {
		checked.fixed.Host = checked.server.Host // NewClient has written it in ASCII.
	}
	a := &AuthRequest{name: name, settings: checked, client: client, answers: options.Cache, counts: new(counts)}
	if a.answers == nil {
		a.answers = NewCache()
	}
	if config.TLS != nil && checked.server.Scheme == "http" {
		a.warnings = append(a.warnings, "authRequest.tls has no effect, since authRequest.url begins with http://")
	}
	if config.CacheKey == "" && len(config.CacheDuration) > 0 {
		a.warnings = append(a.warnings, "authRequest.cacheDuration has no effect without authRequest.cacheKey")
	}
	return a, nil
}

// NoRetain says that no part of a request outlives its handler here.
func (*AuthRequest) NoRetain() {}

// Guards reports that the server restricts access at all trust levels.
func (a *AuthRequest) Guards() guard.Access {
	return guard.Access{Guards: guard.Always, Server: a.settings.server.String()}
}

// Warnings returns what the definition declares without effect.
func (a *AuthRequest) Warnings() []string { return a.warnings }

// Counts returns how many requests there were since the object was made: "passed" went on, "refused" got 401, 403 or a
// redirect, and "failed" found no answer that can be used; "remembered" are those of the first two whose answer was
// kept.
func (a *AuthRequest) Counts() map[string]uint64 {
	return map[string]uint64{
		"passed": a.counts.passed.Load(), "refused": a.counts.refused.Load(), "failed": a.counts.failed.Load(),
		"remembered": a.counts.remembered.Load(),
	}
}

// Replaces returns the names of the headers that are never taken from the client.
func (a *AuthRequest) Replaces() []string { return a.settings.granted }

// Close ends the idle connections to the server, and those that requests still use once these have come to their end.
func (a *AuthRequest) Close() { a.client.Close() }

// For returns the step that is given only answers that were kept for it: other routers may need other answers.
func (a *AuthRequest) For(string) interface {
	Wrap(next http.Handler) http.Handler
} {
	return &step{AuthRequest: a, owner: a.answers.owner()}
}

// Wrap is For without an owner.
func (a *AuthRequest) Wrap(next http.Handler) http.Handler { return a.For("").Wrap(next) }
