// Package provider is where configuration comes from.
//
// In flow the sources that operators edit: files, containers, a cluster; out flow dynamic.Messages, one channel with two
// lanes (configuration and endpoints), which Hub collects: the latest state per provider and the last set per endpoint
// key. A provider translates its source object by object and remembers the results; it never merges with other
// providers, never compiles, and never learns what became of its objects other than by verdicts.
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
	//   - endpoint messages hold the whole set of each key that they mention;
	//   - it returns nil when ctx ends and an error when it cannot go on (it is then started again after a while);
	//   - it never closes the channel and never sends after it has returned.
	Provide(ctx context.Context, messages chan<- dynamic.Message) error
}
