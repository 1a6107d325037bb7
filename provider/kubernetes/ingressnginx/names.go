package ingressnginx

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// Name is the provider's name, the part behind @ of the names of its objects.
const Name = "kubernetesingressnginx"

// The kinds of sources that are translated, beside kindClass and those of backends, which are read alone.
const (
	kindIngress = "Ingress"
	// kindServer is a host: its plan, and what no Ingress declares by itself.
	kindServer = "NGINXServer"
	// kindSettings is the ConfigMap of ingress-nginx as it is understood.
	kindSettings = "NGINXSettings"
	// kindUpstream is a port of a Service: what the Ingresses that lead there say about it.
	kindUpstream = "NGINXUpstream"
)

// The kinds of sources that are touched when a value has changed on which translations depend.
const (
	// kindPlan is the plan of a host.
	kindPlan = "NGINXServerPlan"
	// kindSettingsInForce are the settings of all Ingresses.
	kindSettingsInForce = "NGINXSettingsInForce"
	// kindUpstreamPlan is how the endpoints of a port of a Service are chosen.
	kindUpstreamPlan = "NGINXUpstreamPlan"
)

// ingressSource returns the source of an Ingress.
func ingressSource(name types.NamespacedName) translation.Source {
	return translation.Source{Kind: kindIngress, Namespace: name.Namespace, Name: name.Name}
}

// serverSource returns the source of a host.
func serverSource(host string) translation.Source {
	return translation.Source{Kind: kindServer, Name: host}
}

// planSource returns the source that is touched when the plan of a host is another one.
func planSource(host string) translation.Source {
	return translation.Source{Kind: kindPlan, Name: host}
}

// source returns the source that is touched when an Ingress that leads there has changed.
func (k serviceKey) source() translation.Source {
	return translation.Source{Kind: kindUpstream, Namespace: k.Namespace, Name: k.Service + ":" + k.Port}
}

// upstreamPlanSource returns the source that is touched when the plan of a port of a Service is another one.
func upstreamPlanSource(k serviceKey) translation.Source {
	return translation.Source{Kind: kindUpstreamPlan, Namespace: k.Namespace, Name: k.Service + ":" + k.Port}
}

// settingsSource returns the source of the settings.
func settingsSource() translation.Source { return translation.Source{Kind: kindSettings} }

// settingsInForceSource returns the source that is touched when the settings are others.
func settingsInForceSource() translation.Source { return translation.Source{Kind: kindSettingsInForce} }

func originOf(ingress *networkingv1.Ingress) dynamic.Origin {
	return dynamic.Origin{
		Object: kindIngress + " " + ingress.Namespace + "/" + ingress.Name,
		Resource: &dynamic.Resource{
			APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: kindIngress,
			Namespace: ingress.Namespace, Name: ingress.Name,
			UID: string(ingress.UID), Generation: ingress.Generation,
		},
	}
}

// hostName returns a host as a part of a name.
func hostName(host string) string {
	return strings.NewReplacer("*", "wildcard", "@", "-", "/", "-").Replace(host)
}

// nameOfPath returns the name of a path of an Ingress, in the order of rules and paths: NAMESPACE.INGRESS,RULE,PATH.
// That of a "/" that is not declared is NAMESPACE.INGRESS,HOST, or server,HOST where it belongs to no Ingress. Names of
// Kubernetes have no commas.
func nameOfPath(host string, of *location) string {
	owner := "server"
	if of.Owner != (types.NamespacedName{}) {
		owner = of.Owner.Namespace + "." + of.Owner.Name
	}
	if of.Rule < 0 {
		return owner + "," + hostName(host)
	}
	return fmt.Sprintf("%s,%03d,%03d", owner, of.Rule, of.Index)
}

// nameOfServer returns what the names of a host's own objects begin with.
func nameOfServer(host string) string { return "server," + hostName(host) }

// nameOfService returns the name of a Service's port: NAMESPACE.SERVICE,PORT.
func nameOfService(key serviceKey) string { return key.Namespace + "." + key.Service + "," + key.Port }

// hashed appends the hash of an object to a name. Different objects of one name close the routers that refer to it, so
// the hash is a cryptographic one: an Ingress cannot be written to clash with another one.
func hashed(name string, object any) string {
	text, err := json.Marshal(object)
	if err != nil { // The model has nothing that cannot be encoded.
		return name
	}
	sum := sha256.Sum256(text)
	return name + "-" + hex.EncodeToString(sum[:16])
}
