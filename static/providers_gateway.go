package static

import (
	"fmt"
	"net/netip"
	"strings"
)

// KubernetesGateway reads the kinds of the Gateway API.
type KubernetesGateway struct {
	Endpoint                string          `json:"endpoint" description:"URL of the API server; empty means the cluster that Sluice runs in, or the one of KUBECONFIG." secret:"url"`
	Token                   string          `json:"token" description:"Bearer token, or the file that holds it; needs endpoint." secret:"true"`
	CertAuthFilePath        string          `json:"certAuthFilePath" description:"File with the CA certificates of the API server; needs endpoint." secret:"file"`
	Namespaces              []string        `json:"namespaces" description:"Namespaces to read; none means all of them."`
	LabelSelector           string          `json:"labelSelector" description:"Labels of the GatewayClasses to read, as a selector; all other objects are read whatever their labels."`
	ThrottleDuration        Duration        `json:"throttleDuration" description:"Shortest time between two messages of this provider; 0 means 10 ms." range:"0.."`
	ExperimentalChannel     bool            `json:"experimentalChannel" description:"Read the kinds and fields of the experimental channel too."`
	StatusAddress           *StatusAddress  `json:"statusAddress" description:"Addresses that the status of every Gateway shows, in place of those that it is reached at."`
	NativeLBByDefault       bool            `json:"nativeLBByDefault" description:"Forward to a Service's own address instead of its endpoints, where nothing else is said."`
	CrossProviderNamespaces []string        `json:"crossProviderNamespaces" description:"Namespaces whose objects may refer to objects of other providers (name@provider); unset means all of them, except for services of Sluice itself (name@internal)."`
	QPS                     float64         `json:"qps" description:"Largest number of requests in a second, on average, that write statuses, and of those that write Services."`
	Burst                   int             `json:"burst" description:"Largest number of such requests at once." range:"1.."`
	ControllerName          string          `json:"controllerName" description:"Name of this controller, as domain/path; GatewayClasses of this name are served."`
	Exposure                GatewayExposure `json:"exposure" description:"How Gateways get their addresses: service creates a Service for each of them in front of private ports, node listens on their ports on the node, where one Gateway has a port, pool gives each of them an address of addressPool." enum:"service,node,pool"`
	AddressPool             []string        `json:"addressPool" description:"Addresses and networks (CIDR) of this machine of which each Gateway gets one, with the exposure pool."`
	MergeGateways           bool            `json:"mergeGateways" description:"Let all Gateways share one Service, or one address."`
	Service                 GatewayService  `json:"service" description:"Services that the exposure service creates."`
	EntryPointTemplate      string          `json:"entryPointTemplate" description:"Entrypoint whose options apply to the listeners of Gateways, except for address, asDefault, http.tls, http.redirections, http3 and tcp.preferHTTP; empty means the defaults."`
}

// DefaultGatewayController is the name of the controller in GatewayClasses by default.
const DefaultGatewayController = "sluice.dev/gateway-controller"

// SetDefaults exposes each Gateway by a Service, and sets the rate of writes.
func (k *KubernetesGateway) SetDefaults() {
	k.QPS = 50
	k.Burst = 100
	k.ControllerName = DefaultGatewayController
	k.Exposure = ExposeByService
	k.Service.SetDefaults()
}

// GatewayExposure is how Gateways get addresses.
type GatewayExposure string

// The exposures of Gateways.
const (
	// ExposeByService creates a Service for each Gateway.
	ExposeByService GatewayExposure = "service"
	// ExposeOnNode listens on the ports of the node.
	ExposeOnNode GatewayExposure = "node"
	// ExposeByPool gives each Gateway an address of a list.
	ExposeByPool GatewayExposure = "pool"
)

// GatewayService describes the Services of the exposure service.
type GatewayService struct {
	Selector  string `json:"selector" description:"Labels of the pods of Sluice, as a selector; they are looked for in the namespace that Sluice runs in."`
	Type      string `json:"type" description:"Type of the Services." enum:"LoadBalancer,NodePort,ClusterIP"`
	FirstPort int    `json:"firstPort" description:"First of the ports on which Sluice listens behind the Services." range:"1..65535"`
	LastPort  int    `json:"lastPort" description:"Last of these ports." range:"1..65535"`
}

// DefaultGatewaySelector selects the pods of the Helm chart and of the manifests.
const DefaultGatewaySelector = "app.kubernetes.io/name=sluice"

