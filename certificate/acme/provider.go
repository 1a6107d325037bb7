package acme

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

const (
	// sendInterval is the time between two messages with new certificates, while many are issued.
	sendInterval = 500 * time.Millisecond
	// namesInName is how many names of a certificate are in the name of its object.
	namesInName = 3
)

// Provider sends the certificates of a resolver. It is a provider.Provider.
type Provider struct{ *resolver }

// Provider returns the provider of the certificates of a resolver, or nil if it cannot work as it is configured.
func (m *Resolvers) Provider(name string) *Provider {
	if r := m.resolvers[name]; r != nil {
		return &Provider{r}
	}
	return nil
}

// Provide sends the certificates, first as soon as the storage has been read.
func (c *Provider) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	var sent []*dynamic.CertificateEntry
	entries := map[uint64]*dynamic.CertificateEntry{}
	first := true
	for {
		next := c.changed.wait()
		if list, ready := c.entries(entries); ready && (first || !slices.Equal(list, sent)) {
			first, sent = false, list
			message := dynamic.Message{Provider: c.name + ProviderSuffix, Configuration: &dynamic.Configuration{
				TLS: &dynamic.TLSConfiguration{Certificates: list},
			}}
			select {
			case messages <- message:
			case <-ctx.Done():
				return nil
			}
			_ = wait(ctx, sendInterval) // The end of ctx is seen below.
		}
		select {
		case <-next:
		case <-ctx.Done():
			return nil
		}
	}
}

// entries returns the certificates that have not ended. Known entries keep their pointers.
func (c *Provider) entries(known map[uint64]*dynamic.CertificateEntry) ([]*dynamic.CertificateEntry, bool) {
	if !c.state.isLoaded() && !c.isFaulty() {
		return nil, false
	}
	now := time.Now()
	var list []*dynamic.CertificateEntry
	present := map[uint64]bool{}
	for _, one := range c.state.list() {
		if now.After(one.leaf.NotAfter) {
			continue
		}
		entry := known[one.revision]
		if entry == nil {
			entry = &dynamic.CertificateEntry{
				Name:          entryName(one) + "@" + c.name + ProviderSuffix,
				Certificate:   dynamic.Certificate{CertFile: one.record.Chain, KeyFile: one.record.Key},
				FilesRevision: one.revision,
			}
			known[one.revision] = entry
		}
		present[one.revision] = true
		list = append(list, entry)
	}
	for revision := range known {
		if !present[revision] {
			delete(known, revision)
		}
	}
	return list, true
}

// entryName names a certificate by its names, and by its ID where they are many.
func entryName(c *issuedCertificate) string {
	if len(c.names) <= namesInName {
		return strings.Join(c.names, ",")
	}
	return strings.Join(c.names[:namesInName], ",") + ",+" + strconv.Itoa(len(c.names)-namesInName) + "-" + c.id[:8]
}

func (s *state) isLoaded() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.loaded
}

// isFaulty reports whether the resolver cannot work now.
func (r *resolver) isFaulty() bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.fault != nil
}
