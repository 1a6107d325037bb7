package nginx_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/integration/nginx/cases"
	migrated "github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/migrate/nginxmodel"
	"github.com/sluiceproxy/sluice/migrate/probe"
	"github.com/sluiceproxy/sluice/migrate/source"
)

// TestModel gives the requests of all cases to the model of ingress-nginx. What the model presumes, such as that
// endpoints answer 200, is not compared; nor are requests beyond it: those with certificates, with cookies of earlier
// answers, and repetitions.
func TestModel(t *testing.T) {
	compared, outside := 0, outside()
	for group, all := range groups(t) {
		for _, c := range all {
			if c.Refused != "" {
				continue
			}
			t.Run(group+"/"+c.Name, func(t *testing.T) {
				var complaints []string
				for i := range c.Stages {
					stage := &c.Stages[i]
					model := modelOf(t, &stage.State)
					for j := range stage.Exchanges {
						e := &stage.Exchanges[j]
						if beyond(&e.Request) {
							continue
						}
						compared++
						for _, complaint := range judgeModel(t, model, &stage.State, e) {
							complaints = append(complaints, fmt.Sprintf("line %d: %s", e.Line, complaint))
						}
					}
				}
				switch reason, known := outside[c.String()]; {
				case !known && len(complaints) > 0:
					t.Error(strings.Join(complaints, "\n"))
				case known && len(complaints) == 0:
					t.Errorf("the model has the answers, although %s", reason)
				}
				delete(outside, c.String())
			})
		}
	}
	for name := range outside {
		t.Errorf("there is no case %s", name)
	}
	if compared < 800 {
		t.Errorf("only %d requests are compared", compared)
	}
}

// beyond reports whether a request has what probes do not have.
func beyond(r *cases.Request) bool {
	return r.Certificate != "" || r.Repeat > 1 || r.Cookies || r.Chunked || r.Proxy != 0 || r.Protocol == "1.0" ||
		r.ServerName != strings.Split(r.Host, ":")[0] && r.Scheme == "https"
}

// modelOf returns the model of a state.
func modelOf(t *testing.T, state *cases.State) *nginxmodel.Model {
	t.Helper()
	return nginxmodel.Build(objectsOf(t, state), configOf(state))
}

// objectsOf returns the objects of a state, in which all Services have an endpoint unless they are described otherwise.
func objectsOf(t *testing.T, state *cases.State) *source.Objects {
	t.Helper()
	objects := &source.Objects{
		Classes: state.Objects.Classes, ConfigMaps: append(state.Objects.ConfigMaps, new(corev1.ConfigMap)),
		Secrets: []source.Secret{{}},
	}
	named := func(c *networkingv1.IngressClass) bool { return c.Name == "nginx" }
	if len(objects.Classes) > 0 && !slices.ContainsFunc(objects.Classes, named) {
		nginx := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "nginx"}}
		nginx.Spec.Controller = "k8s.io/ingress-nginx"
		objects.Classes = append(slices.Clone(objects.Classes), nginx)
	}
	services := map[string]*corev1.Service{}
	for _, one := range state.Objects.Services {
		services[one.Namespace+"/"+one.Name] = one.DeepCopy()
	}
	add := func(namespace, name, portName string, number int32) {
		if name == "" {
			return
		}
		service := services[namespace+"/"+name]
		if service == nil {
			service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			services[namespace+"/"+name] = service
		} else if slices.Contains(state.Objects.Services, service) || described(state, namespace, name) {
			return
		}
		if number == 0 {
			number = 80
		}
		service.Spec.ClusterIP = "198.18.0.1"
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: portName, Port: number})
	}
	for _, one := range state.Objects.Ingresses {
		objects.Ingresses = append(objects.Ingresses, source.Ingress{Ingress: one})
		if b := one.Spec.DefaultBackend; b != nil && b.Service != nil {
			add(one.Namespace, b.Service.Name, b.Service.Port.Name, b.Service.Port.Number)
		}
		add(one.Namespace, one.Annotations["nginx.ingress.kubernetes.io/default-backend"], "", 80)
		for _, rule := range one.Spec.Rules {
			if rule.HTTP == nil {
				continue
			}
			for _, path := range rule.HTTP.Paths {
				if path.Backend.Service != nil {
					add(one.Namespace, path.Backend.Service.Name, path.Backend.Service.Port.Name, path.Backend.Service.Port.Number)
				}
			}
		}
	}
	config := configOf(state)
	if namespace, name, ok := strings.Cut(config.DefaultBackend, "/"); ok {
		add(namespace, name, "", 80)
	}
	for key, service := range services {
		server, given := state.Servers[key]
		if given && server.Missing {
			continue
		}
		objects.Services = append(objects.Services, service)
		endpoints := []discoveryv1.Endpoint{{Addresses: []string{"198.18.0.2"}}}
		if given {
			endpoints = slices.Repeat(endpoints, server.Endpoints)
		}
		if len(endpoints) > 0 {
			objects.EndpointSlices = append(objects.EndpointSlices, &discoveryv1.EndpointSlice{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: service.Namespace, Labels: map[string]string{discoveryv1.LabelServiceName: service.Name},
				},
				Endpoints: endpoints,
			})
		}
	}
	objects.Services = append(objects.Services, new(corev1.Service))
	objects.EndpointSlices = append(objects.EndpointSlices, new(discoveryv1.EndpointSlice))
	for _, one := range state.Objects.Secrets {
		keys := slices.Sorted(maps.Keys(one.Data))
		objects.Secrets = append(objects.Secrets, source.Secret{Namespace: one.Namespace, Name: one.Name, Keys: keys})
	}
	for _, one := range state.Certificates {
		secret := source.Secret{Namespace: one.Namespace, Name: one.Name, Keys: []string{"tls.crt", "tls.key"}}
		if one.Authority {
			secret.Keys = append(secret.Keys, "ca.crt")
		}
		objects.Secrets = append(objects.Secrets, secret)
	}
	return objects
}

