package static

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// KubernetesNGINX reads Ingress objects with the annotations of ingress-nginx. Options that are also keys of its
// ConfigMap, or annotations, are defaults of those: the annotation wins over the ConfigMap, and the ConfigMap over the
// option.
type KubernetesNGINX struct {
	Endpoint                     string               `json:"endpoint" description:"URL of the API server; empty means the cluster that Sluice runs in, or the one of KUBECONFIG." secret:"url"`
	Token                        string               `json:"token" description:"Bearer token, or the file that holds it; needs endpoint." secret:"true"`
	CertAuthFilePath             string               `json:"certAuthFilePath" description:"File with the CA certificates of the API server; needs endpoint." secret:"file"`
	ThrottleDuration             Duration             `json:"throttleDuration" description:"Shortest time between two messages of this provider; 0 means 10 ms." range:"0.."`
	WatchNamespace               string               `json:"watchNamespace" description:"Namespace to read, or several with commas between them; empty means all of them."`
	WatchNamespaceSelector       string               `json:"watchNamespaceSelector" description:"Labels of the namespaces of which Ingresses are read, as a selector; exclusive with watchNamespace."`
	IngressClass                 string               `json:"ingressClass" description:"Class that the annotation kubernetes.io/ingress.class of an Ingress names; with ingressClassByName also the name of an IngressClass."`
	ControllerClass              string               `json:"controllerClass" description:"Controller of the IngressClasses whose Ingresses are read."`
	WatchIngressWithoutClass     bool                 `json:"watchIngressWithoutClass" description:"Read Ingresses that name no class too."`
	IngressClassByName           bool                 `json:"ingressClassByName" description:"Read the Ingresses of the IngressClass that ingressClass names too, whatever its controller is."`
	Publish                      bool                 `json:"publish" description:"Write the addresses of publishService or publishStatusAddress to the status of Ingresses; false leaves the status to another controller."`
	PublishService               string               `json:"publishService" description:"Service (namespace/name) whose addresses the status of Ingresses shows; needs publish."`
	PublishStatusAddress         []string             `json:"publishStatusAddress" description:"Addresses that the status of Ingresses shows; needs publish, and is exclusive with publishService."`
	DefaultBackendService        string               `json:"defaultBackendService" description:"Service (namespace/name) that gets requests for which there is no host or path, and answers errors; empty means a response of status 404."`
	DisableSvcExternalName       bool                 `json:"disableSvcExternalName" description:"Keep Ingresses from leading to Services of type ExternalName."`
	HTTPEntryPoint               string               `json:"httpEntryPoint" description:"Entrypoint for requests without TLS; empty means the default ones."`
	HTTPSEntryPoint              string               `json:"httpsEntryPoint" description:"Entrypoint for requests with TLS; empty means the default ones."`
	AllowCrossNamespaceResources bool                 `json:"allowCrossNamespaceResources" description:"Let annotations refer to Secrets and ConfigMaps of other namespaces."`
	AllowSnippetAnnotations      bool                 `json:"allowSnippetAnnotations" description:"Has no effect but a warning, since directives of nginx are not executed: an Ingress whose snippet restricts access answers 503, any other one is served without its snippet."`
	GlobalAllowedResponseHeaders []string             `json:"globalAllowedResponseHeaders" description:"Names of the headers that the annotation custom-headers may set."`
	GlobalAuthURL                string               `json:"globalAuthURL" description:"URL of the external authentication of all Ingresses without one of their own." secret:"host"`
	StrictValidatePathType       bool                 `json:"strictValidatePathType" support:"inert" why:"only the admission webhook of ingress-nginx validates paths"`
	CustomHTTPErrors             []int                `json:"customHTTPErrors" description:"Statuses from 300 to 599 in place of which the default backend answers."`
	ClientBodyBufferSize         int64                `json:"clientBodyBufferSize" description:"Memory for the body of a request, in bytes; what is above it is kept in a file." range:"0.."`
	ProxyBodySize                int64                `json:"proxyBodySize" description:"Largest body of a request, in bytes; 0 is no limit." range:"0.."`
	ProxyBuffering               bool                 `json:"proxyBuffering" support:"inert" why:"responses are passed on as they come"`
	ProxyBufferSize              int64                `json:"proxyBufferSize" support:"inert" why:"responses are passed on as they come"`
	ProxyBuffersNumber           int                  `json:"proxyBuffersNumber" support:"inert" why:"responses are passed on as they come"`
	ProxyRequestBuffering        bool                 `json:"proxyRequestBuffering" description:"Read the body of a request before an endpoint gets it."`
	ProxyConnectTimeout          int                  `json:"proxyConnectTimeout" description:"Longest time to connect to an endpoint, in seconds." range:"1.."`
	ProxyReadTimeout             int                  `json:"proxyReadTimeout" description:"Longest silence of an endpoint, in seconds." range:"1.."`
	ProxySendTimeout             int                  `json:"proxySendTimeout" description:"Longest time in which an endpoint accepts nothing of a request, in seconds." range:"1.."`
	ProxyNextUpstream            string               `json:"proxyNextUpstream" description:"When another endpoint gets a request, in the words of nginx's proxy_next_upstream, such as error, timeout, http_503, non_idempotent and off."`
	ProxyNextUpstreamTries       int                  `json:"proxyNextUpstreamTries" description:"Number of endpoints that may get a request, the first one included; 0 is no limit." range:"0.."`
	ProxyNextUpstreamTimeout     int                  `json:"proxyNextUpstreamTimeout" description:"Time after which no other endpoint gets a request, in seconds; 0 is no limit." range:"0.."`
	UpstreamKeepaliveTimeout     int                  `json:"upstreamKeepaliveTimeout" description:"Time for which an unused connection to an endpoint is kept, in seconds." range:"1.."`
	IPAllowListStrategy          *IPAllowListStrategy `json:"ipAllowListStrategy" description:"Address of a request that lists and limits use, in place of that of the connection."`
	ConfigMap                    string               `json:"configMap" description:"ConfigMap of ingress-nginx (namespace/name), whose keys win over these options."`
	DefaultSSLCertificate        string               `json:"defaultSSLCertificate" description:"Secret (namespace/name) with the certificate for connections to hosts without one; empty or missing means the default certificate of the TLS store."`
	EnableSSLPassthrough         bool                 `json:"enableSSLPassthrough" description:"Let the annotation ssl-passthrough pass connections with TLS on to endpoints as they are."`
	ModSecurity                  NGINXModSecurity     `json:"modSecurity" description:"What becomes of locations that ModSecurity inspects in ingress-nginx: refuse answers 503, since there is no firewall here, ignore serves them without one, with a warning." enum:"refuse,ignore"`
	DisableCatchAll              bool                 `json:"disableCatchAll" description:"Leave out Ingresses with a default backend."`
}

