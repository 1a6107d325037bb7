package endpoint

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// renameTime is how long a renamed port is still served by the endpoints of the old name. Slices refer to a port by its
// name alone, and get the new one a moment after the Service.
const renameTime = 5 * time.Second

// former is the name that a port of a Service had until lately.
type former struct {
	port     int32
	protocol corev1.Protocol
	name     string
}

// isOf reports whether it is a name of a port.
func (f former) isOf(port int32, protocol corev1.Protocol) bool {
	return f.port == port && f.protocol == protocolOf(protocol)
}

// renamed returns the former names of the ports that have others now.
func renamed(before, after *corev1.Service) []former {
	if before == nil || after == nil {
		return nil
	}
	var all []former
	for i := range after.Spec.Ports {
		now := &after.Spec.Ports[i]
		at := slices.IndexFunc(before.Spec.Ports, func(one corev1.ServicePort) bool {
			return one.Port == now.Port && one.Protocol == now.Protocol && one.Name != now.Name
		})
		if at >= 0 {
			all = append(all, former{port: now.Port, protocol: protocolOf(now.Protocol), name: before.Spec.Ports[at].Name})
		}
	}
	return all
}

// rename notes former names. For a port that is renamed again, the slices still have the first one.
func (e *entry) rename(names []former) {
	for _, one := range names {
		if !slices.ContainsFunc(e.former, func(known former) bool { return known.isOf(one.port, one.protocol) }) {
			e.former = append(e.former, one)
		}
	}
}

// nameOf returns the name of a port in the slices: its own, unless none of them has it and it had another one.
func (e *entry) nameOf(port *corev1.ServicePort) string {
	at := slices.IndexFunc(e.former, func(one former) bool { return one.isOf(port.Port, port.Protocol) })
	if at < 0 || len(e.slices) == 0 {
		return port.Name
	}
	for _, slice := range e.slices {
		if _, known := portOf(slice, port.Name, protocolOf(port.Protocol)); known {
			return port.Name
		}
	}
	return e.former[at].name
}

// forgetNames drops the former names of a Service's ports.
func (c *sliceCache) forgetNames(of reference) {
	c.mu.Lock()
	if one := c.entries[of]; one != nil && one.former != nil {
		one.former = nil
		c.touch(one, kindService)
	}
	c.mu.Unlock()
	c.changed()
}
