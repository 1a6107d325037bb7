package middleware

import (
	"net/http"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/addprefix"
	"github.com/sluiceproxy/sluice/middleware/basicauth"
	"github.com/sluiceproxy/sluice/middleware/bodylimit"
	"github.com/sluiceproxy/sluice/middleware/buffering"
	"github.com/sluiceproxy/sluice/middleware/circuitbreaker"
	"github.com/sluiceproxy/sluice/middleware/compress"
	"github.com/sluiceproxy/sluice/middleware/contenttype"
	"github.com/sluiceproxy/sluice/middleware/digestauth"
	"github.com/sluiceproxy/sluice/middleware/encodedcharacters"
	errorpages "github.com/sluiceproxy/sluice/middleware/errors"
	"github.com/sluiceproxy/sluice/middleware/forwardauth"
	"github.com/sluiceproxy/sluice/middleware/grpcweb"
	"github.com/sluiceproxy/sluice/middleware/headers"
	"github.com/sluiceproxy/sluice/middleware/inflightreq"
	"github.com/sluiceproxy/sluice/middleware/ipallowlist"
	"github.com/sluiceproxy/sluice/middleware/jwt"
	"github.com/sluiceproxy/sluice/middleware/passtlsclientcert"
	"github.com/sluiceproxy/sluice/middleware/ratelimit"
	"github.com/sluiceproxy/sluice/middleware/ratelimit/redis"
	"github.com/sluiceproxy/sluice/middleware/redirectregex"
	"github.com/sluiceproxy/sluice/middleware/redirectscheme"
	"github.com/sluiceproxy/sluice/middleware/replacepath"
	"github.com/sluiceproxy/sluice/middleware/replacepathregex"
	"github.com/sluiceproxy/sluice/middleware/retry"
	"github.com/sluiceproxy/sluice/middleware/stripprefix"
	"github.com/sluiceproxy/sluice/middleware/stripprefixregex"
	"github.com/sluiceproxy/sluice/middleware/timeout"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Options are what middlewares need beside their definitions.
type Options struct {
	// Logger gets a line when the state of a middleware changes; nil logs nothing.
	Logger telemetry.Logger
}

// Builder makes middlewares, and holds what several of them share.
type Builder struct {
	logger telemetry.Logger
	files  *Files
	redis  *redis.Clients
	turns  *basicauth.Turns
}

// NewBuilder returns a builder.
func NewBuilder(options Options) *Builder {
	if options.Logger == nil {
		options.Logger = telemetry.Discard{}
	}
	return &Builder{logger: options.Logger, files: NewFiles(), redis: redis.NewClients(options.Logger), turns: basicauth.NewTurns()}
}

// Files returns the files that middlewares were made of.
func (b *Builder) Files() *Files { return b.files }

// Forget lets go of what was noted for a definition that is gone.
func (b *Builder) Forget(name string) { b.files.forget(name) }

// Close ends what the middlewares share. Those that were made come to their end.
func (b *Builder) Close() { b.redis.Close() }

// Services finds the handler of a service by the name that a definition gives it.
type Services func(name string) (http.Handler, error)

// definition is one definition on its way to become a middleware.
type definition struct {
	*dynamic.Middleware

	name     string
	services Services
}

// Build makes the middleware of one definition. The name is the qualified one (name@provider), for log records. A definition without a
// kind, with two kinds, or with values that can't work is an error that names the option but not the middleware, whose name the
// caller's verdict carries; a kind that is known and not built yet is an [*UnsupportedError], and a chain [ErrChain].
func (b *Builder) Build(name string, config *dynamic.Middleware, services Services) (Middleware, error) {
	kind, err := Kind(config)
	if err != nil {
		return nil, err
	}
	if config.Chain != nil {
		return nil, ErrChain
	}
	given := definition{Middleware: config, name: name, services: services}
	for _, build := range []func(definition) (Middleware, error){b.path, b.redirect, b.content, b.service, b.limit, b.admission} {
		if step, err := build(given); step != nil || err != nil {
			return step, err
		}
	}
	return nil, &UnsupportedError{Option: kind}
}

// path makes those that look at the path, or change it.
func (b *Builder) path(d definition) (Middleware, error) {
	switch {
	case d.AddPrefix != nil:
		return step(addprefix.New(d.name, *d.AddPrefix))
	case d.StripPrefix != nil:
		return step(stripprefix.New(d.name, *d.StripPrefix))
	case d.StripPrefixRegex != nil:
		return step(stripprefixregex.New(d.name, *d.StripPrefixRegex))
	case d.ReplacePath != nil:
		return step(replacepath.New(d.name, *d.ReplacePath))
	case d.ReplacePathRegex != nil:
		return step(replacepathregex.New(d.name, *d.ReplacePathRegex))
	case d.EncodedCharacters != nil:
		return step(encodedcharacters.New(d.name, *d.EncodedCharacters))
	}
	return nothing()
}

// redirect makes those that send the client elsewhere.
func (b *Builder) redirect(d definition) (Middleware, error) {
	switch {
	case d.RedirectScheme != nil:
		return step(redirectscheme.New(d.name, *d.RedirectScheme))
	case d.RedirectRegex != nil:
		return step(redirectregex.New(d.name, *d.RedirectRegex))
	}
	return nothing()
}

// content makes those that change heads and bodies.
func (b *Builder) content(d definition) (Middleware, error) {
	switch {
	case d.Headers != nil:
		return step(headers.New(d.name, *d.Headers))
	case d.ContentType != nil:
		return step(contenttype.New(d.name, *d.ContentType))
	case d.Compress != nil:
		return step(compress.New(d.name, *d.Compress))
	case d.GrpcWeb != nil:
		return step(grpcweb.New(d.name, *d.GrpcWeb))
	case d.Buffering != nil:
		return step(buffering.New(d.name, *d.Buffering))
	}
	return nothing()
}

// service makes those that help when a service fails.
func (b *Builder) service(d definition) (Middleware, error) {
	switch {
	case d.Retry != nil:
		return step(retry.New(d.name, *d.Retry))
	case d.CircuitBreaker != nil:
		return step(circuitbreaker.New(d.name, *d.CircuitBreaker, circuitbreaker.Options{Logger: b.logger}))
	case d.Errors != nil:
		return b.errors(d)
	}
	return nothing()
}

// errors makes the error pages, which another service has.
func (b *Builder) errors(d definition) (Middleware, error) {
	var pages http.Handler
	if d.Errors.Service != "" {
		var err error
		if pages, err = d.services(d.Errors.Service); err != nil {
			return nil, err
		}
	}
	return step(errorpages.New(d.name, *d.Errors, pages))
}

// limit makes those that bound what requests may cost.
func (b *Builder) limit(d definition) (Middleware, error) {
	switch {
	case d.RateLimit != nil:
		return step(ratelimit.New(d.name, *d.RateLimit, ratelimit.Options{Clients: b.redis, ReadFile: b.files.reader(d.name)}))
	case d.InFlightReq != nil:
		return step(inflightreq.New(d.name, *d.InFlightReq))
	case d.BodyLimit != nil:
		return step(bodylimit.New(d.name, *d.BodyLimit))
	case d.Timeout != nil:
		return step(timeout.New(d.name, *d.Timeout))
	}
	return nothing()
}

// admission makes those that decide who gets in.
func (b *Builder) admission(d definition) (Middleware, error) {
	read := b.files.reader(d.name)
	switch {
	case d.BasicAuth != nil:
		return step(basicauth.New(d.name, *d.BasicAuth, basicauth.Options{ReadFile: read, Turns: b.turns}))
	case d.DigestAuth != nil:
		return step(digestauth.New(d.name, *d.DigestAuth, digestauth.Options{ReadFile: read}))
	case d.ForwardAuth != nil:
		return step(forwardauth.New(d.name, *d.ForwardAuth, forwardauth.Options{ReadFile: read}))
	case d.JWT != nil:
		return step(jwt.New(d.name, *d.JWT, jwt.Options{ReadFile: read, Logger: b.logger}))
	case d.IPAllowList != nil:
		return step(ipallowlist.New(d.name, *d.IPAllowList))
	case d.IPWhiteList != nil:
		return step(ipallowlist.NewWhiteList(d.name, *d.IPWhiteList))
	case d.PassTLSClientCert != nil:
		return step(passtlsclientcert.New(d.name, *d.PassTLSClientCert))
	}
	return nothing()
}

// nothing is the answer of who does not make the kind.
func nothing() (Middleware, error) { return nil, nil } //nolint:nilnil // The next one is asked.

// step drops the typed nil that New returns beside an error.
func step[M Middleware](built M, err error) (Middleware, error) {
	if err != nil {
		return nil, err
	}
	return built, nil
}
