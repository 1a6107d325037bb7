package annotation

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// MostValue is the length in bytes of the longest value that is read. Longer ones are refused unread.
const MostValue = 16 << 10

// Reader reads the annotations of Ingresses under one version of the ConfigMap. It may be used by several goroutines.
type Reader struct {
	index    *index
	settings *Settings
}

// NewReader returns a reader. The settings are not changed.
func NewReader(settings *Settings) *Reader { return &Reader{newIndex(), settings} }

// Read reads the annotations of an Ingress in a namespace. There is one finding for each key that begins with Prefix,
// in the order of keys.
func (r *Reader) Read(namespace string, annotations map[string]string) (*Options, []Finding) {
	read := &reading{
		index: r.index, settings: r.settings, namespace: namespace,
		values: map[string]string{}, findings: map[string]*Finding{}, long: map[string]bool{},
		options: &Options{Closed: r.settings.Closed},
	}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if name, ours := strings.CutPrefix(key, Prefix); ours {
			read.take(name, annotations[key])
		}
	}
	read.groups()
	return read.options, read.finish()
}

// groups reads one topic after the other.
func (r *reading) groups() {
	r.rewrite()
	r.redirect()
	r.access()
	r.auth()
	r.authRequest()
	r.clientTLS()
	r.limit()
	r.cors()
	r.canary()
	r.affinity()
	r.backend()
	r.proxy()
	r.proxyTLS()
	r.errors()
	r.mirror()
	r.clientConnections()
	r.log()
	r.firewall()
	r.snippets()
}

// reading is the reading of one Ingress. Names are keys without Prefix.
type reading struct {
	index     *index
	settings  *Settings
	namespace string
	values    map[string]string
	// long holds the names of which the value was too long to be read.
	long     map[string]bool
	findings map[string]*Finding
	options  *Options
	// suggestions counts the unknown names for which a similar one was looked for.
	suggestions int
}

// mostSuggestions bounds them, since each is compared with all names.
const mostSuggestions = 16

// take notes one annotation.
func (r *reading) take(name, value string) {
	spec, known := r.spec(name)
	if len(value) > MostValue {
		r.long[name] = true
		reason := "the value has " + strconv.Itoa(len(value)) + " bytes; more than " + strconv.Itoa(MostValue) +
			" are not read"
		switch {
		case !known:
			r.set(name, Ignored, reason)
		case spec.Protects || spec.Risk == Critical:
			r.close(name, reason)
		default:
			r.set(name, Unsupported, reason)
		}
		return
	}
	r.values[name] = value
	for _, word := range r.settings.Blocklist {
		if strings.Contains(value, word) {
			r.reject(name, "the value contains "+quote(word)+", which annotation-value-word-blocklist forbids")
		}
	}
}

// spec returns the annotation of a name or alias.
func (r *reading) spec(name string) (*Spec, bool) {
	if primary, alias := r.index.primary[name]; alias {
		name = primary
	}
	spec, known := r.index.specs[name]
	return spec, known
}

// key returns the name under which an annotation is set: its own, unless that is empty and an alias is not.
func (r *reading) key(name string) string {
	if r.values[name] == "" {
		for _, alias := range r.index.specs[name].Aliases {
			if r.values[alias] != "" {
				return alias
			}
		}
	}
	return name
}
