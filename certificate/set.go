package certificate

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Entry is one certificate to load.
type Entry struct {
	// Name identifies the entry in Problems.
	Name string
	// Certificate holds or names certificate and key.
	Certificate dynamic.Certificate
	// Default marks the certificate that is used if no other matches (tls.stores.default.defaultCertificate). The first
	// usable one is used.
	Default bool
	// EntryPoints are the names of the entrypoints to which the certificate belongs; none means all of them, except for
	// listeners of providers. Of those for a listener, the first usable one is its default certificate.
	EntryPoints []string
	// Hosts are names, also with a wildcard of one label, for which the certificate is presented in preference to those
	// that have the name themselves.
	Hosts []string
	// Resolver is the name of the resolver that has obtained the certificate; empty for a configured one.
	Resolver string
	// Obtained, in place of Certificate, makes the default certificate of one that a resolver has obtained, if there is
	// one among the entries.
	Obtained *Obtained
	// FilesRevision identifies the contents of the files that Certificate names: with the same one the files are not read
	// again. 0 means that it is not known.
	FilesRevision uint64
}

// Obtained names a certificate that a resolver obtains (tls.stores.default.defaultGeneratedCert).
type Obtained struct {
	Resolver string
	// Names are all names that it has to have.
	Names []string
}

// Problem is an error of one entry.
type Problem struct {
	// Index is the index of the entry; -1 for the generated certificate.
	Index int
	Name  string
	// Warning is set if the certificate is used nevertheless.
	Warning bool
	// Err does not contain the name.
	Err error
}

// Set is an immutable choice of certificates by SNI.
type Set struct {
	exact    map[string][]*Pair
	wildcard map[string][]*Pair
	// assigned is what entries say in Hosts, nil for none.
	assigned *Set
	// shared is consulted next, after the certificates of an entrypoint, and nil for a listener; own holds the sets of
	// entrypoints and listeners with certificates of their own, and none is that of other listeners.
	shared    *Set
	own       map[string]*Set
	none      *Set
	defaults  []*Pair
	generated *Pair
	loaded    map[digest]*Pair
	// resolvers holds the resolver of each certificate that one has obtained.
	resolvers map[*Pair]string
	// read holds the certificates that were read from files with a known revision.
	read map[fileVersion]digest
	// entries holds the certificate of each entry; nil for one that is not used or names what a resolver obtains.
	entries []*Pair
}

// fileVersion identifies the contents of the files of a certificate.
type fileVersion struct {
	certificate dynamic.Certificate
	revision    uint64
}

func emptySet(shared *Set) *Set {
	return &Set{
		exact: map[string][]*Pair{}, wildcard: map[string][]*Pair{},
		shared: shared, own: map[string]*Set{}, loaded: map[digest]*Pair{}, read: map[fileVersion]digest{},
		resolvers: map[*Pair]string{},
	}
}

// NewSet reads the certificates of entries. Unusable ones are reported as Problems and left out. Unchanged
// certificates and the generated default are taken over from previous, which may be nil.
func NewSet(entries []Entry, previous *Set) (*Set, []Problem) {
	now := time.Now()
	b := builder{set: emptySet(nil), previous: previous, now: now}
	b.set.entries = make([]*Pair, len(entries))
	for i, entry := range entries {
		if entry.Obtained == nil {
			b.add(i, entry)
		}
	}
	for _, entry := range entries {
		if entry.Obtained != nil {
			b.addObtained(entry.Obtained)
		}
	}
	b.generate()
	b.sort(b.set)
	for name, own := range b.set.own {
		if own.generated = b.set.generated; !dynamic.NamesListener(name) {
			own.defaults = b.set.defaults
		}
		b.sort(own)
	}
	b.set.none = emptySet(nil)
	b.set.none.generated = b.set.generated
	return b.set, b.problems
}

// On returns the choice on one entrypoint: its own certificates first, and then those of all entrypoints. On a listener
// of a provider (see dynamic.NamesListener) it is its own certificates alone, of which the first is the default, since
// others may belong to other tenants. It does not allocate.
func (s *Set) On(entryPoint string) *Set {
	if own, ok := s.own[entryPoint]; ok {
		return own
	}
	if dynamic.NamesListener(entryPoint) && s.none != nil {
		return s.none
	}
	return s
}

// Get returns the certificate for a client: one that is assigned to the SNI, else one with the SNI as its name, else
// one with a matching wildcard for one label (RFC 6125, section 6.4.3), else, unless strict is set, the default one. Of
// several for one name it prefers the first that the client supports; the order is: valid ones, those that are not the
// default, those that end last. It returns nil when strict is set and no certificate names the SNI. It does not
// allocate if there is one candidate.
func (s *Set) Get(hello *tls.ClientHelloInfo, strict bool) *tls.Certificate {
	if found := s.lookup(hello.ServerName); len(found) > 0 {
		return supported(found, hello).present()
	}
	if strict {
		return nil
	}
	if len(s.defaults) > 0 {
		return s.defaults[0].present()
	}
	if s.generated == nil {
		return nil
	}
	return s.generated.present()
}

