package main

import (
	"context"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
)

// fixed provides objects that are made once, from the static configuration.
type fixed struct{ configuration *dynamic.Configuration }

// Provide sends the objects and waits for ctx to end.
func (f fixed) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	select {
	case messages <- dynamic.Message{ProviderName: pipeline.InternalProvider, Configuration: f.configuration}:
	case <-ctx.Done():
		return nil
	}
	<-ctx.Done()
	return nil
}
