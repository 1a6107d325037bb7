package pipeline

import (
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// certificates merges tls.certificates, the only objects that have no name of their own.
type certificates struct {
	// last holds what each provider has sent last.
	last     map[string][]*dynamic.CertificateEntry
	declared map[string][]*certificate
	merged   []*dynamic.CertificateEntry
	changed  bool
}

// certificate is what is kept of one certificate.
type certificate struct {
	// declared is the entry that its provider sent last, kept the one in the merged configuration.
	declared, kept *dynamic.CertificateEntry
	ref            dynamic.Ref
}

// update takes the certificates of one provider. A certificate is recognised by its reference: its file, or its place
// where it is inline. Several entries for one file are distinguished by their order. Retain reports whether a
// certificate stays as it is because the next one is invalid.
func (c *certificates) update(e *edit, retain func(candidate) bool) {
	var entries []*dynamic.CertificateEntry
	if e.configuration.TLS != nil {
		entries = e.configuration.TLS.Certificates
	}
	if last := c.last[e.provider]; sameList(entries, last) || slices.Equal(entries, last) {
		return
	}
	before := c.declared[e.provider]
	known := map[dynamic.Ref][]*certificate{}
	for _, one := range before {
		known[one.ref] = append(known[one.ref], one)
	}
	after := make([]*certificate, 0, len(entries))
	for i, entry := range entries {
		if entry == nil {
			e.refuse(certificateRef(i, &dynamic.CertificateEntry{}, e.provider), empty())
			continue
		}
		own := certificateRef(i, entry, e.provider)
		ref := qualify(own, e.provider)
		var one *certificate
		if same := known[ref]; len(same) > 0 {
			one, known[ref] = same[0], same[1:]
			next := named(entry, ref.Name)
			same := func() bool { return dynamic.Equal(one.kept, next) }
			if !retain(candidate{own: own, merged: ref, current: one.kept, next: next, same: same}) && !same() {
				one.kept = next
				c.change(e, ref)
			}
		} else {
			one = &certificate{kept: named(entry, ref.Name), ref: ref}
			c.change(e, ref)
		}
		one.declared = entry
		after = append(after, one)
	}
	c.compareOrder(e, before, after)
	c.declared[e.provider], c.last[e.provider] = after, entries
	if slices.Contains(entries, nil) {
		c.last[e.provider] = nil // What is refused must be reported each time.
	}
}

// compareOrder notes the certificates that are gone, and those whose place among their neighbours has changed: of two
// certificates for one name the first one counts.
func (c *certificates) compareOrder(e *edit, before, after []*certificate) {
	if slices.Equal(before, after) {
		return
	}
	for i, one := range before {
		if i >= len(after) || after[i] != one {
			c.change(e, one.ref)
		}
	}
	for i, one := range after {
		if i >= len(before) || before[i] != one {
			c.change(e, one.ref)
		}
	}
}

func (c *certificates) change(e *edit, ref dynamic.Ref) {
	c.changed = true
	e.change(ref)
}

// assemble returns the certificates of all providers, in order of precedence.
func (c *certificates) assemble(providers []string) []*dynamic.CertificateEntry {
	if !c.changed {
		return c.merged
	}
	c.changed = false
	var merged []*dynamic.CertificateEntry
	for _, name := range providers {
		for _, one := range c.declared[name] {
			merged = append(merged, one.kept)
		}
	}
	c.merged = merged
	return merged
}

// certificateRef returns the provider's reference of the certificate at a place.
func certificateRef(place int, entry *dynamic.CertificateEntry, provider string) dynamic.Ref {
	if entry.Name != "" {
		return dynamic.Ref{Kind: dynamic.KindCertificate, Name: strings.TrimSuffix(entry.Name, "@"+provider)}
	}
	return entry.Ref(place)
}

// named returns the entry with its merged name.
func named(entry *dynamic.CertificateEntry, name string) *dynamic.CertificateEntry {
	if entry.Name == name {
		return entry
	}
	renamed := *entry
	renamed.Name = name
	return &renamed
}
