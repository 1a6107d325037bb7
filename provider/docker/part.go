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

// errNoPort says that a container exposes no TCP port and that no label names one.
var errNoPort = errors.New("it exposes no TCP port, and no label names one (loadbalancer.server.port)")

// part is what one container contributes to the state.
type part struct {
	container *container
	*declaration
	// members are the servers that it is, by the names of services; a container that gets no traffic has none.
	members map[string]member
	// unreachable says why it is no server of a service; doubts say what is not as it was asked for.
	unreachable, doubts map[dynamic.Ref]string
}

// member is one server of a service.
type member struct {
	endpoint dynamic.Endpoint
	scheme   string
	weight   int
	// server is set when the labels give the whole URL.
	server *dynamic.Server
}

// reasons returns why the part's object is not put to work; none when it is.
func (p *part) reasons(ref dynamic.Ref) []string {
	if reason, ok := p.unreachable[ref]; ok {
		return append(append([]string(nil), p.wrong[ref]...), reason)
	}
	return p.wrong[ref]
}

// exposed tells why a container takes no part; empty when it does. Findings are mistakes that may have kept it out.
func (p *Provider) exposed(c *container) (left string, findings []string) {
	options := c.declared.Options
	switch {
	case options.Enable != nil && !*options.Enable:
		return "its label enable says so", nil
	case !p.constraints.Match(c.labels):
		return "it does not match the constraints", nil
	case options.Enable == nil && !p.config.ExposedByDefault:
		return "it has no label enable, and exposedByDefault is off", c.declared.Wrong
	case !c.running() && !options.Docker.AllowNonRunning:
		return "it is " + string(c.state), nil
	case c.running() && !c.healthy() && !p.config.AllowEmptyServices:
		return "its health is " + string(c.health), nil
	}
	return "", nil
}

// part translates one container that is exposed; nil when it has nothing to contribute.
func (p *Provider) part(c *container, where *lookup) *part {
	one := &part{
		container: c, declaration: p.memory.declare(c, p.rule, p.isSelf(c)),
		members: map[string]member{},
	}
	for name, service := range one.config.HTTP.Services {
		if service.LoadBalancer == nil {
			continue
		}
		if nothing := one.join(name, where); nothing {
			return nil
		}
	}
	return one
}

// join makes the container a server of a service. It reports a container that can't be reached and whose labels never
// said that it should be.
func (p *part) join(name string, where *lookup) (nothing bool) {
	ref := dynamic.Ref{Kind: dynamic.KindService, Name: name}
	labels := p.labels.Servers[name]
	if labels == nil {
		labels = &dynamic.LabelServer{}
	}
	doubt := ""
	one, err := newMember(labels)
	if err == nil && p.container.running() && one.server == nil {
		one.endpoint, doubt, err = where.endpoint(p.container, labels.Port)
	}
	switch {
	case err != nil && p.implied:
		return true
	case err != nil:
		p.unreachable = with(p.unreachable, ref, err.Error())
	case p.container.running() && p.container.healthy():
		p.members[name] = one
		if doubt != "" {
			p.doubts = with(p.doubts, ref, doubt)
		}
	}
	return false
}

// with adds to a map that few need.
func with(to map[dynamic.Ref]string, ref dynamic.Ref, reason string) map[dynamic.Ref]string {
	if to == nil {
		to = map[dynamic.Ref]string{}
	}
	to[ref] = reason
	return to
}

// schemes are those that a server may speak.
var schemes = []string{"http", "https", "h2c"}

// newMember returns the container as a server, as far as its labels say.
func newMember(labels *dynamic.LabelServer) (one member, err error) {
	one.weight = 1
	if labels.Weight != nil {
		one.weight = *labels.Weight
	}
	switch {
	case one.weight < 0:
		return one, fmt.Errorf("loadbalancer.server.weight: %d is negative", one.weight)
	case labels.URL != "" && (labels.Scheme != "" || labels.Port != ""):
		return one, errors.New("loadbalancer.server.url excludes scheme and port")
	case labels.URL != "":
		one.server = &dynamic.Server{URL: labels.URL, Weight: &one.weight, PreservePath: labels.PreservePath}
		return one, checkURL(labels.URL)
	}
	if one.scheme = strings.ToLower(labels.Scheme); one.scheme == "" {
		one.scheme = schemes[0]
	}
	if err := checkScheme(one.scheme); err != nil {
		return one, fmt.Errorf("loadbalancer.server.scheme: %w", err)
	}
	return one, nil
}

// checkScheme refuses a scheme that no server speaks.
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

// checkURL refuses what can't be the address of a server. The URL itself may hold a password and is not repeated.
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
