package static

import "time"

// Providers says where the dynamic configuration comes from.
type Providers struct {
	ProvidersThrottleDuration Duration            `json:"providersThrottleDuration" description:"Longest time that a burst of changes is held back." range:"0.."`
	Precedence                []string            `json:"precedence" description:"Order in which providers win when rules tie, first one first."`
	File                      *FileProvider       `json:"file" description:"Files as a source of configuration."`
	DNS                       DNSProvider         `json:"dns" description:"Resolution of endpoints that are given by name."`
	Docker                    *Docker             `json:"docker" description:"Labels of containers of a Docker engine as a source of configuration."`
	XDS                       *XDSProvider        `json:"xds" description:"An xDS server, such as another Sluice, as a source of services that are found when they are requested."`
	Swarm                     *Swarm              `json:"swarm" support:"refuse" why:"all its routes would be missing"`
	KubernetesIngress         *KubernetesIngress  `json:"kubernetesIngress" description:"Ingress objects of Kubernetes as a source of configuration."`
	KubernetesIngressNGINX    *KubernetesNGINX    `json:"kubernetesIngressNGINX" description:"Ingress objects of ingress-nginx, with its annotations, as a source of configuration."`
	KubernetesCRD             *KubernetesCRD      `json:"kubernetesCRD" description:"IngressRoute objects and their kin as a source of configuration."`
	KubernetesGateway         *KubernetesGateway  `json:"kubernetesGateway" description:"Gateways, routes and policies of the Gateway API as a source of configuration."`
	Knative                   *Knative            `json:"knative" support:"refuse" why:"all its routes would be missing"`
	Rest                      *Rest               `json:"rest" support:"refuse" why:"all its routes would be missing"`
	ConsulCatalog             *ConsulCatalog      `json:"consulCatalog" support:"refuse" why:"all its routes would be missing"`
	Nomad                     *Nomad              `json:"nomad" support:"refuse" why:"all its routes would be missing"`
	ECS                       *ECS                `json:"ecs" support:"refuse" why:"all its routes would be missing"`
	Consul                    *Consul             `json:"consul" support:"refuse" why:"all its routes would be missing"`
	Etcd                      *Etcd               `json:"etcd" support:"refuse" why:"all its routes would be missing"`
	ZooKeeper                 *ZooKeeper          `json:"zooKeeper" support:"refuse" why:"all its routes would be missing"`
	Redis                     *Redis              `json:"redis" support:"refuse" why:"all its routes would be missing"`
	HTTP                      *HTTPProvider       `json:"http" support:"refuse" why:"all its routes would be missing"`
	Plugin                    map[string]FreeForm `json:"plugin" support:"refuse" why:"all its routes would be missing"`
}

// DefaultThrottle is the longest time that a burst of changes is held back by default.
const DefaultThrottle = Duration(2 * time.Second)

// SetDefaults sets the throttle and the order of the providers.
func (p *Providers) SetDefaults() {
	p.ProvidersThrottleDuration = DefaultThrottle
	p.Precedence = []string{
		"kubernetesgateway", "kubernetescrd", "kubernetes", "kubernetesingressnginx", "swarm", "docker", "file", "redis",
		"knative", "consul", "consulcatalog", "nomad", "etcd", "ecs", "http", "zookeeper", "rest",
	}
	p.DNS.SetDefaults()
}

// FileProvider reads the dynamic configuration from one file or from a directory with its subdirectories.
type FileProvider struct {
	Filename                  string `json:"filename" description:"File to read; exclusive with directory."`
	Directory                 string `json:"directory" description:"Directory to read with its subdirectories; exclusive with filename."`
	Watch                     bool   `json:"watch" description:"Read again when something changes."`
	DebugLogGeneratedTemplate bool   `json:"debugLogGeneratedTemplate" description:"Log what templates generate, on level DEBUG."`
}

// SetDefaults watches for changes.
func (f *FileProvider) SetDefaults() {
	f.Watch = true
}

// DNSProvider resolves endpoints that are given by name, such as http://backend:8080.
type DNSProvider struct {
	Resolvers []string `json:"resolvers" description:"DNS servers as host[:port]; none means those of /etc/resolv.conf."`
	MinTTL    Duration `json:"minTTL" description:"Shortest time after which a name is resolved again." range:"0.."`
	MaxTTL    Duration `json:"maxTTL" description:"Longest time after which a name is resolved again." range:"0.."`
}

// SetDefaults bounds the time to live to between one second and five minutes.
func (d *DNSProvider) SetDefaults() {
	d.MinTTL = Duration(time.Second)
	d.MaxTTL = Duration(5 * time.Minute)
}

// Rest is Traefik's provider that takes configuration by PUT.
type Rest struct {
	Insecure bool `json:"insecure"`
}

// HTTPProvider polls a URL for configuration.
type HTTPProvider struct {
	Endpoint            string            `json:"endpoint" secret:"host"`
	PollInterval        Duration          `json:"pollInterval"`
	PollTimeout         Duration          `json:"pollTimeout"`
	Headers             map[string]string `json:"headers" secret:"true"`
	TLS                 *ClientTLS        `json:"tls"`
	MaxResponseBodySize int64             `json:"maxResponseBodySize"`
}

// SetDefaults polls every five seconds without a limit of size.
func (h *HTTPProvider) SetDefaults() {
	h.PollInterval = Duration(5 * time.Second)
	h.PollTimeout = Duration(5 * time.Second)
	h.MaxResponseBodySize = -1
}

// ClientTLS is TLS towards the source of a configuration, or the sink of telemetry.
type ClientTLS struct {
	CA                 string `json:"ca" description:"Authorities that the server's certificate must come from, as a file or as PEM; none means those of the system." secret:"file"`
	Cert               string `json:"cert" description:"Certificate to present, as a file or as PEM; it goes with key." secret:"file"`
	Key                string `json:"key" description:"Key of the certificate, as a file or as PEM." secret:"file"`
	InsecureSkipVerify bool   `json:"insecureSkipVerify" description:"Accept whatever certificate the server presents."`
}

// FreeForm is the configuration of a plugin: its keys are not known here, and nothing uses them.
type FreeForm map[string]any