// SetDefaults sets the defaults of ingress-nginx.
func (k *KubernetesNGINX) SetDefaults() {
	const minute = 60
	k.IngressClass = "nginx"
	k.ControllerClass = "k8s.io/ingress-nginx"
	k.StrictValidatePathType = true
	k.ClientBodyBufferSize = 8 << 10
	k.ProxyBodySize = 1 << 20
	k.ProxyBufferSize = 4 << 10
	k.ProxyBuffersNumber = 4
	k.ProxyRequestBuffering = true
	k.ProxyConnectTimeout = 5
	k.ProxyReadTimeout = minute
	k.ProxySendTimeout = minute
	k.ProxyNextUpstream = "error timeout"
	k.ProxyNextUpstreamTries = 3
	k.UpstreamKeepaliveTimeout = minute
	k.ModSecurity = RefuseModSecurity
}

// NGINXModSecurity says what becomes of locations that ModSecurity inspects in ingress-nginx.
type NGINXModSecurity string

// The values of KubernetesNGINX.ModSecurity.
const (
	RefuseModSecurity NGINXModSecurity = "refuse"
	IgnoreModSecurity NGINXModSecurity = "ignore"
)

// IPAllowListStrategy says which address of a request is compared with an allow list.
type IPAllowListStrategy struct {
	Depth       int      `json:"depth" description:"Number of the address in X-Forwarded-For, counted from the end; 0 means the address of the connection, or excludedIPs." range:"0.."`
	ExcludedIPs []string `json:"excludedIPs" description:"Addresses and networks that are skipped in X-Forwarded-For, from its end."`
	IPv6Subnet  int      `json:"ipv6Subnet" description:"Length of the prefix by which IPv6 addresses are taken for one; 0 means whole addresses." range:"0..128"`
}

