package static

import (
	"fmt"
	"net"
	"strings"
	"time"
)

// Injector is the admission webhook that injects into pods, of sluice injector and of Sluice itself.
type Injector struct {
	Address              string           `json:"address" description:"Address on which reviews are answered over TLS, with /healthz and /ready, as [host]:port."`
	StatusAddress        string           `json:"statusAddress" description:"Address on which /healthz, /ready, /metrics and /api/injector are served without TLS, as [host]:port; empty serves them not."`
	Config               string           `json:"config" description:"File with the configuration of the injector, or directory with the files config and values; it is read again when it changes."`
	ConfigMap            string           `json:"configMap" description:"ConfigMap with the configuration under the keys config and values, as [namespace/]name, in place of config."`
	OnError              string           `json:"onError" description:"What becomes of a pod when injection fails: allow admits it as it is, with a warning, deny refuses it." enum:"allow,deny"`
	NativeSidecars       bool             `json:"nativeSidecars" description:"Use init containers with restartPolicy Always for sidecars, which needs Kubernetes 1.29 or later."`
	MaxConcurrentReviews int              `json:"maxConcurrentReviews" description:"Largest number of reviews that are answered at once; others wait for up to 2 s, and are answered 429 then." range:"1.."`
	Events               bool             `json:"events" description:"Record Events about injected and skipped pods at their owners."`
	Namespace            string           `json:"namespace" description:"Namespace of the Service and of the Secret; empty is the one that the injector runs in."`
	Service              string           `json:"service" description:"Service by which the API server reaches the injector; its names are in the certificate, and webhooks that lead to it get the caBundle."`
	ServerNames          []string         `json:"serverNames" description:"Further DNS names and IP addresses in the certificate, for webhooks with a URL."`
	Secret               string           `json:"secret" description:"Secret in which the authority of the certificates is kept; it is created."`
	TLS                  *InjectorTLS     `json:"tls" description:"Certificate from files, in place of an authority of its own; the caBundle of the webhook is then kept by others."`
	WebhookConfiguration string           `json:"webhookConfiguration" description:"MutatingWebhookConfiguration whose caBundle is kept; empty keeps none."`
	Webhooks             []string         `json:"webhooks" description:"Names of the webhooks in it that are kept; without any, those that lead to the Service."`
	Enforce              *InjectorEnforce `json:"enforce" description:"Set failurePolicy Fail once a dry run has proved that pods are injected, and Ignore before the last replica stops."`
	DrainTimeout         Duration         `json:"drainTimeout" description:"How long reviews are still answered after SIGTERM, while /ready answers 503."`
}

// SetDefaults answers reviews on port 8443 with an authority of its own.
func (i *Injector) SetDefaults() {
	i.Address = ":8443"
	i.OnError = "allow"
	i.NativeSidecars = true
	i.MaxConcurrentReviews = 64
	i.Events = true
	i.Service = "sluice-injector"
	i.Secret = "sluice-injector-ca" //nolint:gosec // A name.
	i.WebhookConfiguration = "sluice-injector"
	i.DrainTimeout = Duration(5 * time.Second)
}

// InjectorTLS is a certificate from files, which are read again when they change.
type InjectorTLS struct {
	CertFile string `json:"certFile" description:"Certificate of the webhook, as a file or PEM text." secret:"file"`
	KeyFile  string `json:"keyFile" description:"Key of the certificate, as a file or PEM text." secret:"file"`
}

// InjectorEnforce has pods refused while no replica answers; its presence enables it.
type InjectorEnforce struct {
	Namespace string            `json:"namespace" description:"Namespace in which a pod is created as a dry run; the webhook must select it."`
	Labels    map[string]string `json:"labels" description:"Labels of that pod, such as those that the webhook selects."`
}

// injector checks the options of the injector.
func (l *loader) injector() {
	i := l.Configuration.Injector
	if i == nil {
		return
	}
	for _, one := range []struct{ option, address string }{{"address", i.Address}, {"statusAddress", i.StatusAddress}} {
		if _, _, err := net.SplitHostPort(one.address); err != nil && (one.address != "" || one.option == "address") {
			l.fail(fmt.Sprintf("bad address %s, expected [host]:port", shorten(one.address)), "injector", one.option)
		}
	}
	switch {
	case i.Config == "" && i.ConfigMap == "":
		l.fail("needs config or configMap", "injector")
	case i.Config != "" && i.ConfigMap != "":
		l.fail("config and configMap exclude each other", "injector", "configMap")
	case strings.Count(i.ConfigMap, "/") > 1 || strings.HasPrefix(i.ConfigMap, "/") || strings.HasSuffix(i.ConfigMap, "/"):
		l.fail(fmt.Sprintf("bad name %s, expected [namespace/]name", shorten(i.ConfigMap)), "injector", "configMap")
	}
	if i.TLS != nil && (i.TLS.CertFile == "" || i.TLS.KeyFile == "") {
		l.fail("needs certFile and keyFile", "injector", "tls")
	}
	if i.TLS == nil && i.Secret == "" {
		l.fail("is missing, expected the name of a Secret", "injector", "secret")
	}
	if i.TLS == nil && i.Service == "" && len(i.ServerNames) == 0 {
		l.fail("needs service or serverNames, without which the certificate has no name", "injector")
	}
	if i.WebhookConfiguration != "" && i.Service == "" && len(i.Webhooks) == 0 {
		l.fail("needs service or webhooks, by which the webhooks that are kept are known", "injector", "webhookConfiguration")
	}
	l.injectorEnforce(i)
	if i.DrainTimeout < 0 {
		l.fail("is negative", "injector", "drainTimeout")
	}
}

func (l *loader) injectorEnforce(i *Injector) {
	switch {
	case i.Enforce == nil:
	case i.Enforce.Namespace == "":
		l.fail("needs a namespace, in which the webhook is proved by a dry run", "injector", "enforce")
	case i.WebhookConfiguration == "":
		l.fail("needs injector.webhookConfiguration", "injector", "enforce")
	case i.Service == "":
		l.fail("needs injector.service, by which the replicas are known", "injector", "enforce")
	}
}
