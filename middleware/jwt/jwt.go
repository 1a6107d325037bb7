// Package jwt is the middleware jwt: it lets requests in that carry a signed token (RFC 7519, RFC 6750).
//
// A request with a valid token passes, with claims of the token in headers if so configured; others are answered with
// 400, 401, 403 or 503. A request passes only if its token was verified. Keys are never taken from a token or from
// where a token refers to, and tokens are neither stored nor logged.
package jwt

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/guard"
	"github.com/sluiceproxy/sluice/telemetry"
)

// JWT is one configured jwt.
type JWT struct {
	name       string
	challenge  string
	extractors tokenExtractors
	rules      rules
	access     guard.Access
	headers    headers
	warnings   []string
	// The following are behind pointers so that nothing of them is printed with the JWT.
	keys   keySource
	cache  *tokenCache
	counts *counts
}

// Options are what a jwt needs beside its definition.
type Options struct {
	// ReadFile reads the files that the definition names.
	ReadFile func(path string) ([]byte, error)
	// Logger gets a line when the key set can't be fetched, and one when it can be again; nil logs nothing.
	Logger telemetry.Logger
	// Dial connects to the server of jwksUrl, or to the proxy that HTTPS_PROXY names; nil is a [net.Dialer].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// counts are what has happened to requests since the object was made.
type counts struct {
	challenged, refused, forbidden, unavailable, verified, remembered atomic.Uint64
}

// keySource is where the keys are. A set that it has returned never changes.
type keySource interface {
	// now returns the keys that tokens are verified with, or nil when there are none.
	now(ctx context.Context) *keySet
	// after returns the keys when a set turned out to be too old, which may be the same.
	after(ctx context.Context, old *keySet) *keySet
}

// New checks the definition and reads the keys. Those of jwksUrl are fetched when the first request comes, and then
// again every refreshInterval, until the object is closed. An error begins with the option, and never holds a key or
// a secret.
func New(name string, config dynamic.JWT, options Options) (*JWT, error) {
	if options.Logger == nil {
		options.Logger = telemetry.Discard{}
	}
	j := &JWT{name: name, cache: newTokenCache(), counts: new(counts)}
	var err error
	if j.challenge, err = challenge(config.Realm); err != nil {
		return nil, err
	}
	if j.extractors, err = newTokenExtractors(config); err != nil {
		return nil, err
	}
	if j.rules, err = newRules(config); err != nil {
		return nil, err
	}
	if j.headers, err = newHeaders(config.ForwardHeaders, j.extractors.header); err != nil {
		return nil, err
	}
	if j.keys, j.warnings, err = newKeys(name, config, options); err != nil {
		return nil, err
	}
	j.access = access(name, config)
	return j, nil
}

// access returns when tokens restrict access. The key sets of identity providers sign tokens for every account
// there.
func access(name string, config dynamic.JWT) guard.Access {
	named := slices.ContainsFunc(config.Claims, func(claim dynamic.JWTClaim) bool { return len(claim.Values) > 0 })
	if config.JwksURL+config.JwksFile+config.Jwks != "" && len(config.Issuers) == 0 && len(config.Audiences) == 0 &&
		!named {
		return guard.Except(guard.Always, "jwt "+name+" takes every token that its key set has signed: it names no "+
			"issuers, audiences or values of claims")
	}
	return guard.Access{Guards: guard.Always}
}

// NoRetain says that no part of a request outlives its handler here.
func (*JWT) NoRetain() {}

// Guards reports that it restricts access, unless every token of a key set is accepted.
func (j *JWT) Guards() guard.Access { return j.access }

// Warnings returns what the definition declares without effect: keys of a set that no token can be verified with.
func (j *JWT) Warnings() []string { return j.warnings }

// Close ends the fetching of keys. Requests that wait for it are refused; others are judged by the keys that are there.
func (j *JWT) Close() {
	if fetched, ok := j.keys.(*remote); ok {
		fetched.close()
	}
}

// Counts returns what has happened since the object was made. "verified" are requests that passed by a token whose
// signature was checked, "remembered" those by a token that had been verified before, "challenged" those without a
// token, "refused" those with one that is not taken, "forbidden" those whose token lacks a claim, and "unavailable"
// those that came when there were no keys. "fetched" and "failed" count how often the key set was fetched, and could
// not be.
func (j *JWT) Counts() map[string]uint64 {
	counted := map[string]uint64{
		"challenged": j.counts.challenged.Load(), "refused": j.counts.refused.Load(), "forbidden": j.counts.forbidden.Load(),
		"unavailable": j.counts.unavailable.Load(), "verified": j.counts.verified.Load(),
		"remembered": j.counts.remembered.Load(),
	}
	if fetched, ok := j.keys.(*remote); ok {
		counted["fetched"], counted["failed"] = fetched.good.Load(), fetched.bad.Load()
	}
	return counted
}

// Status returns how many keys and cached tokens there are. The state is empty, or "waiting" until the first
// key set has been fetched, "stale" when the last one could not be and the one before still counts, and "keyless"
// when there are no keys.
func (j *JWT) Status() (state string, levels map[string]int64) {
	levels = map[string]int64{"remembered": j.cache.size()}
	switch keys := j.keys.(type) {
	case static:
		levels["keys"] = int64(len(keys.set.keys))
	case *remote:
		state = keys.status()
		if set := keys.fresh(); set != nil {
			levels["keys"] = int64(len(set.keys))
		}
	}
	return state, levels
}

// Format prints the name alone, whatever the verb.
func (j *JWT) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "jwt %s", j.name) }

