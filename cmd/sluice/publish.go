package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
	"github.com/sluiceproxy/sluice/xds"
)

// publication publishes services and endpoints to xDS clients (the static option xds).
type publication struct {
	config    *static.XDS
	publisher *xds.Publisher
	server    *xds.Server
}

// newPublication returns what the option xds configures; nil without it. Counters are shown when it serves.
func newPublication(
	config *static.XDS, state func() *pipeline.State, counters *metrics.Metrics, logger telemetry.Logger,
) (*publication, error) {
	if config == nil {
		return nil, nil
	}
	options := xds.ServerOptions{Authenticator: xds.NewIdentities(config.Clients), MaxStreams: config.MaxStreams}
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
// option xds.
func (s *system) publish(ctx context.Context) (serve func(context.Context) error, err error) {
	if s.publication == nil {
		return func(context.Context) error { return nil }, nil
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", s.publication.config.Address)
	if err != nil {
		return nil, fmt.Errorf("xds: %w", err)
	}
	s.logger.Info("listening", "address", listener.Addr().String(), "protocol", "xds")
	return func(ctx context.Context) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		var publishing sync.WaitGroup
		defer publishing.Wait()
		failed := make(chan error, 1)
		publishing.Go(func() {
			failed <- s.publication.publisher.Run(ctx)
			stop()
		})
		err := s.publication.server.Serve(ctx, listener)
		stop()
		return errors.Join(err, <-failed)
	}, nil
}