func described(state *cases.State, namespace, name string) bool {
	return slices.ContainsFunc(state.Objects.Services, func(s *corev1.Service) bool {
		return s.Namespace == namespace && s.Name == name
	})
}

// configOf reads the flags of the controller.
func configOf(state *cases.State) nginxmodel.Config {
	config := nginxmodel.Config{Settings: state.Settings, Namespace: "ingress-nginx"}
	for _, flag := range state.Flags {
		name, value, _ := strings.Cut(flag, "=")
		switch name {
		case "--ingress-class":
			config.Class = value
		case "--controller-class":
			config.Controller = value
		case "--ingress-class-by-name":
			config.ClassByName = true
		case "--watch-ingress-without-class":
			config.WithoutClass = true
		case "--disable-catch-all":
			config.DisableCatchAll = value == "true"
		case "--default-backend-service":
			config.DefaultBackend = value
		case "--enable-ssl-passthrough":
			config.SSLPassthrough = true
		case "--http-port":
			config.HTTPPort = value
		case "--https-port":
			config.HTTPSPort = value
		}
	}
	return config
}

// judgeModel compares an answer of the model with what is expected.
func judgeModel(t *testing.T, model *nginxmodel.Model, state *cases.State, e *cases.Exchange) (complaints []string) {
	t.Helper()
	r := &e.Request
	p := probe.Probe{
		Method: r.Method, Scheme: r.Scheme, Host: r.Host, Target: r.Target, Header: http.Header{}, Client: r.Client,
		Length: int64(max(r.Length, len(r.Body))),
	}
	for _, field := range r.Header {
		p.Header.Add(field.Name, field.Value)
	}
	got, err := model.Answer(t.Context(), p)
	if err != nil {
		return []string{err.Error()}
	}
	if e.Response.Statuses[strconv.Itoa(got.Status)] == 0 && e.Response.Statuses[strconv.Itoa(got.Status/100)+"xx"] == 0 &&
		(got.Upstream == nil || len(state.Servers) == 0) {
		complaints = append(complaints, fmt.Sprintf("status %d (%s: %v), want %v", got.Status, got.Step, got.Notes,
			e.Response.Statuses))
	}
	for _, match := range e.Response.Header {
		if values := got.Header.Values(match.Name); modelled(match.Name, got) && !match.Matches(values) {
			complaints = append(complaints, fmt.Sprintf("the response has %s: %q, want %s", match.Name, values, wanted(match)))
		}
	}
	for _, u := range e.Upstreams {
		if u.Outside == "" {
			complaints = append(complaints, judgeSent(u, got.Upstream)...)
		}
	}
	return complaints
}

