package webhook

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Status is what operators see of the injector.
type Status struct {
	// Injected and Failed count pods since the start, Refused requests that were answered with an HTTP error.
	Injected uint64 `json:"injected"`
	Failed   uint64 `json:"failed"`
	Refused  uint64 `json:"refused"`
	// NotReady is why reviews cannot be answered; empty when they can.
	NotReady string `json:"notReady,omitempty"`
	// Skipped counts pods that were not injected, the most frequent first. Beyond 500 pairs of namespace and reason, the
	// namespace is empty.
	Skipped []Skipped `json:"skipped"`
	// CertificateNotAfter and AuthorityNotAfter are when the certificate that is presented ends, and the authority that
	// has signed it; zero when there is none, or, for the authority, when the certificate is from a file.
	CertificateNotAfter time.Time `json:"certificateNotAfter,omitzero"`
	AuthorityNotAfter   time.Time `json:"authorityNotAfter,omitzero"`
	// Reload is the last attempt to read the configuration.
	Reload Reload `json:"reload"`
}

// Skipped counts pods of one namespace that were not injected for one reason.
type Skipped struct {
	Namespace string `json:"namespace"`
	Reason    string `json:"reason"`
	Pods      uint64 `json:"pods"`
}

// Reload is an attempt to read the configuration.
type Reload struct {
	// At is when it was; zero when there was none yet.
	At time.Time `json:"at,omitzero"`
	// Error is empty when it has succeeded. Otherwise the last good configuration is in use, if there was one.
	Error string `json:"error,omitempty"`
}

// maxPairs is the number of pairs of namespace and reason that are counted apart.
const maxPairs = 500

// counts counts decisions. The zero value is ready.
type counts struct {
	mu                        sync.Mutex
	injected, failed, refused uint64
	skipped                   map[pair]uint64
}

type pair struct{ namespace, reason string }

func (c *counts) inject() { c.add(&c.injected) }
func (c *counts) fail()   { c.add(&c.failed) }
func (c *counts) refuse() { c.add(&c.refused) }

func (c *counts) add(to *uint64) {
	c.mu.Lock()
	*to++
	c.mu.Unlock()
}

func (c *counts) skip(namespace, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := pair{namespace, reason}
	if _, known := c.skipped[key]; !known && len(c.skipped) >= maxPairs {
		key.namespace = ""
	}
	if c.skipped == nil {
		c.skipped = map[pair]uint64{}
	}
	c.skipped[key]++
}

// Status returns the counts; the caller adds certificates and the configuration.
func (h *Handler) Status() Status {
	c := &h.counts
	c.mu.Lock()
	defer c.mu.Unlock()
	status := Status{Injected: c.injected, Failed: c.failed, Refused: c.refused, Skipped: []Skipped{}}
	for key, pods := range c.skipped {
		status.Skipped = append(status.Skipped, Skipped{Namespace: key.namespace, Reason: key.reason, Pods: pods})
	}
	slices.SortFunc(status.Skipped, func(a, b Skipped) int {
		return cmp.Or(cmp.Compare(b.Pods, a.Pods), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Reason, b.Reason))
	})
	return status
}