// Wrap returns a handler that lets requests with a token pass to next, with the claims that they are to carry. Others
// are answered: with 401 when there is no token or it is not taken, with 400 when there are several in one place,
// with 403 when a claim is missing, and with 503 when there are no keys to verify it with.
func (j *JWT) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, refused := j.extractors.find(r)
		if refused != nil {
			j.refuse(w, r, refused)
			return
		}
		found, refused := j.judge(r.Context(), token)
		if found != nil {
			telemetry.RecordFrom(r.Context()).Username = found.user
		}
		if refused != nil {
			j.refuse(w, r, refused)
			return
		}
		telemetry.RecordFrom(r.Context()).Authenticated = true
		j.extractors.clean(r, token)
		j.headers.set(r, found.values)
		next.ServeHTTP(w, r)
	})
}

// judge decides about a token. What it found is there beside a refusal when only a claim is missing.
func (j *JWT) judge(ctx context.Context, token string) (*verified, *refusal) {
	if len(token) > maxToken {
		return nil, refuse(invalid, "the token is longer than 8192 bytes")
	}
	keys := j.keys.now(ctx)
	if keys == nil {
		return nil, refuse(keyless, "there are no keys to verify tokens with")
	}
	digest := j.cache.digest(token)
	if found := j.cache.get(digest, keys, time.Now()); found != nil {
		j.counts.remembered.Add(1)
		return found, nil
	}
	found, refused := j.verify(ctx, keys, token)
	if refused != nil {
		return found, refused
	}
	j.counts.verified.Add(1)
	j.cache.put(digest, found, time.Now())
	return found, nil
}

// verify does all the work.
func (j *JWT) verify(ctx context.Context, keys *keySet, raw string) (*verified, *refusal) {
	token, refused := parse(raw)
	if refused != nil {
		return nil, refused
	}
	payload, refused := keys.verify(token)
	if refused != nil && refused.kind == unknownKey {
		if newer := j.keys.after(ctx, keys); newer != nil && newer != keys {
			keys = newer
			payload, refused = keys.verify(token)
		}
	}
	if refused != nil {
		return nil, refused
	}
	claims, refused := decode(payload)
	if refused != nil {
		return nil, refused
	}
	found := &verified{by: keys}
	if refused = j.rules.check(claims, found, time.Now()); refused != nil {
		return nil, refused
	}
	found.user = user(claims)
	if refused = j.rules.require(claims); refused != nil {
		return found, refused
	}
	if found.values, refused = j.headers.values(claims); refused != nil {
		return nil, refused
	}
	return found, nil
}
