package backend

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// KindEnvironment is the kind of the source that is touched when a Service is divided into environments in another way.
// Its name is that of the Service.
const KindEnvironment = "Environment"

// Environments finds how Services are divided into environments.
type Environments interface {
	// Environment returns how a port of a Service is divided; nil if it is not. The services of its subsets, and that of
	// all endpoints, are keys of endpoint sets.
	Environment(namespace, service string, port int32) *dynamic.Environment
}

// EnvironmentWatch is Environments that change; *endpoint.Environments is one.
type EnvironmentWatch interface {
	Environments
	// Notify has the function called with each Service that is divided in another way.
	Notify(handle func(namespace, service string))
	// OnStatus has the function called when the status changes.
	OnStatus(handle func())
	// Status is pending until the division of all Services is known.
	Status() client.Status
}

// Divide puts an environment service in the place of each load balancer of a result whose Service is divided. The
// subsets have the options of the load balancer, and its name with .env.TAG; the service of all endpoints has its name
// with .any. Names of other services have no dots.
func Divide(result *translation.Result, environments Environments) {
	if environments == nil {
		return
	}
	// Ranging over the map itself would come to what is added.
	for ref, object := range maps.Clone(result.Objects) {
		service, ok := object.(*dynamic.Service)
		if !ok || service.LoadBalancer == nil {
			continue
		}
		namespace, name, port, ok := splitKey(service.LoadBalancer.EndpointSet)
		if !ok {
			continue
		}
		result.AddNeed(KindEnvironment, namespace, name)
		if found := environments.Environment(namespace, name, port); found != nil {
			divide(result, ref, service, found)
		}
	}
}

// CheckUndivided adds a verdict on the service that a valid reference to a TCP port has become, if requests go to the
// Service itself, by nativeLB or nodePortLB, although it is divided: the tag has no effect on them. TCP connections
// have no tag at all.
func CheckUndivided(
	result *translation.Result, ref dynamic.Ref, reference Reference, options Options, services Services,
	environments Environments,
) {
	service := services.Service(reference.Namespace, reference.Name)
	if service == nil || environments == nil {
		return
	}
	var how string
	switch reference.targets(service, options) {
	case clusterIP:
		how = "nativeLB sends requests to its address, where any of its pods answers"
	case nodePorts:
		how = "nodePortLB sends requests to its node ports, where any of its pods answers"
	case endpoints:
		if ref.Kind == dynamic.KindService {
			return
		}
		how = "a TCP connection goes to any of its pods"
	case externalName:
		return
	}
	port, problem := findPort(service, reference.Port, corev1.ProtocolTCP)
	if problem != nil {
		return
	}
	result.AddNeed(KindEnvironment, service.Namespace, service.Name)
	if environments.Environment(service.Namespace, service.Name, port.Port) != nil {
		result.Degrade(ref, dynamic.CodeIneffectiveOption, "Service "+nameOf(service)+" is divided into environments, and "+
			how+": the tag has no effect", false)
	}
}

// splitKey takes the key of a Service's endpoint set apart.
func splitKey(key string) (namespace, service string, port int32, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 3 {
		return "", "", 0, false
	}
	service, text, _ := strings.Cut(parts[2], ":")
	number, err := strconv.ParseInt(text, 10, 32)
	return parts[1], service, int32(number), err == nil
}

// divide puts an environment service in the place of a load balancer.
func divide(result *translation.Result, ref dynamic.Ref, service *dynamic.Service, found *dynamic.Environment) {
	environment := *found
	environment.Subsets = slices.Clone(found.Subsets)
	child := func(suffix, set string) string {
		balancer := *service.LoadBalancer
		balancer.EndpointSet = set
		name := ref.Name + suffix
		result.Put(dynamic.Ref{Kind: dynamic.KindService, Name: name}, &dynamic.Service{LoadBalancer: &balancer})
		return name
	}
	for i := range environment.Subsets {
		subset := &environment.Subsets[i]
		subset.Service = child(".env."+subset.Tag, subset.Service)
	}
	environment.EndpointSet = environment.Service
	environment.Service = child(".any", environment.Service)
	result.Put(ref, &dynamic.Service{Environment: &environment, Middlewares: service.Middlewares})
}
