package router

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/sluiceproxy/sluice/middleware"
)

// MiddlewareCounts are the counts that a middleware keeps for one owner, such as those of rateLimit.
type MiddlewareCounts struct {
	// Name is the qualified name of the middleware.
	Name string `json:"name"`
	// Owner is "router NAME" or "service NAME", and empty where several share the counts. That of a TCP middleware, whose
	// counts all routers share, is "tcp".
	Owner string `json:"owner,omitempty"`
	// Nth is the place among those that the owner lists of the middleware, from 0.
	Nth int `json:"nth,omitempty"`
	// Data is for the same middleware in another process, and may be secret.
	Data []byte `json:"data"`
}

// middlewareKey identifies MiddlewareCounts.
type middlewareKey struct {
	name, owner string
	nth         int
}

// countsTransfer is an instance whose counts another process can go on with.
type countsTransfer interface {
	// Export returns the counts of at most limit sources, and of how many; nil without any.
	Export(limit int) (data []byte, sources int)
	// Import goes on with the counts of another process. It changes nothing where it has other options there.
	Import(data []byte) error
}

// transfers returns the instances of the table that serves whose counts another process can go on with.
func (m *middlewareInstances) transfers() map[middlewareKey]countsTransfer {
	serving, uses := m.inUse()
	names := make(map[middleware.Middleware]string, len(serving))
	for name, one := range serving {
		names[one] = name
	}
	found := map[middlewareKey]countsTransfer{}
	for instance, of := range uses {
		name, known := names[of.middleware]
		if transfer, ok := instance.(countsTransfer); ok && known {
			found[middlewareKey{name, of.owner, of.nth}] = transfer
		}
	}
	return found
}

// ownerTCP is the owner of the counts of TCP middlewares.
const ownerTCP = "tcp"

// countsTransfers returns the HTTP and TCP middlewares of the table that serves whose counts another process can go on
// with.
func (c *Compiler) countsTransfers() map[middlewareKey]countsTransfer {
	found := c.instances.transfers()
	serving := c.tcp.serving.Load()
	if serving == nil {
		return found
	}
	for name, step := range *serving {
		if transfer, ok := step.(countsTransfer); ok {
			found[middlewareKey{name: name, owner: ownerTCP}] = transfer
		}
	}
	return found
}

// ExportCounts returns what the middlewares of the table that serves have counted, of at most limit sources, and
// whether there are no more. It may be called from any goroutine.
func (c *Compiler) ExportCounts(limit int) (counts []MiddlewareCounts, all bool) {
	for key, from := range c.countsTransfers() {
		data, sources := from.Export(limit)
		if data == nil {
			continue
		}
		limit -= sources
		counts = append(counts, MiddlewareCounts{Name: key.name, Owner: key.owner, Nth: key.nth, Data: data})
	}
	slices.SortFunc(counts, func(a, b MiddlewareCounts) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Nth, b.Nth))
	})
	return counts, limit > 0
}

// ImportCounts has the middlewares of the table that serves go on with the counts of another process, before the first
// request. Counts of a middleware or owner that there is not are left out. It may be called from any goroutine.
func (c *Compiler) ImportCounts(counts []MiddlewareCounts) error {
	to := c.countsTransfers()
	var failed []error
	for i := range counts {
		one := &counts[i]
		transfer := to[middlewareKey{one.Name, one.Owner, one.Nth}]
		if transfer == nil {
			continue
		}
		if err := transfer.Import(one.Data); err != nil {
			failed = append(failed, fmt.Errorf("middleware %s: %w", one.Name, err))
		}
	}
	return errors.Join(failed...)
}
