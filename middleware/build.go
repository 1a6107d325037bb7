package middleware

import (
	"net/http"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/addprefix"
	"github.com/sluiceproxy/sluice/middleware/headers"
	"github.com/sluiceproxy/sluice/middleware/redirectscheme"
	"github.com/sluiceproxy/sluice/middleware/replacepath"
	"github.com/sluiceproxy/sluice/middleware/retry"
	"github.com/sluiceproxy/sluice/middleware/stripprefix"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Options are what middlewares need beside their definitions.
type Options struct {
	// Logger gets a line when the state of a middleware changes; nil logs nothing.
	Logger telemetry.Logger
}

// Builder makes middlewares, and holds what several of them share.
type Builder struct {
	options Options
	files   *Files
}

// NewBuilder returns a builder.
func NewBuilder(options Options) *Builder {
	if options.Logger == nil {
		options.Logger = telemetry.Discard{}
	}
	return &Builder{options: options, files: NewFiles()}
}

// Files returns the files that middlewares were made of.
func (b *Builder) Files() *Files { return b.files }

// Forget lets go of what was noted for a definition that is gone.
func (b *Builder) Forget(name string) { b.files.forget(name) }

// Services finds the handler of a service by the name that a definition gives it.
type Services func(name string) (http.Handler, error)

// Build makes the middleware of one definition. The name is the qualified one (name@provider), for log records. A definition without a
// kind, with two kinds, or with values that can't work is an error that names the option but not the middleware, whose name the
// caller's verdict carries; a kind or option that is known and not built yet is an [*UnsupportedError], and a chain [ErrChain].
func (b *Builder) Build(name string, config *dynamic.Middleware, services Services) (Middleware, error) {
	kind, err := Kind(config)
	if err != nil {
		return nil, err
	}
	for _, build := range []func(string, *dynamic.Middleware) (Middleware, error){b.path, b.content} {
		if step, err := build(name, config); step != nil || err != nil {
			return step, err
		}
	}
	if config.Chain != nil {
		return nil, ErrChain
	}
	return nil, &UnsupportedError{Option: kind}
}

// path makes those that change the path, or send the client elsewhere.
func (b *Builder) path(name string, config *dynamic.Middleware) (Middleware, error) {
	switch {
	case config.AddPrefix != nil:
		return step(addprefix.New(name, *config.AddPrefix))
	case config.StripPrefix != nil:
		return step(stripprefix.New(name, *config.StripPrefix))
	case config.ReplacePath != nil:
		return step(replacepath.New(name, *config.ReplacePath))
	case config.RedirectScheme != nil:
		return step(redirectscheme.New(name, *config.RedirectScheme))
	}
	return nil, nil
}

// content makes those that change heads and bodies.
func (b *Builder) content(name string, config *dynamic.Middleware) (Middleware, error) {
	switch {
	case config.Headers != nil:
		if option := headers.Unsupported(*config.Headers); option != "" {
			return nil, &UnsupportedError{Option: "headers." + option}
		}
		return step(headers.New(name, *config.Headers))
	case config.Retry != nil:
		return step(retry.New(name, *config.Retry))
	}
	return nil, nil
}

// step drops the typed nil that New returns beside an error.
func step[M Middleware](built M, err error) (Middleware, error) {
	if err != nil {
		return nil, err
	}
	return built, nil
}
