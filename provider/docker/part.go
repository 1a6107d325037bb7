package docker

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// errNoPort means that a container exposes no TCP port and no label names one, and errNoUDPPort the same for UDP.
var (
	errNoPort    = errors.New("it exposes no TCP port, and no label names one (loadbalancer.server.port)")
	errNoUDPPort = errors.New("it exposes no UDP port, and no label names one (loadbalancer.server.port)")
)

// part is what one container contributes to the state.
type part struct {
	container *container
	*declaration
	// members maps services to their server; a container that does not serve has none.
	members map[dynamic.Ref]member
	// unreachable explains why the container is no server of a service; doubts explain choices that differ from the
	// labels.
	unreachable, doubts map[dynamic.Ref]string
}

// member is one server of a service.
type member struct {
	endpoint dynamic.Endpoint
	// scheme is one of schemes for HTTP, tcp or tls for TCP, and udp.
	scheme string
	weight int
	// server is set if the labels give the whole URL.
	server *dynamic.Server
}

// reasons returns why the part's object is quarantined.
func (p *part) reasons(ref dynamic.Ref) []string {
	if reason, ok := p.unreachable[ref]; ok {
		return append(append([]string(nil), p.wrong[ref]...), reason)
	}
	return p.wrong[ref]
}

// Reasons for which a running container may be excluded by mistake.
const (
	notEnabled   = "it has no label traefik.enable=true, and exposedByDefault is off"
	notReachable = "it can't be reached, and no label says that it should be"
)

// exposed returns why a container is excluded, or an empty string. findings are errors that may have excluded it.
func (p *Provider) exposed(c *container) (excluded string, findings []string) {
	options := c.declared.Options
	switch {
	case options.Enable != nil && !*options.Enable:
		return "its label enable says so", nil
	case !p.constraints.Match(c.labels):
		return "it does not match the constraints", nil
	case options.Enable == nil && !p.config.ExposedByDefault:
		return notEnabled, c.declared.Wrong
	case !c.running() && !options.Docker.AllowNonRunning:
		return "it is " + string(c.state), nil
	case c.running() && !c.healthy() && !p.config.AllowEmptyServices:
		return "its health is " + string(c.health), nil
	}
	return "", nil
}

// part translates an exposed container; nil if it contributes nothing.
func (p *Provider) part(c *container, where *lookup) *part {
	one := &part{
		container: c, declaration: p.memory.declare(c, p.rule, p.isSelf(c)),
		members: map[dynamic.Ref]member{},
	}
	for ref, object := range one.objects {
		if balances(object) && one.join(ref, where) {
			return nil
		}
	}
	return one
}

// balances reports whether an object is a service with a load balancer, of which a container can be a server.
func balances(object any) bool {
	switch service := object.(type) {
	case *dynamic.Service:
		return service.LoadBalancer != nil
	case *dynamic.TCPService:
		return service.LoadBalancer != nil
	case *dynamic.UDPService:
		return service.LoadBalancer != nil
	}
	return false
}

// join makes the container a server of a service. It returns true if the container cannot be reached and its labels do
// not require it.
func (p *part) join(ref dynamic.Ref, where *lookup) (nothing bool) {
	doubt := ""
	one, port, err := newMember(p.labels, ref)
	if err == nil && p.container.running() && one.server == nil {
		one.endpoint, doubt, err = where.endpoint(p.container, ref.Kind, port)
	}
	switch {
	case err != nil && p.implied:
		return true
	case err != nil:
		p.unreachable = with(p.unreachable, ref, err.Error())
	case p.container.running() && p.container.healthy():
		p.members[ref] = one
		if doubt != "" {
			p.doubts = with(p.doubts, ref, doubt)
		}
	}
	return false
}

// with adds to a map that is allocated on demand.
func with(to map[dynamic.Ref]string, ref dynamic.Ref, reason string) map[dynamic.Ref]string {
	if to == nil {
		to = map[dynamic.Ref]string{}
	}
	to[ref] = reason
	return to
}

// schemes are the valid schemes of a server.
var schemes = []string{"http", "https", "h2c"}

// The schemes of members for TCP and UDP.
const (
	schemeTCP = "tcp"
	schemeTLS = "tls"
	schemeUDP = "udp"
)

// defaultScheme returns the scheme of members of a kind of service whose labels give none.
func defaultScheme(kind dynamic.Kind) string {
	switch kind {
	case dynamic.KindTCPService:
		return schemeTCP
	case dynamic.KindUDPService:
		return schemeUDP
	}
	return schemes[0]
}

// newMember returns the server of a service that the labels describe, without its address, and the port that they name.
func newMember(labels *dynamic.Labels, of dynamic.Ref) (one member, port string, err error) {
	one.scheme, one.weight = defaultScheme(of.Kind), 1
	weigh := func(weight *int) {
		if weight != nil {
			one.weight = *weight
		}
	}
	switch of.Kind {
	case dynamic.KindTCPService:
		if server := labels.TCPServers[of.Name]; server != nil {
			weigh(server.Weight)
			port = server.Port
			if server.TLS {
				one.scheme = schemeTLS
			}
		}
	case dynamic.KindUDPService:
		if server := labels.UDPServers[of.Name]; server != nil {
			weigh(server.Weight)
			port = server.Port
		}
	default:
		if server := labels.Servers[of.Name]; server != nil {
			weigh(server.Weight)
			port, err = server.Port, one.speak(server)
		}
	}
	if one.weight < 0 {
		return one, port, fmt.Errorf("loadbalancer.server.weight: %d is negative", one.weight)
	}
	return one, port, err
}

// speak sets how to speak to an HTTP server, which the labels describe.
func (m *member) speak(labels *dynamic.LabelServer) error {
	switch {
	case labels.URL != "" && (labels.Scheme != "" || labels.Port != ""):
		return errors.New("loadbalancer.server.url excludes scheme and port")
	case labels.URL != "":
		m.server = &dynamic.Server{URL: labels.URL, Weight: &m.weight, PreservePath: labels.PreservePath}
		return checkURL(labels.URL)
	case labels.Scheme != "":
		m.scheme = strings.ToLower(labels.Scheme)
	}
	if err := checkScheme(m.scheme); err != nil {
		return fmt.Errorf("loadbalancer.server.scheme: %w", err)
	}
	return nil
}

func checkScheme(scheme string) error {
	if slices.Contains(schemes, scheme) {
		return nil
	}
	reason := fmt.Sprintf("%q is none of %s", scheme, strings.Join(schemes, ", "))
	if near, ok := document.Nearest(scheme, schemes); ok {
		reason += fmt.Sprintf(", did you mean %q?", near)
	}
	return errors.New(reason)
}

// checkURL validates the URL of a server. Errors do not contain the URL, which may hold a password.
func checkURL(text string) error {
	const label = "loadbalancer.server.url"
	location, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New(label + " can't be read")
	case location.User != nil:
		return errors.New(label + " has user information, which no server would get")
	case location.Hostname() == "":
		return errors.New(label + " has no host")
	}
	if err := checkScheme(strings.ToLower(location.Scheme)); err != nil {
		return fmt.Errorf("%s: the scheme %w", label, err)
	}
	return nil
}
