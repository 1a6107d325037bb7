package docker

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	enginetypes "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/gotemplate"
)

// container holds the properties of a container that are used. It is immutable.
type container struct {
	id string
	// name is the container's name without the engine's slash.
	name   string
	labels map[string]string
	// declared is what the labels declare.
	declared *dynamic.Labels
	state    enginetypes.ContainerState
	// health is empty for a container without a health check.
	health enginetypes.HealthStatus
	// mode is the network mode: host, container:ID, or a network.
	mode enginetypes.NetworkMode
	// networks are the networks by name.
	networks []attachment
	// ports are the exposed TCP ports, lowest first, and udpPorts those of UDP.
	ports, udpPorts []port
	// stopSignal is the number of the stop signal, as text.
	stopSignal string
	// stopTimeout is the stop timeout; 0 is the engine's default.
	stopTimeout time.Duration
}

// declares reports whether the labels declare an object, valid or not.
func (c *container) declares() bool {
	from := c.declared.Configuration
	return countObjects(from.HTTP) > 0 || from.TCP != nil || from.UDP != nil || len(from.Verdicts) > 0
}

// attachment is a container's attachment to a network.
type attachment struct {
	name, id   string
	ipv4, ipv6 netip.Addr
}

// address returns the container's address in the network, preferably IPv4.
func (a attachment) address() netip.Addr {
	if a.ipv4.IsValid() {
		return a.ipv4
	}
	return a.ipv6
}

// port is a port of a container, and where it is published.
type port struct {
	number    uint16
	published []netip.AddrPort
}

// newContainer converts an inspection result.
func newContainer(from *enginetypes.InspectResponse, read func(map[string]string) *dynamic.Labels) *container {
	c := &container{id: from.ID, name: strings.TrimPrefix(from.Name, "/"), stopSignal: "15"}
	if from.State != nil {
		c.state = from.State.Status
		if from.State.Health != nil && from.State.Health.Status != enginetypes.NoHealthcheck {
			c.health = from.State.Health.Status
		}
	}
	if from.Config != nil {
		c.labels = from.Config.Labels
		c.stopSignal = signalNumber(from.Config.StopSignal)
		if from.Config.StopTimeout != nil {
			c.stopTimeout = time.Duration(*from.Config.StopTimeout) * time.Second
		}
	}
	c.declared = read(c.labels)
	if from.HostConfig != nil {
		c.mode = from.HostConfig.NetworkMode
	}
	if from.NetworkSettings != nil {
		c.attach(from.NetworkSettings)
	}
	c.ports, c.udpPorts = exposedPorts(from, network.TCP), exposedPorts(from, network.UDP)
	return c
}

// exposedPorts returns the ports of a protocol: those opened by the engine and those declared by the image.
func exposedPorts(from *enginetypes.InspectResponse, protocol network.IPProtocol) (all []port) {
	ports := map[uint16][]netip.AddrPort{}
	if from.Config != nil {
		for exposed := range from.Config.ExposedPorts {
			if exposed.Proto() == protocol {
				ports[exposed.Num()] = nil
			}
		}
	}
	if from.NetworkSettings != nil {
		for exposed, bindings := range from.NetworkSettings.Ports {
			if exposed.Proto() != protocol {
				continue
			}
			published := ports[exposed.Num()]
			for _, binding := range bindings {
				if number, err := strconv.ParseUint(binding.HostPort, 10, 16); err == nil && number > 0 {
					published = append(published, netip.AddrPortFrom(binding.HostIP, uint16(number)))
				}
			}
			ports[exposed.Num()] = published
		}
	}
	for _, number := range slices.Sorted(maps.Keys(ports)) {
		all = append(all, port{number: number, published: ports[number]})
	}
	return all
}

// portsOf returns the exposed ports that a kind of service may use, lowest first.
func (c *container) portsOf(kind dynamic.Kind) []port {
	if kind == dynamic.KindUDPService {
		return c.udpPorts
	}
	return c.ports
}

// attach sets the networks.
func (c *container) attach(settings *enginetypes.NetworkSettings) {
	for name, endpoint := range settings.Networks {
		if endpoint != nil {
			c.networks = append(c.networks, attachment{
				name: name, id: endpoint.NetworkID, ipv4: endpoint.IPAddress.Unmap(), ipv6: endpoint.GlobalIPv6Address,
			})
		}
	}
	slices.SortFunc(c.networks, func(a, b attachment) int { return cmp.Compare(a.name, b.name) })
}

// running reports whether the container runs.
func (c *container) running() bool { return c.state == enginetypes.StateRunning }

// healthy reports whether the health check, if there is one, succeeds.
func (c *container) healthy() bool { return c.health == "" || c.health == enginetypes.Healthy }

// Labels set by Compose.
const (
	composeProject = "com.docker.compose.project"
	composeService = "com.docker.compose.service"
)

// longestName is the maximum length of a Compose project or service name in bytes. Such labels can be set by any
// container, and become names of objects.
const longestName = 255

// compose returns the container's Compose project and service, if it belongs to one.
func (c *container) compose() (project, service string, ok bool) {
	project, service = c.labels[composeProject], c.labels[composeService]
	return project, service, project != "" && service != "" && max(len(project), len(service)) <= longestName
}

// service returns the default name of the container's objects: that of its Compose service and project, or its own.
func (c *container) service() string {
	if project, service, ok := c.compose(); ok {
		return gotemplate.Normalize(service + "_" + project)
	}
	return gotemplate.Normalize(c.name)
}

// origin is the container's name in verdicts.
func (c *container) origin() string { return "container " + c.name }

// declarer is the name under which the container's objects are declared: a Compose service if there is one, since its
// containers are replaced.
func (c *container) declarer() string {
	if project, service, ok := c.compose(); ok {
		return "compose service " + service + " of project " + project
	}
	return c.origin()
}

// signals maps names of stop signals to numbers.
var signals = map[string]string{
	"HUP": "1", "INT": "2", "QUIT": "3", "KILL": "9", "USR1": "10", "USR2": "12", "TERM": "15", "WINCH": "28",
}

// signalNumber returns the number of a signal given by name or number; the engine's default is SIGTERM.
func signalNumber(signal string) string {
	signal = strings.TrimPrefix(strings.ToUpper(signal), "SIG")
	return cmp.Or(signals[signal], signal, signals["TERM"])
}
