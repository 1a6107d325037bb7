package docker

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// maxChain is the maximum length of a chain of containers that share a network (container:ID).
const maxChain = 8

// lookup finds the addresses of containers.
type lookup struct {
	// containers are all known containers by id.
	containers map[string]*container
	// network is the option providers.docker.network.
	network string
	// bindPort is the option providers.docker.useBindPortIP.
	bindPort bool
	// leaving are the containers that have received a stop signal.
	leaving map[string]time.Time
	// host is the address of the engine's host, for containers with host networking.
	host netip.Addr
}

// endpoint returns the address of a container as the server of a kind of service. wanted is the port that its labels
// name; empty selects the lowest one. doubt explains a choice that differs from the labels.
func (l *lookup) endpoint(
	c *container, kind dynamic.Kind, wanted string,
) (out dynamic.Endpoint, doubt string, err error) {
	number, err := c.portNumber(kind, wanted)
	if err != nil {
		return out, "", err
	}
	out.UID, out.Terminating = c.id, !l.leaving[c.id].IsZero()
	if l.bindPort {
		if out.Address, doubt = c.publishedAt(kind, number); doubt == "" {
			return out, "", nil
		}
		doubt += "; its own address is used"
	}
	address, other, err := l.address(c, c.declared.Options.Docker.Network, 0)
	if err != nil {
		return out, "", err
	}
	out.Address = netip.AddrPortFrom(address, number)
	return out, cmp.Or(other, doubt), nil
}

// address finds the container's IP address.
func (l *lookup) address(c *container, network string, distance int) (address netip.Addr, doubt string, err error) {
	switch {
	case distance > maxChain:
		return address, "", fmt.Errorf("more than %d containers share a network in a chain", maxChain)
	case c.mode.IsHost():
		return l.host, "", nil
	case c.mode.IsContainer():
		other := l.find(c.mode.ConnectedContainer())
		if other == nil {
			return address, "", fmt.Errorf("its network is that of the container %s, which is not known",
				short(c.mode.ConnectedContainer()))
		}
		if named := other.declared.Options.Docker.Network; named != "" {
			network = named
		}
		return l.address(other, network, distance+1)
	}
	if network == "" {
		network = l.network
	}
	return c.addressIn(network)
}

// find returns a container by its id, the beginning of it, or its name.
func (l *lookup) find(name string) *container {
	if known := l.containers[name]; known != nil {
		return known
	}
	for id, one := range l.containers {
		if one.name == name || len(name) >= 12 && strings.HasPrefix(id, name) {
			return one
		}
	}
	return nil
}

// addressIn returns the address in a network, or in the alphabetically first one if the container is not attached to
// it.
func (c *container) addressIn(network string) (address netip.Addr, doubt string, err error) {
	var names []string
	for _, one := range c.networks {
		if !one.address().IsValid() {
			continue
		}
		names = append(names, one.name)
		if network != "" && (one.name == network || one.id == network || one.name == c.labels[composeProject]+"_"+network) {
			return one.address(), "", nil
		}
		if !address.IsValid() {
			address = one.address()
		}
	}
	switch {
	case !address.IsValid():
		return address, "", fmt.Errorf("it has no address: it is attached to no network")
	case network == "":
		return address, "", nil
	}
	doubt = fmt.Sprintf("it is not attached to the network %q", network)
	if near, ok := document.Nearest(network, names); ok {
		doubt += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return address, doubt + fmt.Sprintf("; its address in %q is used", names[0]), nil
}

// portNumber returns the wanted port, or the lowest one that the container exposes for a kind of service.
func (c *container) portNumber(kind dynamic.Kind, wanted string) (uint16, error) {
	if wanted != "" {
		number, err := strconv.ParseUint(wanted, 10, 16)
		if err != nil || number == 0 {
			return 0, fmt.Errorf("the port %q is no number from 1 to 65535", wanted)
		}
		return uint16(number), nil
	}
	ports := c.portsOf(kind)
	switch {
	case len(ports) > 0:
		return ports[0].number, nil
	case kind == dynamic.KindUDPService:
		return 0, errNoUDPPort
	}
	return 0, errNoPort
}

// publishedAt returns where the port is published, or why this cannot be used.
func (c *container) publishedAt(kind dynamic.Kind, number uint16) (at netip.AddrPort, reason string) {
	for _, one := range c.portsOf(kind) {
		if one.number != number {
			continue
		}
		for _, published := range one.published {
			if published.Addr().IsValid() && !published.Addr().IsUnspecified() {
				return published, ""
			}
		}
		if len(one.published) > 0 {
			return at, fmt.Sprintf("port %d is published on all addresses of the host, and none of them is named", number)
		}
	}
	return at, fmt.Sprintf("port %d is not published", number)
}

// short abbreviates the id of a container as the engine's command does.
func short(id string) string { return id[:min(len(id), 12)] }
