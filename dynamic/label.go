package dynamic

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/immutable"
)

// labelRoots are what the names of labels begin with. A label of the first one hides its namesake under the second one.
var labelRoots = [...]string{"sluice", "traefik"}

// labelRoot is the root of the tree that labels make, whichever root they were written with.
const labelRoot = "traefik"

const (
	// mostLabels is the maximum number of labels of one container: finding a key takes time that grows with their number,
	// and a container must not be able to delay others.
	mostLabels = 2000
	// longestLabel bounds the name of a label, in bytes, and deepestLabel its keys. Trees are walked by recursion.
	longestLabel, deepestLabel = 1024, 64
	// longestReason is the maximum length of a reason in bytes, which contains names and values.
	longestReason = 512
)

// Labels is the parsed form of one container's labels.
type Labels struct {
	// Options are about the container itself.
	Options LabelOptions
	// Configuration holds the declared objects with their valid parts, and one verdict for each error. The
	// provider sets their origins.
	Configuration *Configuration
	// Servers, TCPServers and UDPServers map names of services to the container's options as a server.
	Servers    map[string]*LabelServer
	TCPServers map[string]*LabelTCPServer
	UDPServers map[string]*LabelUDPServer
	// Wrong are mistakes that can't be laid at one object's door, such as a misspelt section: what they were meant to
	// protect is not known, so none of the container's objects should be applied.
	Wrong []string
	// Stray are labels that have no effect.
	Stray []string
	// Misspelt are the reasons of labels whose root is misspelt, which have no effect.
	Misspelt []string
}

// LabelOptions are the labels about the container itself.
type LabelOptions struct {
	// Enable exposes the container, or hides it; nil leaves that to the provider's exposedByDefault.
	Enable *bool `json:"enable,omitempty"`
	// Docker holds the options of the provider docker.
	Docker LabelDocker `json:"docker"`
	// Swarm holds the options of Traefik's provider swarm, which are not used.
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

// LabelTCPServer is the container as the server of a TCP service (tcp.services.NAME.loadbalancer.server.*).
type LabelTCPServer struct {
	// Port is the container's port; empty takes the lowest TCP port that it exposes.
	Port string `json:"port,omitempty"`
	// TLS connects to the container with TLS.
	TLS bool `json:"tls,omitempty"`
	// Weight is the server's share; nil means 1, 0 none.
	Weight *int `json:"weight,omitempty"`
}

// LabelUDPServer is the container as the server of a UDP service (udp.services.NAME.loadbalancer.server.*).
type LabelUDPServer struct {
	// Port is the container's port; empty takes the lowest UDP port that it exposes.
	Port string `json:"port,omitempty"`
	// Weight is the server's share; nil means 1, 0 none.
	Weight *int `json:"weight,omitempty"`
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

// OwnLabels returns those labels that LabelDecoder reads, and those whose root is likely to be misspelt.
func OwnLabels(labels map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range labels {
		if _, _, ok := ours(name, value); ok || misspelt(name) != "" {
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
			Configuration: &Configuration{HTTP: &HTTPConfiguration{}},
			Servers:       map[string]*LabelServer{},
			TCPServers:    map[string]*LabelTCPServer{},
			UDPServers:    map[string]*LabelUDPServer{},
		},
	}
	run.sort(labels)
	run.misspelt(labels)
	if count := len(run.labels) + len(run.twice); count > mostLabels {
		run.out.Wrong = append(run.out.Wrong, fmt.Sprintf("there are %d labels, and no more than %d are read", count,
			mostLabels))
		return run.out
	}
	run.grow()
	run.read()
	if more := len(run.out.Wrong) - mostFindings; more > 0 {
		run.out.Wrong = append(run.out.Wrong[:mostFindings], fmt.Sprintf("there are %d more mistakes in labels", more))
	}
	return run.out
}

// brief shortens a long reason.
func brief(reason string) string {
	if len(reason) <= longestReason {
		return reason
	}
	return strings.ToValidUTF8(reason[:longestReason], "") + "..."
}

// labelling is one call of Decode.
type labelling struct {
	decoder *LabelDecoder
	out     *Labels
	edit    immutable.Edit
	// labels are in the order of their paths; the line of a node is a label's place in them, from 1.
	labels []label
	// twice are labels that duplicate another one in a different case.
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

// unsound returns why a path is invalid; empty if valid.
func unsound(path string) string {
	switch {
	case len(path) > longestLabel:
		return fmt.Sprintf("the name is longer than %d bytes", longestLabel)
	case strings.Count(path, ".") >= deepestLabel:
		return fmt.Sprintf("the name has more than %d keys", deepestLabel)
	}
	for part := range strings.SplitSeq(path, ".") {
		if !segment.MatchString(part) {
			return "the name can't be taken apart: empty keys and stray brackets are not allowed"
		}
	}
	return ""
}
