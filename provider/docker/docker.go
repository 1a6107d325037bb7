// Package docker reads the labels and addresses of a Docker engine's containers.
//
// Provider follows the engine's events, inspects the containers that they name, and sends dynamic.Messages: routers,
// services and middlewares from labels, and addresses as endpoint sets, so that starting or stopping a container does
// not change the configuration.
//
// An error in a container's labels affects the objects of this container only. While the engine cannot be reached, the
// last state stays in use. The engine is only read, and no connection to a container is made.
package docker

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/docker/constraint"
	"github.com/sluiceproxy/sluice/provider/gotemplate"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Name is the provider's name, the part after @ in the names of its objects.
const Name = "docker"

const (
	// firstDelay and lastDelay bound the delay before reconnecting. It starts short, since an engine that restarts is back
	// within a second.
	firstDelay = 100 * time.Millisecond
	lastDelay  = 10 * time.Second
	// steady is how long a connection must have lasted for the delay to start from firstDelay again. A connection that is
	// refused the events does not.
	steady = 5 * time.Second
	// defaultTimeout is the default of httpClientTimeout.
	defaultTimeout = 30 * time.Second
	// heartbeat is the interval of pings to a quiet engine, which detect a broken connection.
	heartbeat = 15 * time.Second
	// parallel is the number of concurrent inspections.
	parallel = 8
	// slowInspection is how long inspections may make no progress before the results so far are used.
	slowInspection = 3 * time.Second
	// grace is how long a container that received a stop signal is taken to be stopping.
	grace = 5 * time.Minute
)

// Provider is the provider of containers.
type Provider struct {
	config      static.Docker
	logger      telemetry.Logger
	constraints constraint.Expression
	rule        *gotemplate.Template
	// connect returns a connection to the engine.
	connect func() (engine, error)
	// resolve finds the address of the engine's host.
	resolve func(ctx context.Context) netip.Addr
	// self is the host name, which in a container is the beginning of its id.
	self string

	// The fields below are used by Provide only. They survive a restart of the provider, which keeps its last state.
	memory      *memory
	hostAddress netip.Addr
	containers  map[string]*container
	// uninspected maps containers that could not be inspected to the reason.
	uninspected map[string]string
	// leaving maps containers that received a stop signal to the end of their grace period.
	leaving map[string]time.Time
	// excluded maps excluded containers to the reason.
	excluded  map[string]string
	last      *dynamic.Configuration
	published map[string][]dynamic.Endpoint
	reason    string
}

// New returns a provider for an engine. Invalid options are an error that names them; the connection is made by
// Provide.
func New(config static.Docker, logger telemetry.Logger) (*Provider, error) {
	constraints, err := constraint.Parse(config.Constraints)
	if err != nil {
		return nil, fmt.Errorf("providers.docker.constraints: %w", err)
	}
	rule, err := newRule(config.DefaultRule)
	if err != nil {
		return nil, fmt.Errorf("providers.docker.%w", err)
	}
	connect, err := newConnector(config)
	if err != nil {
		return nil, fmt.Errorf("providers.docker.%w", err)
	}
	self, err := os.Hostname()
	if err != nil {
		logger.Debug("the host has no name", "error", err)
	}
	return &Provider{
		config: config, logger: logger, constraints: constraints, rule: rule, connect: connect, resolve: hostAddress,
		self: self, memory: newMemory(), containers: map[string]*container{}, uninspected: map[string]string{},
		leaving: map[string]time.Time{}, published: map[string][]dynamic.Endpoint{},
	}, nil
}

// isSelf reports whether a container is the one that Sluice runs in. It gets no router by default, since requests to it
// would loop.
func (p *Provider) isSelf(c *container) bool {
	return len(p.self) >= 12 && strings.HasPrefix(c.id, p.self)
}
