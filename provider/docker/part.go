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

// errNoPort means that a container exposes no TCP port and no label names one.
var errNoPort = errors.New("it exposes no TCP port, and no label names one (loadbalancer.server.port)")

// part is what one container contributes to the state.
type part struct {
	container *container
	*declaration
	// members maps services to their server; a container that does not serve has none.
	members map[string]member
	// unreachable explains why the container is no server of a service; doubts explain choices that differ from the
	// labels.
	unreachable, doubts map[dynamic.Ref]string
}

// member is one server of a service.
type member struct {
	endpoint dynamic.Endpoint
	scheme   string
	weight   int
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
		members: map[string]member{},
	}
	for name, service := range one.config.HTTP.Services.All() {
		if service.LoadBalancer == nil {
			continue
		}
		if nothing := one.join(name, where); nothing {
			return nil
		}
	}
	return one
}

// join makes the container a server of a service. It returns true if the container cannot be reached and its labels do
// not require it.
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

// newMember returns the server that the labels describe, without its address.
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