// SetDefaults creates load balancers in front of 10,000 ports that are neither node ports nor those of outgoing
// connections.
func (s *GatewayService) SetDefaults() {
	s.Selector = DefaultGatewaySelector
	s.Type = "LoadBalancer"
	s.FirstPort, s.LastPort = 20_000, 29_999
}

// StatusAddress is the address that the status of a Gateway shows.
type StatusAddress struct {
	IP       string     `json:"ip" description:"IP address to show."`
	Hostname string     `json:"hostname" description:"Host name to show."`
	Service  ServiceRef `json:"service" description:"Service whose addresses are shown, if neither ip nor hostname is set."`
}

// ServiceRef names a Service of Kubernetes.
type ServiceRef struct {
	Name      string `json:"name" description:"Name of the Service."`
	Namespace string `json:"namespace" description:"Namespace of the Service."`
}

// gateway checks options of the Gateway API that depend on one another.
func (l *loader) gateway() {
	k := l.Configuration.Providers.KubernetesGateway
	if k == nil {
		return
	}
	fail := func(reason string, path ...string) {
		l.fail(reason, append([]string{"providers", "kubernetesGateway"}, path...)...)
	}
	if domain, path, ok := strings.Cut(k.ControllerName, "/"); !ok || !strings.Contains(domain, ".") || path == "" {
		fail(fmt.Sprintf("expected domain/path, got %s", shorten(k.ControllerName)), "controllerName")
	}
	if k.QPS < 1 {
		fail(fmt.Sprintf("%v is below 1", k.QPS), "qps")
	}
	if k.EntryPointTemplate != "" {
		l.exists(k.EntryPointTemplate, "providers", "kubernetesGateway", "entryPointTemplate")
	}
	for i, one := range k.AddressPool {
		if _, err := PoolPrefix(one); err != nil {
			fail(fmt.Sprintf("expected an IP address or a network such as 192.0.2.0/28, got %s", shorten(one)),
				"addressPool", index(i))
		}
	}
	switch pool := k.Exposure == ExposeByPool; {
	case pool && len(k.AddressPool) == 0:
		fail("is missing: the exposure pool takes the addresses of Gateways from it", "addressPool")
	case !pool && len(k.AddressPool) > 0:
		fail("has an effect with the exposure pool only", "addressPool")
	}
	if k.Exposure == ExposeByService {
		l.gatewayService(&k.Service)
	}
	l.statusAddress(k.StatusAddress)
}

// gatewayService checks the Services of Gateways.
func (l *loader) gatewayService(s *GatewayService) {
	at := []string{"providers", "kubernetesGateway", "service"}
	if strings.TrimSpace(s.Selector) == "" {
		l.fail("is empty, which would select every pod", append(at, "selector")...)
	}
	if s.FirstPort > s.LastPort {
		l.fail(fmt.Sprintf("is above lastPort, which is %d", s.LastPort), append(at, "firstPort")...)
	}
	for name, entryPoint := range l.Configuration.EntryPoints {
		address, err := entryPoint.ListenAddress()
		if err == nil && int(address.Port) >= s.FirstPort && int(address.Port) <= s.LastPort {
			l.fail(fmt.Sprintf("is one of the ports %d to %d, which providers.kubernetesGateway.service keeps for Gateways",
				s.FirstPort, s.LastPort), "entryPoints", name, "address")
		}
	}
}

// statusAddress checks that it is known which addresses are shown.
func (l *loader) statusAddress(s *StatusAddress) {
	if s == nil {
		return
	}
	at := []string{"providers", "kubernetesGateway", "statusAddress"}
	named := s.Service != ServiceRef{}
	switch fixed := s.IP != "" || s.Hostname != ""; {
	case fixed && named:
		l.fail("excludes ip and hostname", append(at, "service")...)
	case !fixed && !named:
		l.fail("needs ip, hostname or service", at...)
	case named && (s.Service.Name == "" || s.Service.Namespace == ""):
		l.fail("needs name and namespace", append(at, "service")...)
	}
	if _, err := netip.ParseAddr(s.IP); s.IP != "" && err != nil {
		l.fail(fmt.Sprintf("expected an IP address, got %s", shorten(s.IP)), append(at, "ip")...)
	}
}

// PoolPrefix reads an element of KubernetesGateway.AddressPool: a network, or an IP address as a network of one.
func PoolPrefix(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("neither an IP address nor a network: %w", err)
	}
	return prefix.Masked(), nil
}
