// Package environment implements the middleware environment, which sets the request header with the tag of the virtual
// environment, and decides which clients may choose it.
//
// A request has candidates for the tag: the header itself and the configured sources, in a fixed order. The first one
// that the client may choose becomes the header; all other ways to choose are removed from the request. A client may
// choose if it is trusted, or if the tag is signed. Without trust, no client may.
package environment

import (
	"net/http"
	"slices"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/environment"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/answer"
)

// Environment is one configured environment middleware. It is safe for concurrent use.
type Environment struct {
	name string
	// header is the header with the tag, alone; removed is this and the aliases. Both are in canonical form.
	header  []string
	removed []string
	sources sources
	trust   trust
	forbid  bool
	// stamp is the tag of requests without one; empty for none.
	stamp    string
	warnings []string
}

// Options are what an environment middleware needs beside its definition.
type Options struct {
	// ReadFile reads the file of trust.signed.keyFile. Without it, that option is an error.
	ReadFile func(path string) ([]byte, error)
}

// New checks the definition and reads the key. An error begins with the option, and never holds a key.
func New(name string, config dynamic.EnvironmentMiddleware, options Options) (*Environment, error) {
	e := &Environment{name: name}
	var err error
	if e.header, e.removed, err = headers(&config); err != nil {
		return nil, err
	}
	if e.sources, err = newSources(config.Sources); err != nil {
		return nil, err
	}
	if e.trust, err = newTrust(config.Trust, options.ReadFile); err != nil {
		return nil, err
	}
	if e.forbid, e.stamp, err = effects(&config); err != nil {
		return nil, err
	}
	e.warnings = warnings(&config)
	return e, nil
}

// NoRetain implements httpio.NoRetainer.
func (*Environment) NoRetain() {}

// RewritesTarget implements middleware.TargetRewriter.
func (*Environment) RewritesTarget() {}

// Warnings returns options without the apparent effect.
func (e *Environment) Warnings() []string { return e.warnings }

// Wrap returns a handler that sets the header to the tag that the client may choose and calls next. If the client may
// not choose the tag, it is ignored, or answered with 403 if so configured. A path that is invalid without the prefix
// of the tag is answered with 400.
//
// Responses to requests with a choice, allowed or not, get "Vary: *" (RFC 9110 section 12.5.5): they depend on who has
// asked, so that a shared cache must not use them again.
func (e *Environment) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		found, err := e.sources.take(r, e.header[0])
		if err != nil {
			answer.BadRequest(w, r, e.name, err)
			return
		}
		trusted := e.trust.trusts(r)
		tag, refused := e.decide(&found, trusted)
		if found != (candidates{}) {
			header := w.Header()
			header["Vary"] = append(slices.Clip(header["Vary"]), "*")
		}
		if refused != "" && e.forbid {
			answer.Refuse(w, r, http.StatusForbidden, e.name, refused)
			return
		}
		e.edit(r, &found, tag, trusted)
		next.ServeHTTP(w, r)
	})
}

// decide returns the first candidate that the client may choose, without its signature, and why it may not choose one
// before it; both are empty if there is none.
func (e *Environment) decide(found *candidates, trusted bool) (tag, refused string) {
	for _, value := range found {
		switch {
		case value == "":
		case e.trust.signed && environment.Signed(value):
			tag, err := e.trust.key.Verify(e.header[0], value, time.Now())
			if err == nil {
				return tag, refused
			}
			refused = err.Error()
		case trusted:
			return value, refused
		default:
			refused = "the client may not choose the environment"
		}
	}
	return "", refused
}

// edit sets the header to the tag and removes every other way to choose. A trusted client's own header stays as it is.
func (e *Environment) edit(r *http.Request, found *candidates, tag string, trusted bool) {
	switch {
	case !trusted:
		forwarded.RemoveHeader(r.Header, e.removed...)
		forwarded.RemoveTrailers(r, e.removed...)
		e.sources.removeCookie(r)
	case tag != "" && tag == found[fromHeader], found[fromHeader] == "" && tag == "":
		forwarded.RemoveAliases(r.Header, e.header[0])
		forwarded.RemoveTrailers(r, e.header...)
	default:
		forwarded.RemoveHeader(r.Header, e.header...)
		forwarded.RemoveTrailers(r, e.header...)
	}
	switch {
	case tag == "" && (e.stamp == "" || e.hasAlias(r)):
	case tag == "":
		r.Header[e.header[0]] = []string{e.stamp}
	case tag != found[fromHeader] || !trusted:
		r.Header[e.header[0]] = []string{tag}
	}
}

// hasAlias reports whether a request has one of the aliases, which its services read if it has no header. It is false
// for clients that are not trusted, since theirs have been removed.
func (e *Environment) hasAlias(r *http.Request) bool {
	for _, name := range e.removed[1:] {
		if len(r.Header[name]) > 0 {
			return true
		}
	}
	return false
}
