package main

import (
	"context"
	"fmt"

	"github.com/sluiceproxy/sluice/telemetry/otlp"
	"github.com/sluiceproxy/sluice/telemetry/push"
)

// openPush begins to send metrics to a collector, if one is configured.
func (s *system) openPush(ctx context.Context) (pusher, error) {
	if s.config.Metrics == nil || s.config.Metrics.OTLP == nil {
		return nil, nil
	}
	config := s.config.Metrics.OTLP
	exporter, err := otlp.Metrics(ctx, config.GRPC, config.HTTP)
	if err != nil {
		return nil, fmt.Errorf("metrics.otlp: %w", err)
	}
	return push.New(*config, s.metrics.Pushed(), exporter)
}
