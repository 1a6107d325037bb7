package static

import "time"

// KubernetesCRD reads the kinds of traefik.io/v1alpha1.
type KubernetesCRD struct {
	Endpoint                     string   `json:"endpoint"`
	Token                        string   `json:"token"`
	CertAuthFilePath             string   `json:"certAuthFilePath"`
	Namespaces                   []string `json:"namespaces"`
	AllowCrossNamespace          bool     `json:"allowCrossNamespace"`
	AllowExternalNameServices    bool     `json:"allowExternalNameServices"`
	CrossProviderNamespaces      []string `json:"crossProviderNamespaces"`
	LabelSelector                string   `json:"labelSelector"`
	IngressClass                 string   `json:"ingressClass"`
	ThrottleDuration             Duration `json:"throttleDuration"`
	AllowEmptyServices           bool     `json:"allowEmptyServices"`
	NativeLBByDefault            bool     `json:"nativeLBByDefault"`
	DisableClusterScopeResources bool     `json:"disableClusterScopeResources"`
}

// KubernetesIngress reads Ingress objects.
type KubernetesIngress struct {
	Endpoint                     string           `json:"endpoint"`
	Token                        string           `json:"token"`
	CertAuthFilePath             string           `json:"certAuthFilePath"`
	Namespaces                   []string         `json:"namespaces"`
	LabelSelector                string           `json:"labelSelector"`
	IngressClass                 string           `json:"ingressClass"`
	IngressEndpoint              *IngressEndpoint `json:"ingressEndpoint"`
	ThrottleDuration             Duration         `json:"throttleDuration"`
	AllowEmptyServices           bool             `json:"allowEmptyServices"`
	AllowExternalNameServices    bool             `json:"allowExternalNameServices"`
	CrossProviderNamespaces      []string         `json:"crossProviderNamespaces"`
	DisableIngressClassLookup    bool             `json:"disableIngressClassLookup"`
	DisableClusterScopeResources bool             `json:"disableClusterScopeResources"`
	NativeLBByDefault            bool             `json:"nativeLBByDefault"`
	ReportNodeInternalIPs        bool             `json:"reportNodeInternalIPs"`
	StrictPrefixMatching         bool             `json:"strictPrefixMatching"`
}

// IngressEndpoint is the address that the status of an Ingress shows.
type IngressEndpoint struct {
	IP               string `json:"ip"`
	Hostname         string `json:"hostname"`
	PublishedService string `json:"publishedService"`
}

// KubernetesGateway reads the kinds of the Gateway API.
type KubernetesGateway struct {
	Endpoint                string         `json:"endpoint"`
	Token                   string         `json:"token"`
	CertAuthFilePath        string         `json:"certAuthFilePath"`
	Namespaces              []string       `json:"namespaces"`
	LabelSelector           string         `json:"labelSelector"`
	ThrottleDuration        Duration       `json:"throttleDuration"`
	ExperimentalChannel     bool           `json:"experimentalChannel"`
	StatusAddress           *StatusAddress `json:"statusAddress"`
	NativeLBByDefault       bool           `json:"nativeLBByDefault"`
	CrossProviderNamespaces []string       `json:"crossProviderNamespaces"`
	QPS                     float64        `json:"qps"`
	Burst                   int            `json:"burst"`
}

// SetDefaults sets the rate of requests to the API server.
func (k *KubernetesGateway) SetDefaults() {
	k.QPS = 50
	k.Burst = 100
}

// StatusAddress is the address that the status of a Gateway shows.
type StatusAddress struct {
	IP       string     `json:"ip"`
	Hostname string     `json:"hostname"`
	Service  ServiceRef `json:"service"`
}

// ServiceRef names a Service of Kubernetes.
type ServiceRef struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// Knative reads Knative's Ingress objects.
type Knative struct {
	Endpoint           string      `json:"endpoint"`
	Token              string      `json:"token"`
	CertAuthFilePath   string      `json:"certAuthFilePath"`
	Namespaces         []string    `json:"namespaces"`
	LabelSelector      string      `json:"labelSelector"`
	PublicEntrypoints  []string    `json:"publicEntrypoints"`
	PublicService      *ServiceRef `json:"publicService"`
	PrivateEntrypoints []string    `json:"privateEntrypoints"`
	PrivateService     *ServiceRef `json:"privateService"`
	ThrottleDuration   Duration    `json:"throttleDuration"`
}

