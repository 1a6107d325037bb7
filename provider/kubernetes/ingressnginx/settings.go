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

// translateSettings reads the ConfigMap of ingress-nginx, and declares nothing.
func (p *Provider) translateSettings() (result translation.Result, ok bool) {
	data := settingsOf(&p.config)
	name, _ := objectName(p.config.ConfigMap)
	result.Origin = dynamic.Origin{Object: "providers.kubernetesIngressNGINX"}
	if name.Name != "" {
		result.AddNeed(backend.KindConfigMap, name.Namespace, name.Name)
		result.Origin = dynamic.Origin{Object: backend.KindConfigMap + " " + name.String()}
	}
	ref := dynamic.Ref{Kind: dynamic.KindSource, Name: result.Origin.Object}
	given := p.watches.ConfigMap(name.Namespace, name.Name)
	switch {
	case given != nil:
		result.Origin.Resource = &dynamic.Resource{
			APIVersion: corev1.SchemeGroupVersion.String(), Kind: backend.KindConfigMap, Namespace: name.Namespace,
			Name: name.Name, UID: string(given.UID), Generation: given.Generation,
		}
		maps.Copy(data, given.Data)
	case name.Name != "":
		result.Degrade(ref, dynamic.CodeMissingReference, "ConfigMap "+name.String()+
			" does not exist, so that the defaults of ingress-nginx apply, as they do there", true)
	}
	settings, findings := annotation.ReadConfigMap(name.Namespace, data)
	for i := range findings {
		if findings[i].Verdict >= annotation.Ignored {
			result.Degrade(ref, dynamic.CodeUnsupportedOption, findings[i].Key+": "+findings[i].Reason, false)
		}
	}
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
		p.retouch(setSource())
	}
	return result, true
}

// setSettings makes settings those of all Ingresses.
func (p *Provider) setSettings(settings *annotation.Settings) {
	p.settings, p.reader = settings, annotation.NewReader(settings)
	p.defaults, _ = p.reader.Read("", nil)
	clear(p.parsed)
	clear(p.upstreams)
}

// settingsOf returns the options of the provider as keys of the ConfigMap, which may replace them.
func settingsOf(config *static.KubernetesNGINX) map[string]string {
	defaults := static.KubernetesNGINX{}
	defaults.SetDefaults()
	data := map[string]string{}
	number := func(key string, value, otherwise int64) {
		if value != otherwise {
			data[key] = strconv.FormatInt(value, 10)
		}
	}
	number("client-body-buffer-size", config.ClientBodyBufferSize, defaults.ClientBodyBufferSize)
	number("proxy-body-size", config.ProxyBodySize, defaults.ProxyBodySize)
	number("proxy-connect-timeout", int64(config.ProxyConnectTimeout), int64(defaults.ProxyConnectTimeout))
	number("proxy-read-timeout", int64(config.ProxyReadTimeout), int64(defaults.ProxyReadTimeout))
	number("proxy-send-timeout", int64(config.ProxySendTimeout), int64(defaults.ProxySendTimeout))
	number("proxy-next-upstream-tries", int64(config.ProxyNextUpstreamTries), int64(defaults.ProxyNextUpstreamTries))
	number("proxy-next-upstream-timeout", int64(config.ProxyNextUpstreamTimeout),
		int64(defaults.ProxyNextUpstreamTimeout))
	text := func(key, value, otherwise string) {
		if value != otherwise {
			data[key] = value
		}
	}
	text("proxy-next-upstream", config.ProxyNextUpstream, defaults.ProxyNextUpstream)
	text("global-auth-url", config.GlobalAuthURL, "")
	text("global-allowed-response-headers", strings.Join(config.GlobalAllowedResponseHeaders, ","), "")
	var statuses []string
	for _, status := range config.CustomHTTPErrors {
		statuses = append(statuses, strconv.Itoa(status))
	}
	text("custom-http-errors", strings.Join(statuses, ","), "")
	if config.AllowCrossNamespaceResources {
		data["allow-cross-namespace-resources"] = "true"
	}
	return data
}
