// Package docker reads the labels of a Docker engine's containers.
//
// In flow the engine's events and what it tells about the containers that they name; out flow dynamic.Messages: the
// routers, services and middlewares that labels declare, and the containers' addresses as endpoint sets, so that a
// container that comes or goes touches neither the configuration nor its neighbours.
//
// Whatever is wrong with a container's labels costs that container's objects. While the engine can't be reached,
// everything stays as it was. The package never changes anything in the engine, and never connects to a container.
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

// Name is the provider's name, the part behind @ of the names of its objects.
const Name = "docker"

const (
	// firstDelay and lastDelay bound the pauses between attempts to reach an engine that is gone: short at first, since an
	// engine that is restarted is back within a second.
	firstDelay = 100 * time.Millisecond
	lastDelay  = 10 * time.Second
	// steady is how long a connection must have lasted for the pauses to begin anew; one that is refused the events, for
	// example, does not.
	steady = 5 * time.Second
	// patience is how long the engine may take for an answer where httpClientTimeout says nothing.
	patience = 30 * time.Second
	// heartbeat is how often a quiet engine is asked whether it is still there, which a broken connection does not tell.
	heartbeat = 15 * time.Second
	// parallel is how many containers are inspected at a time.
	parallel = 8
	// slowInspection is how long the engine may say nothing while containers are inspected before the others go on.
	slowInspection = 3 * time.Second
	// grace is how long a container that was asked to end is believed to be about to.
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
	// self is the name of the host that Sluice runs on, which in a container is the beginning of its id.
	self string

	// What follows belongs to Provide, and outlives it, so that a provider that is started again keeps its last state.
	memory      *memory
	hostAddress netip.Addr
	containers  map[string]*container
	// uninspected are the containers that the engine could not tell about, with the reason.
	uninspected map[string]string
	// leaving are the containers that have been asked to end, with the time until which that counts.
	leaving map[string]time.Time
	// left says why containers take no part.
	left      map[string]string
	last      *dynamic.Configuration
	published map[string][]dynamic.Endpoint
	version   uint64
	reason    string
}

// New returns a provider for the engine that config names. Options that can't work are an error that names them;
// whether the engine can be reached is found out by Provide.
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

// isSelf tells whether a container is the one that Sluice runs in. It gets no router by default: a request to it would
// come back for ever.
func (p *Provider) isSelf(c *container) bool {
	return len(p.self) >= 12 && strings.HasPrefix(c.id, p.self)
}