// KubernetesNGINX reads Ingress objects with the annotations of ingress-nginx.
type KubernetesNGINX struct {
	Endpoint                     string               `json:"endpoint"`
	Token                        string               `json:"token"`
	CertAuthFilePath             string               `json:"certAuthFilePath"`
	ThrottleDuration             Duration             `json:"throttleDuration"`
	WatchNamespace               string               `json:"watchNamespace"`
	WatchNamespaceSelector       string               `json:"watchNamespaceSelector"`
	IngressClass                 string               `json:"ingressClass"`
	ControllerClass              string               `json:"controllerClass"`
	WatchIngressWithoutClass     bool                 `json:"watchIngressWithoutClass"`
	IngressClassByName           bool                 `json:"ingressClassByName"`
	PublishService               string               `json:"publishService"`
	PublishStatusAddress         []string             `json:"publishStatusAddress"`
	DefaultBackendService        string               `json:"defaultBackendService"`
	DisableSvcExternalName       bool                 `json:"disableSvcExternalName"`
	HTTPEntryPoint               string               `json:"httpEntryPoint"`
	HTTPSEntryPoint              string               `json:"httpsEntryPoint"`
	AllowCrossNamespaceResources bool                 `json:"allowCrossNamespaceResources"`
	AllowSnippetAnnotations      bool                 `json:"allowSnippetAnnotations"`
	GlobalAllowedResponseHeaders []string             `json:"globalAllowedResponseHeaders"`
	GlobalAuthURL                string               `json:"globalAuthURL"`
	StrictValidatePathType       bool                 `json:"strictValidatePathType"`
	CustomHTTPErrors             []int                `json:"customHTTPErrors"`
	ClientBodyBufferSize         int64                `json:"clientBodyBufferSize"`
	ProxyBodySize                int64                `json:"proxyBodySize"`
	ProxyBuffering               bool                 `json:"proxyBuffering"`
	ProxyBufferSize              int64                `json:"proxyBufferSize"`
	ProxyBuffersNumber           int                  `json:"proxyBuffersNumber"`
	ProxyRequestBuffering        bool                 `json:"proxyRequestBuffering"`
	ProxyConnectTimeout          int                  `json:"proxyConnectTimeout"`
	ProxyReadTimeout             int                  `json:"proxyReadTimeout"`
	ProxySendTimeout             int                  `json:"proxySendTimeout"`
	ProxyNextUpstream            string               `json:"proxyNextUpstream"`
	ProxyNextUpstreamTries       int                  `json:"proxyNextUpstreamTries"`
	ProxyNextUpstreamTimeout     int                  `json:"proxyNextUpstreamTimeout"`
	UpstreamKeepaliveTimeout     int                  `json:"upstreamKeepaliveTimeout"`
	IPAllowListStrategy          *IPAllowListStrategy `json:"ipAllowListStrategy"`
}

// SetDefaults sets the defaults of ingress-nginx.
func (k *KubernetesNGINX) SetDefaults() {
	const minute = int(time.Minute / time.Second)
	k.IngressClass = "nginx"
	k.ControllerClass = "k8s.io/ingress-nginx"
	k.StrictValidatePathType = true
	k.ClientBodyBufferSize = 16 << 10
	k.ProxyBodySize = 1 << 20
	k.ProxyBufferSize = 8 << 10
	k.ProxyBuffersNumber = 4
	k.ProxyConnectTimeout = minute
	k.ProxyReadTimeout = minute
	k.ProxySendTimeout = minute
	k.ProxyNextUpstream = "error timeout"
	k.ProxyNextUpstreamTries = 3
	k.UpstreamKeepaliveTimeout = minute
}

// IPAllowListStrategy says which address of a request is compared with an allow list.
type IPAllowListStrategy struct {
	Depth       int      `json:"depth"`
	ExcludedIPs []string `json:"excludedIPs"`
	IPv6Subnet  int      `json:"ipv6Subnet"`
}
