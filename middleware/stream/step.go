package stream

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Step is a TCP middleware. It is safe for concurrent use.
type Step interface {
	// Admit counts a connection in. What it returns is called when the connection ends, and may be nil. The refusal is
	// zero for a connection that is admitted.
	Admit(client netip.Addr) (release func(), refusal Refusal)
}

// Refusal is why a connection is not admitted.
type Refusal struct {
	// Code is [telemetry.CodeForbidden] for a client that is not allowed, and [telemetry.CodeLimited] for one that has or
	// opens too many connections.
	Code telemetry.Code
	// Reason says it in words.
	Reason string
}

func forbidden(reason string) Refusal { return Refusal{telemetry.CodeForbidden, reason} }

func limited(reason string) Refusal { return Refusal{telemetry.CodeLimited, reason} }

// Warner is a Step that warns about its definition.
type Warner interface {
	// Warnings returns one sentence each, for the verdict on the middleware.
	Warnings() []string
}

// New returns the step of a definition. before is the step of the former definition, or nil: if both are of one kind
// the new one goes on with its state. A definition without a kind, with two kinds, or with invalid values is an error
// that names the option but not the middleware.
func New(definition *dynamic.TCPMiddleware, before Step) (Step, error) {
	var kinds []string
	var step Step
	var err error
	if config := definition.IPAllowList; config != nil {
		kinds = append(kinds, "ipAllowList")
		step, err = newAllowList("ipAllowList", config)
	}
	if config := definition.IPWhiteList; config != nil {
		kinds = append(kinds, "ipWhiteList")
		step, err = newAllowList("ipWhiteList", config)
	}
	if config := definition.InFlightConn; config != nil {
		kinds = append(kinds, "inFlightConn")
		step, err = newInFlight(config, before)
	}
	if config := definition.RateLimit; config != nil {
		kinds = append(kinds, "rateLimit")
		step, err = newRateLimit(config, before)
	}
	switch {
	case len(kinds) == 0:
		return nil, errors.New("no kind of middleware is set")
	case len(kinds) > 1:
		return nil, fmt.Errorf("one kind of middleware is wanted, but %s are set", strings.Join(kinds, ", "))
	case err != nil:
		return nil, err
	}
	return step, nil
}

// key returns the form of an address under which a client is counted.
func key(client netip.Addr) netip.Addr { return client.Unmap().WithZone("") }
