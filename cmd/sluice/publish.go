package main

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider/kubernetes"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
	"github.com/sluiceproxy/sluice/xds"
)

// publishRetry is the time between two attempts to serve xDS clients.
const publishRetry = time.Second

// publication publishes services and endpoints to xDS clients (the static option xds).
type publication struct {
	config    *static.XDS
	publisher *xds.Publisher
	server    *xds.Server
	// bind listens on the address of an option.
	bind func(ctx context.Context, name, address string) (net.Listener, error)
}

// newPublication returns what the option xds configures; nil without it. Counters are shown when it serves. Unless it
// serves, no cluster is needed for the tokens of clients.
func newPublication(
	all *static.Configuration, state func() *pipeline.State, counters *metrics.Metrics, logger telemetry.Logger,
	serves bool,
) (*publication, error) {
	config := all.XDS
	if config == nil {
		return nil, nil
	}
	var tokens xds.TokenReviewer
	if config.TokenReview != nil && serves {
		clusters := clustersOf(&all.Providers)
		clusters.Logger = logger
		reviewer, err := kubernetes.NewTokenReviewer(clusters, config.TokenReview.Audience)
		if err != nil {
			return nil, fmt.Errorf("xds.tokenReview: %w", err)
		}
		tokens = reviewer
	}
	options := xds.ServerOptions{Authenticator: xds.NewIdentities(config, tokens), MaxStreams: config.MaxStreams}
	if config.TLS != nil {
		var err error
		if options.TLS, err = xds.NewTLS(*config.TLS, logger); err != nil {
			return nil, err
		}
	}
	publisher := xds.NewPublisher(xds.Options{
		State: state, Logger: logger, Meter: counters.XDS(), Views: xds.Views(config.Clients), Started: time.Now(),
	})
	return &publication{config: config, publisher: publisher, server: xds.NewServer(publisher, options)}, nil
}

// publish listens for xDS clients and returns what serves them until its context ends; it does nothing without the
// option xds. It fails when it cannot listen now. What fails later is logged and tried again: the router goes on.
func (s *system) publish(ctx context.Context) (serve func(context.Context), err error) {
	if s.publication == nil {
		return func(context.Context) {}, nil
	}
	s.publication.bind = s.auxiliaries.listen
	if !s.config.XDS.Authenticated() {
		s.publication.bind = s.listenReserved
	}
	listener, err := s.publication.listen(ctx)
	if err != nil {
		return nil, err
	}
	s.logger.Info("listening", "address", listener.Addr().String(), "protocol", "xds")
	return func(ctx context.Context) {
		var publishing sync.WaitGroup
		defer publishing.Wait()
		publishing.Go(func() { s.publication.publisher.Run(ctx) })
		s.publication.serve(ctx, listener, s.logger)
	}, nil
}

func (p *publication) listen(ctx context.Context) (net.Listener, error) {
	listener, err := p.bind(ctx, "xds.address", p.config.Address)
	if err != nil {
		return nil, fmt.Errorf("xds: %w", err)
	}
	return listener, nil
}

// serve serves xDS clients until ctx ends, with a listener of its own when the first one has failed.
func (p *publication) serve(ctx context.Context, listener net.Listener, logger telemetry.Logger) {
	for ctx.Err() == nil {
		var err error
		if listener == nil {
			listener, err = p.listen(ctx)
		}
		if err == nil {
			err = p.server.Serve(ctx, listener)
		}
		if listener = nil; err == nil {
			continue
		}
		logger.Error("xDS is not served; trying again", "error", err, "after", publishRetry.String())
		timer := time.NewTimer(publishRetry)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}
