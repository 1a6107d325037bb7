package middleware

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/basicauth"
	"github.com/sluiceproxy/sluice/middleware/ratelimit/redis"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Options are what middlewares need beside their definitions.
type Options struct {
	// Logger gets a line when the state of a middleware changes; nil logs nothing.
	Logger telemetry.Logger
}

// Builder makes middlewares, and holds what several of them share.
type Builder struct {
	kinds  map[string]Kind
	logger telemetry.Logger
	files  *Files
	redis  *redis.Clients
	hashes *basicauth.HashSemaphore
}

// NewBuilder returns a builder of all [Kinds].
func NewBuilder(options Options) *Builder {
	if options.Logger == nil {
		options.Logger = telemetry.Discard{}
	}
	b := &Builder{
		kinds: map[string]Kind{}, logger: options.Logger, files: NewFiles(), redis: redis.NewClients(options.Logger),
		hashes: basicauth.NewHashSemaphore(),
	}
	for _, kind := range Kinds() {
		b.kinds[kind.Name] = kind
	}
	return b
}

// Files returns the files that middlewares were made of.
func (b *Builder) Files() *Files { return b.files }

// Close ends what the middlewares share. Those that were made come to their end.
func (b *Builder) Close() { b.redis.Close() }

// Services finds the handler of a service by the name that a definition gives it.
type Services func(name string) (http.Handler, error)

// environment is what a kind may use beside its options.
type environment struct {
	logger   telemetry.Logger
	redis    *redis.Clients
	hashes   *basicauth.HashSemaphore
	services Services
	// readFile reads a file that the options name; the middleware is built anew when the file changes.
	readFile func(path string) ([]byte, error)
}

// Build makes the middleware of one definition. The name is the qualified one (name@provider), for log records. A
// definition without a kind, with two kinds, or with values that can't work is an error that names the option but not
// the middleware, whose name the caller's verdict carries; a kind that is known and not built yet is an
// [*UnsupportedError], and a chain [ErrChain]. The files that the definition names are added to reads, also when it
// fails. Nothing is started: see [Starter].
func (b *Builder) Build(name string, config *dynamic.Middleware, services Services, reads *Reads) (Middleware, error) {
	set, err := KindOf(config)
	if err != nil {
		return nil, err
	}
	if config.Chain != nil {
		return nil, ErrChain
	}
	kind, served := b.kinds[set]
	if !served {
		return nil, &UnsupportedError{Option: set}
	}
	e := environment{logger: b.logger, redis: b.redis, hashes: b.hashes, services: services, readFile: reads.ReadFile}
	return kind.build(name, reflect.ValueOf(config).Elem().Field(kind.field).Interface(), e)
}

// KindOf returns the name of the one kind that a definition sets.
func KindOf(config *dynamic.Middleware) (string, error) {
	switch kinds := KindsOf(config); len(kinds) {
	case 0:
		return "", errors.New("no kind of middleware is set")
	case 1:
		return kinds[0], nil
	default:
		return "", fmt.Errorf("one kind of middleware is wanted, but %s are set", strings.Join(kinds, ", "))
	}
}

// KindsOf returns the names of the kinds that a definition sets, as they are spelled in files. A definition that
// works has one.
func KindsOf(config *dynamic.Middleware) []string {
	if config == nil {
		return nil
	}
	var kinds []string
	value := reflect.ValueOf(config).Elem()
	for i := range value.NumField() {
		if !value.Field(i).IsNil() {
			kinds = append(kinds, optionName(value.Type().Field(i)))
		}
	}
	return kinds
}
