package resource

import (
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/loadbalancer"
)

// setName is the key of a Kubernetes endpoint set, source/namespace/service:port, in its parts.
type setName struct{ namespace, service, port string }

// parseSetName splits the key of an endpoint set. It is not ok for dns/name:port and for keys of another form.
func parseSetName(key string) (name setName, ok bool) {
	source, rest, _ := strings.Cut(key, "/")
	namespace, target, _ := strings.Cut(rest, "/")
	service, port, _ := strings.Cut(target, ":")
	number, err := strconv.ParseUint(port, 10, 16)
	if source == "" || source == loadbalancer.DNSSource || namespace == "" || service == "" || err != nil || number == 0 ||
		strings.Contains(namespace, ":") || strings.Contains(service, "/") || !printable(key) {
		return setName{}, false
	}
	return setName{namespace, service, port}, true
}

// short returns service.namespace:port.
func (n setName) short() string { return n.service + "." + n.namespace + ":" + n.port }

// ListenerNames returns the names under which the endpoint set of a Kubernetes Service is published. For the key
// source/namespace/service:port they are service.namespace:port and service.namespace.svc.cluster.local:port, as in
// xds:///service.namespace:port. It returns nil for dns/name:port and for keys of another form.
func ListenerNames(key string) []string {
	name, ok := parseSetName(key)
	if !ok {
		return nil
	}
	return []string{name.short(), name.service + "." + name.namespace + ".svc.cluster.local:" + name.port}
}

// qualify returns name@provider; a name that already holds @ stays as it is.
func qualify(name, provider string) string {
	if strings.Contains(name, "@") {
		return name
	}
	return name + "@" + provider
}

// providerOf returns the part of a qualified name behind @.
func providerOf(name string) string {
	return name[strings.LastIndexByte(name, '@')+1:]
}
