// Package pipeline is the single writer: the one loop that turns what providers declare into what serves.
//
// It reads provider.Updates from the hub, on two lanes. Configurations are merged (name@provider), compared object by
// object, compiled, and activated once the endpoint sets that they newly need have arrived; endpoint sets are applied
// as they come. It publishes verdicts on the declared objects and an immutable State, which the API reads without
// waiting for the loop.
package pipeline

import (
	"context"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// Source is where configurations and endpoint sets come from; provider.Hub is one.
type Source interface {
	// Run collects until ctx ends.
	Run(ctx context.Context) error
	// Changed returns a channel that holds a value when there is something to take.
	Changed() <-chan struct{}
	// Take returns the latest state, and what has changed since the last Take.
	Take() provider.Update
}

// Compiler makes a table of a merged configuration; router.Compiler is one.
type Compiler interface {
	Validator
	// Compile makes a table that serves after its Activate. It is called by one goroutine only. A Compiled that a newer
	// configuration supersedes is dropped.
	Compile(input router.Input) router.Compiled
}

// EndpointSink receives endpoint sets: loadbalancer's registry, and whatever else publishes them.
type EndpointSink interface {
	// Apply receives the next version of a set, in the order in which the source delivers them: an added or a changed set
	// is whole, a removed one is Deleted, and one that is replaced before it is delivered is left out. Set and endpoints
	// are shared and must not be changed. Apply is called on the loop, which also takes endpoints out of pools, and must
	// not block. A sink with slow work keeps the last set of each key and does that work on a goroutine of its own.
	Apply(set dynamic.EndpointSet)
}

// Endpoints makes snapshots of the endpoint sets; loadbalancer's registry is one.
type Endpoints interface {
	EndpointSink
	// Known reports whether a set of this key has been applied.
	Known(key string) bool
	// Flush publishes the snapshots that are due and returns when to call it again; zero means that nothing is held back.
	Flush(now time.Time) (next time.Time)
	// Changed returns a channel that holds a value when Flush has something to do that no set brought: an endpoint failed
	// or recovered. It may be nil.
	Changed() <-chan struct{}
}

// Resolver resolves servers that are given by name; the DNS provider is one.
type Resolver interface {
	// Watch says which keys (dns/name:port) are wanted from now on; it replaces what was wanted before.
	Watch(keys []string)
}

// Files reports which middlewares were made of files that have changed since; middleware.Files implements it.
type Files interface {
	// Changed returns a channel that holds a value when Stale has something to say.
	Changed() <-chan struct{}
	// Stale returns qualified names, each once for a change.
	Stale() []string
}

// VerdictSink receives the verdicts on declared objects. Publish gets every verdict of each object whose verdicts
// are new or have changed, and one with status Accepted for an object that has recovered or is gone. It must not block.
type VerdictSink interface {
	Publish(verdicts []dynamic.Verdict)
}

// VerdictSource has verdicts of its own on objects of the active configuration: a consumer that cannot use an object
// which the router can.
type VerdictSource interface {
	// Changed returns a channel that holds a value when Verdicts returns others than before.
	Changed() <-chan struct{}
	// Verdicts returns all verdicts. The origins of declared objects are filled in.
	Verdicts() []dynamic.Verdict
}

// Metrics records generations and verdicts; metrics.Metrics does.
type Metrics interface {
	// Reloaded records the activation of a table.
	Reloaded(reload metrics.Reload)
	// SetQuarantined records how many objects are quarantined.
	SetQuarantined(objects int)
	// SetRetained records how many objects keep their last valid definition.
	SetRetained(objects int)
}

// Options says what a Pipeline is made of.
type Options struct {
	// Source, Compiler, Endpoints and Logger are needed.
	Source    Source
	Compiler  Compiler
	Endpoints Endpoints
	Logger    telemetry.Logger
	// EndpointSinks receive every endpoint set after Endpoints has.
	EndpointSinks []EndpointSink
	// Resolver may be nil; keys dns/name:port are then waited for like all others.
	Resolver Resolver
	// Files may be nil.
	Files Files
	// Sinks get every verdict.
	Sinks []VerdictSink
	// Verdicts are consumers with verdicts of their own.
	Verdicts []VerdictSource
	// Metrics may be nil.
	Metrics Metrics
	// Precedence is the option providers.precedence: where only one provider can define an object, the one that is named
	// first does. Providers that are not named follow in order of their names.
	Precedence []string
	// MaxHold is how long a burst of configuration changes is held at most (providers.providersThrottleDuration, where an
	// operator has set it); 0 means DefaultMaxHold.
	MaxHold time.Duration
}
