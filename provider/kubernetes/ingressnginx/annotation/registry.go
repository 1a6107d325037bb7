package annotation

import (
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/document"
)

// Prefix is what the keys of all annotations begin with. ingress-nginx can be told another one; Sluice can not.
const Prefix = "nginx.ingress.kubernetes.io/"

// Scope is what an annotation applies to.
type Scope string

// The scopes of annotations. Of several Ingresses with an annotation of the host or of the Service, one decides.
const (
	// Location stands for the paths of the Ingress.
	Location Scope = "location"
	// Host stands for all paths of the Ingress's hosts, those of other Ingresses included.
	Host Scope = "host"
	// Service stands for everything that leads to the Ingress's Services, other Ingresses included.
	Service Scope = "service"
	// Global stands for the whole controller.
	Global Scope = "global"
)

// Risk is the level at which ingress-nginx rates an annotation. It does not accept an Ingress with an annotation above
// annotations-risk-level of its ConfigMap.
type Risk int

// The levels of risk.
const (
	Low Risk = iota
	Medium
	High
	Critical
)

// String returns the level as ingress-nginx writes it.
func (r Risk) String() string { return [...]string{"Low", "Medium", "High", "Critical"}[r] }

// Support is what Sluice does with an annotation whose value is valid.
type Support int

// The degrees of support.
const (
	// Same has the effect that it has in ingress-nginx.
	Same Support = iota
	// Differs has its effect, with a difference that is stated.
	Differs
	// Refused is not done. An annotation that protects something costs the Ingress its locations, which answer 503.
	Refused
	// NoEffect changes no answer: there is nothing to do in Sluice, or ingress-nginx 1.15 does nothing either.
	NoEffect
)

// String returns the degree as it is shown to users.
func (s Support) String() string { return [...]string{"same", "differs", "refused", "no effect"}[s] }

// Spec describes one annotation of ingress-nginx 1.15.1.
type Spec struct {
	// Name is the key without Prefix.
	Name string
	// Aliases are other names of the same annotation. Name wins when it is set and not empty.
	Aliases []string
	// Group is the topic.
	Group string
	Scope Scope
	Risk  Risk
	// Support is what Sluice does with it.
	Support Support
	// Protects says that something would be open without it.
	Protects bool
	// Means is the effect, in a few words.
	Means string
	// Note is the difference, or why the annotation is refused or has no effect. It is empty with Same.
	Note string
	// Replacement is what to use instead; empty when nothing is needed or there is nothing.
	Replacement string
}

// All returns all annotations of ingress-nginx 1.15.1, by group, in the order of their names within a group.
func All() []Spec {
	return slices.Concat(routingSpecs(), redirectSpecs(), accessSpecs(), authRequestSpecs(), clientTLSSpecs(),
		limitSpecs(), corsSpecs(), canarySpecs(), affinitySpecs(), backendSpecs(), proxySpecs(), proxyTLSSpecs(),
		errorSpecs(), mirrorSpecs(), tlsSpecs(), logSpecs(), snippetSpecs())
}

// index finds annotations by name.
type index struct {
	specs map[string]*Spec
	// primary is the name of which another one is an alias.
	primary map[string]string
	retired map[string]string
	names   []string
	// configKeys are the keys of the ConfigMap.
	configKeys []string
}

func newIndex() *index {
	found := &index{specs: map[string]*Spec{}, primary: map[string]string{}, retired: map[string]string{}}
	all := All()
	for i := range all {
		spec := &all[i]
		found.specs[spec.Name] = spec
		found.names = append(found.names, spec.Name)
		for _, alias := range spec.Aliases {
			found.primary[alias] = spec.Name
			found.names = append(found.names, alias)
		}
	}
	for _, old := range AllRetired() {
		found.retired[old.Name] = old.Replacement
	}
	for _, key := range AllConfigKeys() {
		found.configKeys = append(found.configKeys, key.Name)
	}
	return found
}

// nearestConfigKey is as nearest, for keys of the ConfigMap.
func (x *index) nearestConfigKey(name string) (string, bool) {
	return document.Nearest(name, x.configKeys)
}

// nearest returns the annotation whose name is most similar to a name that does not exist.
func (x *index) nearest(name string) (string, bool) { return document.Nearest(name, x.names) }

// Lookup returns the annotation of a key, which may be an alias and needs its prefix.
func Lookup(key string) (Spec, bool) {
	name, ours := strings.CutPrefix(key, Prefix)
	if !ours {
		return Spec{}, false
	}
	for _, spec := range All() {
		if spec.Name == name || slices.Contains(spec.Aliases, name) {
			return spec, true
		}
	}
	return Spec{}, false
}