// modelled reports whether the model has a header of responses.
func modelled(name string, got migrated.Answer) bool {
	name = http.CanonicalHeaderKey(name)
	switch {
	case strings.HasPrefix(name, "Access-Control-"), name == "Strict-Transport-Security":
		return true
	case name == "Location", name == "Www-Authenticate":
		return got.Upstream == nil
	}
	return false
}

func judgeSent(u cases.Upstream, sent *migrated.Upstream) (complaints []string) {
	if sent == nil {
		if len(u.Counts) > 0 {
			return []string{fmt.Sprintf("no Service receives the request, want %v", u.Counts)}
		}
		return nil
	}
	service, _, _ := strings.Cut(sent.Service, ":")
	if _, expected := u.Counts[service]; !expected {
		return []string{fmt.Sprintf("%s receives the request, want %v", service, u.Counts)}
	}
	if got := sent.Method + " " + sent.Target; u.Request != "" && got != u.Request {
		complaints = append(complaints, fmt.Sprintf("the Service receives %q, want %q", got, u.Request))
	}
	for _, match := range u.Header {
		values := sent.Header.Values(match.Name)
		if http.CanonicalHeaderKey(match.Name) == "Host" {
			values = []string{sent.Host}
		}
		switch http.CanonicalHeaderKey(match.Name) {
		case "X-Request-Id", "Connection": // They are of each request and connection.
			continue
		}
		if !match.Matches(values) {
			complaints = append(complaints, fmt.Sprintf("the Service receives %s: %q, want %s", match.Name, values,
				wanted(match)))
		}
	}
	return complaints
}

// outside returns the cases that the model does not answer as nginx does, and why.
func outside() map[string]string {
	const (
		password = "no password is right in the model"
		external = "external authentication is presumed to look for credentials alone"
		earlier  = "the answer depends on earlier requests"
		pattern  = "the pattern is not of linear time"
		executed = "snippets and firewalls are not in the model"
		flag     = "the flag is not in the model"
		endpoint = "endpoints are presumed to answer"
	)
	return map[string]string{
		"errors/external authentication has an error page":                                 external,
		"limit/limits of two Ingresses are apart":                                          earlier,
		"limit/one limit for all paths and hosts of an Ingress":                            earlier,
		"services/ExternalName that cannot be resolved":                                    endpoint,
		"services/proxy-ssl-verify with another name":                                      endpoint,
		"access/blocked by a web application firewall":                                     executed,
		"access/blocked by a web application firewall of the settings":                     executed,
		"access/blocked countries":                                                         executed,
		"options/modsecurity-transaction-id and enable-owasp-core-rules":                   executed,
		"authrequest/a variable in auth-url":                                               external,
		"authrequest/answers of the authentication":                                        external,
		"authrequest/auth-always-set-cookie":                                               external,
		"authrequest/auth-method":                                                          external,
		"authrequest/auth-proxy-set-headers":                                               external,
		"authrequest/auth-request-redirect":                                                external,
		"authrequest/auth-response-headers":                                                external,
		"authrequest/auth-signin is for 401 alone":                                         external,
		"authrequest/global-auth-always-set-cookie":                                        external,
		"authrequest/the cache is of one host":                                             external,
		"authrequest/the cache is of one location":                                         external,
		"authrequest/the cookie of the authentication":                                     external,
		"authrequest/the cookie of the authentication on errors":                           external,
		"authrequest/the cookie of the global authentication":                              external,
		"authrequest/the cookie of the global authentication on errors":                    external,
		"authrequest/what the authentication receives":                                     external,
		"authrequest/the authentication receives the client behind trusted proxies":        external,
		"authrequest/the authentication receives no address of a peer that is not trusted": external,
		"options/auth-keepalive":                                                           external,
		"phases/satisfy any with a list and 403 of external authentication":                external,
		"services/auth-response-headers of a request to gRPC":                              external,
		"class/--watch-namespace-selector":                                                 flag,
		"services/--disable-svc-external-name":                                             flag,
		"auth/auth-map":                                                                    password,
		"auth/kinds of hashes":                                                             password,
		"auth/no-auth-locations: a protected path with credentials":                        password,
		"auth/satisfy all of addresses and a password":                                     password,
		"auth/satisfy any of addresses and a password":                                     password,
		"auth/the unmatched paths of a protected host":                                     password,
		"auth/with credentials":                                                            password,
		"phases/no endpoints are found behind a password":                                  password,
		"deviations/lookahead and backreferences":                                          pattern,
	}
}
