package dynamic

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/document"
)

// LabelRoots are what the names of labels begin with. A label of the first one hides its namesake under the second one.
var labelRoots = [...]string{"sluice", "traefik"}

// labelRoot is the root of the tree that labels make, whichever root they were written with.
const labelRoot = "traefik"

// Labels are what the labels of one container say.
type Labels struct {
	// Options are about the container itself.
	Options LabelOptions
	// Configuration holds the objects that the labels declare, as far as they were understood, and one verdict for each
	// mistake in them. Neither objects nor verdicts have an origin, which only the provider knows.
	Configuration *Configuration
	// Servers says, by the names of services, what the labels say about the container as a server.
	Servers map[string]*LabelServer
	// Wrong are mistakes that can't be laid at one object's door, such as a misspelt section: what they were meant to
	// protect is not known, so none of the container's objects should be put to work.
	Wrong []string
	// Stray are labels that have no effect.
	Stray []string
}

// LabelOptions are the labels about the container itself.
type LabelOptions struct {
	// Enable exposes the container, or hides it; nil leaves that to the provider's exposedByDefault.
	Enable *bool `json:"enable,omitempty"`
	// Docker holds what is said to the provider docker.
	Docker LabelDocker `json:"docker"`
	// Swarm holds what is said to Traefik's provider swarm, which is nothing to a container.
	Swarm LabelDocker `json:"swarm"`
}

// LabelDocker are the labels docker.*.
type LabelDocker struct {
	// Network names the network through which the container is reached.
	Network string `json:"network,omitempty"`
	// AllowNonRunning keeps the container's objects while it does not run, without servers.
	AllowNonRunning bool `json:"allowNonRunning,omitempty"`
	// LBSwarm is for Swarm services.
	LBSwarm bool `json:"lbswarm,omitempty"`
}

// LabelServer is the container as the server of a service (loadbalancer.server.*).
type LabelServer struct {
	// Port is the container's port; empty takes the lowest one that it exposes.
	Port string `json:"port,omitempty"`
	// Scheme is http, https or h2c; empty means http.
	Scheme string `json:"scheme,omitempty"`
	// URL is the server's whole address; it excludes Port and Scheme.
	URL string `json:"url,omitempty"`
	// Weight is the server's share; nil means 1, 0 none.
	Weight *int `json:"weight,omitempty"`
	// PreservePath puts the path of URL before that of the request.
	PreservePath bool `json:"preservePath,omitempty"`
}

// LabelDecoder reads labels. Its zero value is ready; it must not be used by two goroutines at once.
type LabelDecoder struct{ values document.Decoder }

// label is one label: its name as it was written, and the name behind the root.
type label struct {
	written string
	path    string
	value   string
}

// ours returns the label of a name that begins with one of the roots.
func ours(written, value string) (rank int, one label, ok bool) {
	for rank, root := range labelRoots {
		if head, path, found := strings.Cut(written, "."); found && strings.EqualFold(head, root) {
			return rank, label{written: written, path: path, value: value}, true
		}
	}
	return 0, label{}, false
}

// OwnLabels returns those labels that LabelDecoder reads.
func OwnLabels(labels map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range labels {
		if _, _, ok := ours(name, value); ok {
			out[name] = value
		}
	}
	return out
}

// Decode reads the labels whose names begin with one of the roots, in any case, and leaves the others alone.
func (d *LabelDecoder) Decode(labels map[string]string) *Labels {
	run := &labelling{
		decoder: d,
		out: &Labels{
			Configuration: &Configuration{HTTP: &HTTPConfiguration{}, Origins: map[Ref]Origin{}},
			Servers:       map[string]*LabelServer{},
		},
	}
	run.sort(labels)
	run.grow()
	run.read()
	return run.out
}

// labelling is one call of Decode.
type labelling struct {
	decoder *LabelDecoder
	out     *Labels
	// labels are in the order of their paths; the line of a node is a label's place in them, from 1.
	labels []label
	// twice are labels that another one, spelt in another case, has said already.
	twice []label
	roots map[string]*document.Node
}

// sort brings the labels into order, one for each path.
func (l *labelling) sort(labels map[string]string) {
	type found struct {
		rank int
		label
	}
	paths := map[string]found{}
	for _, written := range slices.Sorted(maps.Keys(labels)) {
		rank, one, ok := ours(written, labels[written])
		if !ok {
			continue
		}
		folded := strings.ToLower(one.path)
		before, taken := paths[folded]
		switch {
		case !taken || rank < before.rank:
			paths[folded] = found{rank, one}
		case rank == before.rank:
			l.twice = append(l.twice, one)
		}
	}
	for _, one := range paths {
		l.labels = append(l.labels, one.label)
	}
	slices.SortFunc(l.labels, func(a, b label) int { return strings.Compare(a.path, b.path) })
}

// segment is one part of a label's name: a key, with a place in a list or without.
var segment = regexp.MustCompile(`^[^\[\]]+(\[[0-9]{1,4}\])?$`)

// sound reports whether a path can be taken apart.
func sound(path string) bool {
	for part := range strings.SplitSeq(path, ".") {
		if !segment.MatchString(part) {
			return false
		}
	}
	return true
}