// nginx checks the options of ingress-nginx.
func (l *loader) nginx() {
	k := l.Configuration.Providers.KubernetesIngressNGINX
	if k == nil {
		return
	}
	at := func(option string) []string { return []string{"providers", "kubernetesIngressNGINX", option} }
	if k.WatchNamespace != "" && k.WatchNamespaceSelector != "" {
		l.fail("excludes watchNamespace", at("watchNamespaceSelector")...)
	}
	for _, one := range [][2]string{
		{"configMap", k.ConfigMap},
		{"defaultBackendService", k.DefaultBackendService},
		{"defaultSSLCertificate", k.DefaultSSLCertificate},
		{"publishService", k.PublishService},
	} {
		if _, _, ok := ObjectName(one[1]); one[1] != "" && !ok {
			l.fail("expected namespace/name, got "+shorten(one[1]), at(one[0])...)
		}
	}
	for _, one := range [][2]string{{"httpEntryPoint", k.HTTPEntryPoint}, {"httpsEntryPoint", k.HTTPSEntryPoint}} {
		if one[1] != "" {
			l.exists(one[1], at(one[0])...)
		}
	}
	for _, status := range k.CustomHTTPErrors {
		const first, last = 300, 599
		if status < first || status > last {
			l.fail(fmt.Sprintf("%d is no status from %d to %d", status, first, last), at("customHTTPErrors")...)
		}
	}
	words := strings.Fields(k.ProxyNextUpstream)
	if len(words) == 0 {
		l.fail("is empty; off keeps requests from other endpoints", at("proxyNextUpstream")...)
	}
	for _, word := range words {
		if !slices.Contains(nextUpstreamWords(), word) {
			l.fail(fmt.Sprintf("%s is none of %s", shorten(word), strings.Join(nextUpstreamWords(), ", ")),
				at("proxyNextUpstream")...)
		}
	}
	if address, err := url.Parse(k.GlobalAuthURL); k.GlobalAuthURL != "" &&
		(err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https") {
		l.fail("expected a URL with http:// or https://", at("globalAuthURL")...)
	}
	if k.AllowSnippetAnnotations {
		l.warn("has no effect: directives of nginx are not executed; an Ingress whose snippet restricts access answers 503, "+
			"any other one is served without its snippet", at("allowSnippetAnnotations")...)
	}
	l.published(k)
}

// ObjectName divides NAMESPACE/NAME of an object of Kubernetes. It is ok unless one of them is empty, or the name has a
// slash.
func ObjectName(text string) (namespace, name string, ok bool) {
	namespace, name, ok = strings.Cut(text, "/")
	return namespace, name, ok && namespace != "" && name != "" && !strings.Contains(name, "/")
}

// published warns of addresses that are not written.
func (l *loader) published(k *KubernetesNGINX) {
	at := []string{"providers", "kubernetesIngressNGINX"}
	if k.Publish {
		if (k.PublishService == "") == (len(k.PublishStatusAddress) == 0) {
			l.fail("needs either publishService or publishStatusAddress", append(at, "publish")...)
		}
		return
	}
	const why = "has no effect without publish: the status of Ingresses is left alone"
	if k.PublishService != "" {
		l.warn(why, append(at, "publishService")...)
	}
	if len(k.PublishStatusAddress) > 0 {
		l.warn(why, append(at, "publishStatusAddress")...)
	}
}

// nextUpstreamWords are the conditions of proxy_next_upstream.
func nextUpstreamWords() []string {
	return []string{
		"error", "timeout", "invalid_header", "http_500", "http_502", "http_503", "http_504", "http_403", "http_404",
		"http_429", "non_idempotent", "off",
	}
}
