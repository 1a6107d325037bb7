// Package provider defines the sources of configuration.
//
// A Provider watches one source (files, containers, a cluster), translates it object by object, and sends
// dynamic.Messages: its whole configuration, or sets of endpoints. Hub runs the providers and collects the latest state
// of each. Providers are independent of each other; merging and compiling are the pipeline's.
package provider

import (
	"context"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Provider watches one source.
type Provider interface {
	// Provide sends the source's state until ctx ends. Its duties:
	//   - it sends its full state first, even if that is empty, and then after each change;
	//   - it may repeat itself, and an object that has not changed keeps its pointer;
	//   - what cannot be read or understood changes nothing else: the last good state of that part is sent again with a
	//     verdict;
	//   - endpoint messages hold the whole set of each key that they mention; a set is sent when it has changed, and the
	//     last message counts;
	//   - it returns nil when ctx ends and an error when it cannot go on (it is then started again after a while);
	//   - it never closes the channel and never sends after it has returned.
	Provide(ctx context.Context, messages chan<- dynamic.Message) error
}
