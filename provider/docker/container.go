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

// container is what counts of a container. It is immutable.
type container struct {
	id string
	// name is the container's name without the engine's slash.
	name   string
	labels map[string]string
	// declared is what the labels say to Sluice.
	declared *dynamic.Labels
	state    enginetypes.ContainerState
	// health is empty for a container without a health check.
	health enginetypes.HealthStatus
	// mode is how its network was asked for: host, container:ID, or a network.
	mode enginetypes.NetworkMode
	// networks are those that it is attached to, by name.
	networks []attachment
	// ports are those that it exposes, lowest first.
	ports []port
	// stopSignal is the number, as text, of the signal that asks the container to end.
	stopSignal string
	// stopTimeout is how long it may then take; 0 is the engine's default.
	stopTimeout time.Duration
}

// attachment is a container's place in a network.
type attachment struct {
	name, id   string
	ipv4, ipv6 netip.Addr
}

// address returns the container's address in the network; IPv4 goes before IPv6.
func (a attachment) address() netip.Addr {
	if a.ipv4.IsValid() {
		return a.ipv4
	}
	return a.ipv6
}

// port is a TCP port of a container, and where it is published.
type port struct {
	number    uint16
	published []netip.AddrPort
}

// newContainer takes what counts from what the engine tells.
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
	c.expose(from)
	return c
}

// expose notes the TCP ports: those that the engine has opened and, where it opens none, those that the image names.
func (c *container) expose(from *enginetypes.InspectResponse) {
	ports := map[uint16][]netip.AddrPort{}
	if from.Config != nil {
		for exposed := range from.Config.ExposedPorts {
			if exposed.Proto() == network.TCP {
				ports[exposed.Num()] = nil
			}
		}
	}
	if from.NetworkSettings != nil {
		for exposed, bindings := range from.NetworkSettings.Ports {
			if exposed.Proto() != network.TCP {
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
		c.ports = append(c.ports, port{number: number, published: ports[number]})
	}
}

// attach notes the networks.
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

// running tells whether the container can answer.
func (c *container) running() bool { return c.state == enginetypes.StateRunning }

// healthy tells whether nothing is known against the container.
func (c *container) healthy() bool { return c.health == "" || c.health == enginetypes.Healthy }

// The labels that Compose puts on containers.
const (
	composeProject = "com.docker.compose.project"
	composeService = "com.docker.compose.service"
)

// longestName bounds the names of a Compose project and service, in bytes: everybody can write such labels, and the
// names become those of objects.
const longestName = 255

// compose returns the container's Compose project and service, if it belongs to one.
func (c *container) compose() (project, service string, ok bool) {
	project, service = c.labels[composeProject], c.labels[composeService]
	return project, service, project != "" && service != "" && max(len(project), len(service)) <= longestName
}

// service returns the name that the container's objects get by default: that of its Compose service and project, or its
// own.
func (c *container) service() string {
	if project, service, ok := c.compose(); ok {
		return gotemplate.Normalize(service + "_" + project)
	}
	return gotemplate.Normalize(c.name)
}

// origin names the container in verdicts.
func (c *container) origin() string { return "container " + c.name }

// declarer names who declares the container's objects: a Compose service where there is one, since its containers come
// and go.
func (c *container) declarer() string {
	if project, service, ok := c.compose(); ok {
		return "compose service " + service + " of project " + project
	}
	return c.origin()
}

// signals are those that images name to be stopped with.
var signals = map[string]string{
	"HUP": "1", "INT": "2", "QUIT": "3", "KILL": "9", "USR1": "10", "USR2": "12", "TERM": "15", "WINCH": "28",
}

// signalNumber returns the number of a signal that is given by name or number; the engine's default is SIGTERM.
func signalNumber(signal string) string {
	signal = strings.TrimPrefix(strings.ToUpper(signal), "SIG")
	return cmp.Or(signals[signal], signal, signals["TERM"])
}
