package middleware

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio/held"
	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/middleware/authrequest"
	"github.com/sluiceproxy/sluice/middleware/basicauth"
	errorpages "github.com/sluiceproxy/sluice/middleware/errors"
	"github.com/sluiceproxy/sluice/middleware/ratelimit/redis"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Options are the common dependencies of middlewares.
type Options struct {
	// Logger logs changes of the state of middlewares; nil disables this.
	Logger telemetry.Logger
	// Dial makes the connections of middlewares to servers that their definitions name (authRequest, forwardAuth, jwt and
	// rateLimit), within the time that the context has; nil is a [net.Dialer].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Held knows the requests that hold much memory; nil has none of them ended for that.
	Held *held.Registry
}

// Builder builds middlewares and holds what they share.
type Builder struct {
	kinds  map[string]Kind
	logger telemetry.Logger
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	files  *Files
	redis  *redis.Clients
	hashes *basicauth.HashSemaphore
	// answers are those that authRequests keep.
	answers *authrequest.Cache
	// pageBodies lends the memory of the bodies that error pages keep.
	pageBodies *replay.Memory
	held       *held.Registry
}

// NewBuilder returns a builder of all [Kinds].
func NewBuilder(options Options) *Builder {
	if options.Logger == nil {
		options.Logger = telemetry.Discard{}
	}
	b := &Builder{
		kinds: map[string]Kind{}, logger: options.Logger, dial: options.Dial, files: NewFiles(),
		redis:  redis.NewClients(options.Logger),
		hashes: basicauth.NewHashSemaphore(), answers: authrequest.NewCache(),
		pageBodies: replay.NewMemory(errorpages.MemoryBytes), held: options.Held,
	}
	if options.Dial != nil {
		b.redis.Dial = options.Dial
	}
	for _, kind := range Kinds() {
		b.kinds[kind.Name] = kind
	}
	return b
}

// Files returns the files that the middlewares were built from.
func (b *Builder) Files() *Files { return b.files }

// Close closes shared resources. Middlewares that are in use keep working until their requests are done.
func (b *Builder) Close() { b.redis.Close() }

// References finds what a definition names. A nil function finds nothing.
type References struct {
	// Service returns the handler of a service.
	Service func(name string) (http.Handler, error)
	// Middleware returns a middleware, or the members of a chain in their order.
	Middleware func(name string) ([]Middleware, error)
}

// errNotHere is the error of names that cannot be found where a middleware is built.
var errNotHere = errors.New("names nothing that can be found here")

func (r References) service(name string) (http.Handler, error) {
	if r.Service == nil {
		return nil, fmt.Errorf("service %q %w", name, errNotHere)
	}
	return r.Service(name)
}

func (r References) middleware(name string) ([]Middleware, error) {
	if r.Middleware == nil {
		return nil, fmt.Errorf("middleware %q %w", name, errNotHere)
	}
	return r.Middleware(name)
}

// dependencies are what one middleware is built from, beside its options.
type dependencies struct {
	logger telemetry.Logger
	redis  *redis.Clients
	hashes *basicauth.HashSemaphore
	// answers are those that authRequests keep.
	answers *authrequest.Cache
	// pageBodies lends the memory of the bodies that error pages keep.
	pageBodies *replay.Memory
	named      References
	// readFile reads a file that the options name; the middleware is rebuilt when the file changes.
	readFile func(path string) ([]byte, error)
	// dial and held are those of [Options].
	held *held.Registry
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Build makes the middleware of one definition. The name is the qualified one (name@provider), for log records. A
// definition without a kind, with two kinds, or with invalid values is an error that names the option but not the
// middleware; an unsupported kind is an [*UnsupportedError], and a chain [ErrChain]. The files that the definition
// names are added to reads, even if it fails. Nothing is started: see [Starter].
func (b *Builder) Build(name string, config *dynamic.Middleware, named References, reads *Reads) (Middleware, error) {
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
	d := dependencies{
		logger: b.logger, redis: b.redis, hashes: b.hashes, answers: b.answers, pageBodies: b.pageBodies, named: named,
		readFile: reads.ReadFile, dial: b.dial, held: b.held,
	}
	return kind.build(name, reflect.ValueOf(config).Elem().Field(kind.field).Interface(), d)
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

// KindsOf returns the names of all kinds that a definition sets, as in files. A valid definition has one.
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
