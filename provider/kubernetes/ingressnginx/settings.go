package ingressnginx

import (
	"maps"
	"reflect"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
)

// translateSettings reads the ConfigMap of ingress-nginx, and declares the default certificate.
func (p *Provider) translateSettings() (result translation.Result, ok bool) {
	name, _ := objectName(p.config.ConfigMap)
	result.Origin = dynamic.Origin{Object: "providers.kubernetesIngressNGINX"}
	if name.Name != "" {
		result.AddNeed(backend.KindConfigMap, name.Namespace, name.Name)
		result.Origin = dynamic.Origin{Object: backend.KindConfigMap + " " + name.String()}
	}
	ref := dynamic.Ref{Kind: dynamic.KindSource, Name: result.Origin.Object}
	given := p.watches.ConfigMap(name.Namespace, name.Name)
	var data map[string]string
	switch {
	case given != nil:
		result.Origin.Resource = &dynamic.Resource{
			APIVersion: corev1.SchemeGroupVersion.String(), Kind: backend.KindConfigMap, Namespace: name.Namespace,
			Name: name.Name, UID: string(given.UID), Generation: given.Generation,
		}
		data = given.Data
	case name.Name != "" && !p.unreadableConfig():
		result.Degrade(ref, dynamic.CodeMissingReference, "ConfigMap "+name.String()+
			" does not exist, so that the options of the provider apply", true)
	}
	settings, findings := readSettings(&p.config, name.Namespace, data)
	settings.Given = given != nil
	if p.unreadable = p.unreadableConfig(); p.unreadable && given == nil {
		settings.Closed = "ConfigMap " + name.String() + " cannot be read, so that what it protects is unknown"
		result.Degrade(ref, dynamic.CodeMissingReference, settings.Closed+": all locations answer 503", false)
	}
	for i := range findings {
		if findings[i].Verdict >= annotation.Ignored {
			result.Degrade(ref, dynamic.CodeUnsupportedOption, findings[i].Key+": "+findings[i].Reason, false)
		}
	}
	p.defaultCertificate(&result, ref)
	for _, from := range []*annotation.Reference{settings.AddHeaders, settings.ProxySetHeaders} {
		if from == nil {
			continue
		}
		result.AddNeed(backend.KindConfigMap, from.Namespace, from.Name)
		if p.watches.ConfigMap(from.Namespace, from.Name) == nil {
			result.Degrade(ref, dynamic.CodeMissingReference, "ConfigMap "+from.Namespace+"/"+from.Name+
				" with headers does not exist", true)
		}
	}
	if !reflect.DeepEqual(settings, p.settings) {
		p.setSettings(settings)
		p.retouch(settingsInForceSource())
	}
	return result, true
}

// unreadableConfig reports whether the configuration names a ConfigMap, and ConfigMaps cannot be read. A watch that
// starts again changes nothing.
func (p *Provider) unreadableConfig() bool {
	if p.config.ConfigMap == "" {
		return false
	}
	switch p.watches.configMaps.Status().State {
	case dynamic.StatePending:
		return p.unreadable
	case dynamic.StateForbidden, dynamic.StateTimedOut, dynamic.StateAbsent:
		return true
	}
	return false
}

// setSettings makes settings those of all Ingresses.
func (p *Provider) setSettings(settings *annotation.Settings) {
	p.settings, p.reader = settings, annotation.NewReader(settings)
	p.defaults, _ = p.reader.Read("", nil)
	clear(p.parsed)
	clear(p.upstreams)
}

// readSettings returns what holds for all Ingresses: of each key the value in the ConfigMap, or else the option of the
// provider, which always has one. An option holds too where ingress-nginx does not accept the ConfigMap's value.
func readSettings(
	config *static.KubernetesNGINX, namespace string, given map[string]string,
) (*annotation.Settings, []annotation.Finding) {
	data, options := maps.Clone(given), settingsOf(config)
	if data == nil {
		data = map[string]string{}
	}
	_, findings := annotation.ReadConfigMap(namespace, given)
	for i := range findings {
		if findings[i].Verdict == annotation.Ignored {
			delete(data, findings[i].Key)
		}
	}
	for i := range options {
		if _, found := data[options[i].key]; !found {
			data[options[i].key] = options[i].value
		}
	}
	settings, found := annotation.ReadConfigMap(namespace, data)
	for i := range found {
		if _, own := given[found[i].Key]; own {
			continue
		}
		for j := range options {
			if options[j].key == found[i].Key {
				found[i].Key = options[j].name
			}
		}
	}
	return settings, found
}

// setting is an option of the provider that a key of the ConfigMap replaces.
type setting struct{ name, key, value string }

// settingsOf returns the options of the provider as keys of the ConfigMap.
func settingsOf(config *static.KubernetesNGINX) []setting {
	number := func(value int) string { return strconv.Itoa(value) }
	size := func(value int64) string { return strconv.FormatInt(value, 10) }
	statuses := make([]string, len(config.CustomHTTPErrors))
	for i, status := range config.CustomHTTPErrors {
		statuses[i] = strconv.Itoa(status)
	}
	buffering := "off"
	if config.ProxyRequestBuffering {
		buffering = "on"
	}
	return []setting{
		{
			"allowCrossNamespaceResources", "allow-cross-namespace-resources",
			strconv.FormatBool(config.AllowCrossNamespaceResources),
		},
		{"clientBodyBufferSize", "client-body-buffer-size", size(config.ClientBodyBufferSize)},
		{"customHTTPErrors", "custom-http-errors", strings.Join(statuses, ",")},
		{
			"globalAllowedResponseHeaders", "global-allowed-response-headers",
			strings.Join(config.GlobalAllowedResponseHeaders, ","),
		},
		{"globalAuthURL", "global-auth-url", config.GlobalAuthURL},
		{"proxyBodySize", "proxy-body-size", size(config.ProxyBodySize)},
		{"proxyConnectTimeout", "proxy-connect-timeout", number(config.ProxyConnectTimeout)},
		{"proxyNextUpstream", "proxy-next-upstream", config.ProxyNextUpstream},
		{"proxyNextUpstreamTimeout", "proxy-next-upstream-timeout", number(config.ProxyNextUpstreamTimeout)},
		{"proxyNextUpstreamTries", "proxy-next-upstream-tries", number(config.ProxyNextUpstreamTries)},
		{"proxyReadTimeout", "proxy-read-timeout", number(config.ProxyReadTimeout)},
		{"proxyRequestBuffering", "proxy-request-buffering", buffering},
		{"proxySendTimeout", "proxy-send-timeout", number(config.ProxySendTimeout)},
		{"upstreamKeepaliveTimeout", "upstream-keepalive-timeout", number(config.UpstreamKeepaliveTimeout)},
	}
}
