package static

// KubernetesCRD reads the kinds of traefik.io/v1alpha1, traefik.containo.us/v1alpha1 and sluice.dev/v1alpha1.
type KubernetesCRD struct {
	Endpoint                     string   `json:"endpoint" description:"URL of the API server; empty means the cluster that Sluice runs in, or the one of KUBECONFIG." secret:"url"`
	Token                        string   `json:"token" description:"Bearer token, or the file that holds it; needs endpoint." secret:"true"`
	CertAuthFilePath             string   `json:"certAuthFilePath" description:"File with the CA certificates of the API server; needs endpoint." secret:"file"`
	Namespaces                   []string `json:"namespaces" description:"Namespaces to read; none means all of them."`
	AllowCrossNamespace          bool     `json:"allowCrossNamespace" description:"Let an object refer to objects of other namespaces."`
	AllowExternalNameServices    bool     `json:"allowExternalNameServices" description:"Let routes lead to Services of type ExternalName."`
	CrossProviderNamespaces      []string `json:"crossProviderNamespaces" description:"Namespaces whose objects may refer to objects of other providers (name@provider); unset means all of them."`
	LabelSelector                string   `json:"labelSelector" description:"Labels of the objects to read, as a selector; Services, Secrets and endpoints are read whatever their labels."`
	IngressClass                 string   `json:"ingressClass" description:"Class of the objects to read; empty means those without a class, and of the classes traefik and sluice."`
	ThrottleDuration             Duration `json:"throttleDuration" description:"Shortest time between two messages of this provider; 0 means 10 ms." range:"0.."`
	AllowEmptyServices           bool     `json:"allowEmptyServices" support:"inert" why:"a route without endpoints answers 503 in any case"`
	NativeLBByDefault            bool     `json:"nativeLBByDefault" description:"Forward to a Service's own address instead of its endpoints, where nothing else is said."`
	DisableClusterScopeResources bool     `json:"disableClusterScopeResources" description:"Read nothing that has no namespace (Nodes, IngressClasses)."`
}

// KubernetesIngress reads Ingress objects.
type KubernetesIngress struct {
	Endpoint                     string           `json:"endpoint" description:"URL of the API server; empty means the cluster that Sluice runs in, or the one of KUBECONFIG." secret:"url"`
	Token                        string           `json:"token" description:"Bearer token, or the file that holds it; needs endpoint." secret:"true"`
	CertAuthFilePath             string           `json:"certAuthFilePath" description:"File with the CA certificates of the API server; needs endpoint." secret:"file"`
	Namespaces                   []string         `json:"namespaces" description:"Namespaces to read; none means all of them."`
	LabelSelector                string           `json:"labelSelector" description:"Labels of the Ingresses to read, as a selector."`
	IngressClass                 string           `json:"ingressClass" description:"Class of the Ingresses to read; empty means those without a class, and of the classes whose controller Sluice is."`
	IngressEndpoint              *IngressEndpoint `json:"ingressEndpoint" description:"Address that the status of every Ingress shows."`
	ThrottleDuration             Duration         `json:"throttleDuration" description:"Shortest time between two messages of this provider; 0 means 10 ms." range:"0.."`
	AllowEmptyServices           bool             `json:"allowEmptyServices" support:"inert" why:"a route without endpoints answers 503 in any case"`
	AllowExternalNameServices    bool             `json:"allowExternalNameServices" description:"Let routes lead to Services of type ExternalName."`
	CrossProviderNamespaces      []string         `json:"crossProviderNamespaces" description:"Namespaces whose objects may refer to objects of other providers (name@provider); unset means all of them."`
	DisableIngressClassLookup    bool             `json:"disableIngressClassLookup" description:"Read no IngressClass objects; classes are then compared by name."`
	DisableClusterScopeResources bool             `json:"disableClusterScopeResources" description:"Read nothing that has no namespace (Nodes, IngressClasses)."`
	NativeLBByDefault            bool             `json:"nativeLBByDefault" description:"Forward to a Service's own address instead of its endpoints, where nothing else is said."`
	ReportNodeInternalIPs        bool             `json:"reportNodeInternalIPs" description:"Show the internal addresses of Nodes in the status of an Ingress, where there are no external ones."`
	StrictPrefixMatching         bool             `json:"strictPrefixMatching" description:"Match paths of type Prefix by whole segments."`
}

// IngressEndpoint is the address that the status of an Ingress shows.
type IngressEndpoint struct {
	IP               string `json:"ip" description:"IP address to show."`
	Hostname         string `json:"hostname" description:"Host name to show."`
	PublishedService string `json:"publishedService" description:"Service (namespace/name) whose addresses are shown."`
}

// Knative reads Knative's Ingress objects.
type Knative struct {
	Endpoint           string      `json:"endpoint" secret:"url"`
	Token              string      `json:"token" secret:"true"`
	CertAuthFilePath   string      `json:"certAuthFilePath" secret:"file"`
	Namespaces         []string    `json:"namespaces"`
	LabelSelector      string      `json:"labelSelector"`
	PublicEntrypoints  []string    `json:"publicEntrypoints"`
	PublicService      *ServiceRef `json:"publicService"`
	PrivateEntrypoints []string    `json:"privateEntrypoints"`
	PrivateService     *ServiceRef `json:"privateService"`
	ThrottleDuration   Duration    `json:"throttleDuration"`
}
