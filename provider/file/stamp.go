package file

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
)

// stamp is a copy of an object with the revision of its files.
type stamp struct {
	revision uint64
	object   any
}

// stamping sets the revision of the files that objects name, in copies of these objects. A copy keeps its pointer while
// object and files are unchanged.
type stamping struct {
	before, after map[any]stamp
	named         map[string]bool
	changed       bool
}

// stamp replaces the objects that name files by their stamped copies and reports whether one is new.
func (p *Provider) stamp(c *dynamic.Configuration) (changed bool) {
	s := &stamping{before: p.stamps, after: map[any]stamp{}, named: map[string]bool{}}
	if c.TLS != nil {
		tls := *c.TLS
		tls.Certificates = slices.Clone(tls.Certificates)
		for i, entry := range tls.Certificates {
			tls.Certificates[i] = stamped(s, entry, certificateFiles(entry.Certificate),
				func(e *dynamic.CertificateEntry, r uint64) { e.FilesRevision = r })
		}
		tls.Options = stampAll(s, tls.Options, clientFiles,
			func(o *dynamic.TLSOptions, r uint64) { o.FilesRevision = r })
		tls.Stores = stampAll(s, tls.Stores, storeFiles, func(t *dynamic.TLSStore, r uint64) { t.FilesRevision = r })
		c.TLS = &tls
	}
	if c.HTTP != nil && c.HTTP.ServersTransports.Len() > 0 {
		http := *c.HTTP
		http.ServersTransports = stampAll(s, http.ServersTransports, transportFiles,
			func(t *dynamic.ServersTransport, r uint64) { t.FilesRevision = r })
		c.HTTP = &http
	}
	if c.TCP != nil && c.TCP.ServersTransports.Len() > 0 {
		tcp := *c.TCP
		tcp.ServersTransports = stampAll(s, tcp.ServersTransports, transportFilesTCP,
			func(t *dynamic.TCPServersTransport, r uint64) { t.FilesRevision = r })
		c.TCP = &tcp
	}
	p.stamps, p.named = s.after, slices.Sorted(maps.Keys(s.named))
	return s.changed
}

func certificateFiles(c dynamic.Certificate) []string { return []string{c.CertFile, c.KeyFile} }

func clientFiles(o *dynamic.TLSOptions) []string {
	return slices.Concat(o.ClientAuth.CAFiles, o.ClientAuth.CRLFiles)
}

func storeFiles(t *dynamic.TLSStore) []string {
	if t.DefaultCertificate == nil {
		return nil
	}
	return certificateFiles(*t.DefaultCertificate)
}

func transportFiles(t *dynamic.ServersTransport) []string { return tlsFiles(t.RootCAs, t.Certificates) }

func transportFilesTCP(t *dynamic.TCPServersTransport) []string {
	if t.TLS == nil {
		return nil
	}
	return tlsFiles(t.TLS.RootCAs, t.TLS.Certificates)
}

// tlsFiles returns the files of authorities and client certificates.
func tlsFiles(authorities []string, certificates []dynamic.Certificate) []string {
	files := slices.Clone(authorities)
	for _, certificate := range certificates {
		files = append(files, certificateFiles(certificate)...)
	}
	return files
}

func stampAll[T any](
	s *stamping, from dynamic.Objects[T], files func(*T) []string, set func(*T, uint64),
) dynamic.Objects[T] {
	e := new(immutable.Edit)
	out := from
	for name, object := range from.All() {
		if one := stamped(s, object, files(object), set); one != object {
			out.Set(e, name, one)
		}
	}
	return out
}

func stamped[T any](s *stamping, object *T, files []string, set func(*T, uint64)) *T {
	revision := s.revision(files)
	if revision == 0 {
		return object
	}
	known, ok := s.before[object]
	if !ok || known.revision != revision {
		copied := *object
		set(&copied, revision)
		known = stamp{revision: revision, object: &copied}
		s.changed = true
	}
	s.after[object] = known
	return known.object.(*T)
}

// revision hashes the state of files; 0 if none of the values is a path. The state is the link target, size,
// modification time, and readability, so that keys are not read here.
func (s *stamping) revision(values []string) uint64 {
	sum := fnv.New64a()
	paths := 0
	for _, value := range values {
		if value == "" || strings.Contains(value, "-----BEGIN") || strings.ContainsAny(value, "\n\x00") {
			continue
		}
		paths++
		s.named[value] = true
		_, _ = sum.Write([]byte(value + "\x00"))
		real, err := realPath(value)
		if err != nil {
			continue
		}
		info, err := os.Stat(real)
		if err != nil {
			continue
		}
		state := append([]byte(real), 0)
		state = binary.LittleEndian.AppendUint64(state, uint64(info.Size()))
		state = binary.LittleEndian.AppendUint64(state, uint64(info.ModTime().UnixNano()))
		state = binary.LittleEndian.AppendUint32(state, uint32(info.Mode()))
		if opens(real, info) {
			state = append(state, 1)
		}
		_, _ = sum.Write(state)
	}
	if paths == 0 {
		return 0
	}
	return max(sum.Sum64(), 1)
}

// opens reports whether a file can be opened, which may change with its owner alone. Opening other than regular files
// might block.
func opens(path string, info os.FileInfo) bool {
	if !info.Mode().IsRegular() {
		return false
	}
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	_ = file.Close()
	return true
}

// sortedByOrigin returns references sorted by the origin of their objects.
func sortedByOrigin(refs map[dynamic.Ref]bool, origins immutable.Map[dynamic.Ref, dynamic.Origin]) []dynamic.Ref {
	return slices.SortedFunc(maps.Keys(refs), func(a, b dynamic.Ref) int {
		return cmp.Or(
			cmp.Compare(origins.Get(a).Line, origins.Get(b).Line), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name),
		)
	})
}