// Covers reports whether a certificate names a host, which may be a wildcard of one label, such as *.example.com.
func (s *Set) Covers(host string) bool { return len(s.lookup(host)) > 0 }

// Configures reports whether a configured certificate, rather than one that a resolver has obtained, names a host, on
// all entrypoints, and is valid.
func (s *Set) Configures(host string) bool {
	now := time.Now()
	for _, c := range s.lookup(host) {
		if _, obtained := s.resolvers[c]; !obtained && now.Before(c.Leaf.NotAfter) {
			return true
		}
	}
	return false
}

// lookup returns the certificates that name serverName.
func (s *Set) lookup(serverName string) []*Pair {
	// A name has at most 255 bytes (RFC 1035, section 2.3.4), so folding its case does not allocate.
	var buffer [256]byte
	if serverName == "" || len(serverName) > len(buffer) {
		return nil
	}
	name := buffer[:copy(buffer[:], serverName)]
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			name[i] = c + 'a' - 'A'
		}
	}
	name = bytes.TrimSuffix(name, []byte("."))
	dot := bytes.IndexByte(name, '.')
	for ; s != nil; s = s.shared {
		if s.assigned != nil {
			if found := s.assigned.find(name, dot); len(found) > 0 {
				return found
			}
		}
		if found := s.find(name, dot); len(found) > 0 {
			return found
		}
	}
	return nil
}

// find returns the certificates of the set itself for a name in lower case, whose first dot is at an index.
func (s *Set) find(name []byte, dot int) []*Pair {
	if found := s.exact[string(name)]; len(found) > 0 || dot <= 0 {
		return found
	}
	return s.wildcard[string(name[dot+1:])]
}

func supported(candidates []*Pair, hello *tls.ClientHelloInfo) *Pair {
	if len(candidates) > 1 {
		for _, candidate := range candidates {
			if hello.SupportsCertificate(candidate.plain) == nil {
				return candidate
			}
		}
	}
	return candidates[0]
}

// builder collects a Set.
type builder struct {
	set      *Set
	previous *Set
	now      time.Time
	problems []Problem
}

func (b *builder) problem(index int, name string, warning bool, err error) {
	b.problems = append(b.problems, Problem{Index: index, Name: name, Warning: warning, Err: err})
}

func (b *builder) add(index int, entry Entry) {
	pair, err := b.loadVersion(entry)
	if err != nil {
		b.problem(index, entry.Name, false, err)
		return
	}
	b.set.entries[index] = pair
	switch {
	case b.now.After(pair.Leaf.NotAfter):
		b.problem(index, entry.Name, true, fmt.Errorf("the certificate expired on %s",
			pair.Leaf.NotAfter.UTC().Format(time.DateTime)))
	case b.now.Before(pair.Leaf.NotBefore):
		b.problem(index, entry.Name, true, fmt.Errorf("the certificate is valid from %s on",
			pair.Leaf.NotBefore.UTC().Format(time.DateTime)))
	}
	if entry.Resolver != "" {
		b.set.resolvers[pair] = entry.Resolver
	}
	if entry.Default {
		b.set.defaults = append(b.set.defaults, pair)
	}
	names := namesOf(pair.Leaf)
	isDefault := entry.Default
	if len(entry.EntryPoints) == 0 {
		b.set.index(names, pair)
		b.set.assign(entry.Hosts, pair)
	}
	for _, entryPoint := range entry.EntryPoints {
		own := b.own(entryPoint)
		own.index(names, pair)
		own.assign(entry.Hosts, pair)
		if dynamic.NamesListener(entryPoint) && len(own.defaults) == 0 {
			own.defaults, isDefault = []*Pair{pair}, true
		}
	}
	if len(names)+len(entry.Hosts) == 0 && !isDefault {
		b.problem(index, entry.Name, true, fmt.Errorf("the certificate names no host, so that no client will see it"))
	}
}

// own returns the certificates of an entrypoint or listener.
func (b *builder) own(entryPoint string) *Set {
	if b.set.own[entryPoint] == nil {
		shared := b.set
		if dynamic.NamesListener(entryPoint) {
			shared = nil
		}
		b.set.own[entryPoint] = emptySet(shared)
	}
	return b.set.own[entryPoint]
}

// addObtained adds the certificate of a resolver with some names to the default ones, the one that ends last.
func (b *builder) addObtained(wanted *Obtained) {
	var best *Pair
	for pair, resolver := range b.set.resolvers {
		if resolver != wanted.Resolver || b.now.After(pair.Leaf.NotAfter) ||
			slices.ContainsFunc(wanted.Names, func(name string) bool { return !slices.Contains(namesOf(pair.Leaf), name) }) {
			continue
		}
		if best == nil || b.compare(pair, best) < 0 {
			best = pair
		}
	}
	if best != nil {
		b.set.defaults = append(b.set.defaults, best)
	}
}

func (b *builder) sort(set *Set) {
	if set.assigned != nil {
		b.sort(set.assigned)
	}
	for _, byName := range []map[string][]*Pair{set.exact, set.wildcard} {
		for name := range maps.Keys(byName) {
			slices.SortStableFunc(byName[name], b.compare)
		}
	}
}

// assign presents a certificate for hosts.
func (s *Set) assign(hosts []string, pair *Pair) {
	if len(hosts) == 0 {
		return
	}
	if s.assigned == nil {
		s.assigned = emptySet(nil)
	}
	s.assigned.index(hosts, pair)
}

func (s *Set) index(names []string, pair *Pair) {
	for _, name := range names {
		byName := s.exact
		if rest, ok := strings.CutPrefix(name, "*."); ok {
			name, byName = rest, s.wildcard
		}
		if !slices.Contains(byName[name], pair) {
			byName[name] = append(byName[name], pair)
		}
	}
}

// loadVersion loads a certificate unless it is known that its files have not changed since they were read. Files that
// have become unreadable do not take away a certificate that stays in use.
func (b *builder) loadVersion(entry Entry) (*Pair, error) {
	if entry.FilesRevision == 0 {
		pair, _, err := b.load(entry.Certificate)
		return pair, err
	}
	version := fileVersion{entry.Certificate, entry.FilesRevision}
	if b.previous != nil {
		if id, known := b.previous.read[version]; known {
			b.set.read[version], b.set.loaded[id] = id, b.previous.loaded[id]
			return b.previous.loaded[id], nil
		}
	}
	pair, id, err := b.load(entry.Certificate)
	if err == nil {
		b.set.read[version] = id
	}
	return pair, err
}

// load parses a certificate unless it has been parsed before.
func (b *builder) load(c dynamic.Certificate) (pair *Pair, id digest, err error) {
	certPEM, keyPEM, id, err := readPair(c)
	if err != nil {
		return nil, id, err
	}
	pair = b.set.loaded[id]
	if pair == nil && b.previous != nil {
		pair = b.previous.loaded[id]
	}
	if pair == nil {
		parsed, err := parsePair(c, certPEM, keyPEM)
		if err != nil {
			return nil, id, err
		}
		pair = newPair(parsed)
	}
	b.set.loaded[id] = pair
	return pair, id, nil
}

func (b *builder) generate() {
	if b.previous != nil && b.previous.generated != nil &&
		b.now.Before(b.previous.generated.Leaf.NotAfter.Add(-selfSignedRenewal)) {
		b.set.generated = b.previous.generated
		return
	}
	generated, err := selfSign(b.now)
	if err != nil {
		b.problem(-1, selfSignedName, false, err)
		return
	}
	b.set.generated = newPair(generated)
}

// compare orders the certificates for one name. It depends on their content only, not on the order of files or maps.
func (b *builder) compare(x, y *Pair) int {
	rank := func(c *Pair) int {
		switch {
		case b.now.After(c.Leaf.NotAfter) || b.now.Before(c.Leaf.NotBefore):
			return 2
		case slices.Contains(b.set.defaults, c):
			return 1
		}
		return 0
	}
	if d := rank(x) - rank(y); d != 0 {
		return d
	}
	if d := y.Leaf.NotAfter.Compare(x.Leaf.NotAfter); d != 0 {
		return d
	}
	return bytes.Compare(x.Leaf.Raw, y.Leaf.Raw)
}

// namesOf returns the names of a certificate in lower case. The common name is used only without alternative names of
// any kind, as clients do (RFC 6125, section 6.4.4).
func namesOf(leaf *x509.Certificate) []string {
	names := leaf.DNSNames
	if len(names) == 0 && len(leaf.IPAddresses) == 0 && len(leaf.URIs) == 0 && len(leaf.EmailAddresses) == 0 &&
		leaf.Subject.CommonName != "" {
		names = []string{leaf.Subject.CommonName}
	}
	lower := make([]string, 0, len(names))
	for _, name := range names {
		lower = append(lower, strings.TrimSuffix(strings.ToLower(name), "."))
	}
	return lower
}

// Leaves returns the leaves of all loaded certificates, sorted by serial number, without the generated one.
func (s *Set) Leaves() []*x509.Certificate {
	var leaves []*x509.Certificate
	for _, loaded := range s.loaded {
		leaves = append(leaves, loaded.Leaf)
	}
	slices.SortFunc(leaves, func(a, b *x509.Certificate) int { return a.SerialNumber.Cmp(b.SerialNumber) })
	return leaves
}

// Pair returns the certificate of an entry by its index; nil for one that is not used, or that names what a resolver
// obtains.
func (s *Set) Pair(index int) *Pair { return s.entries[index] }
