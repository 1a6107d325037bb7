package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// secret stands in every object of the sample that may have one.
const secret = "s3cr3tOfTheOperator"

// pools has the states of servers, by protocol and name of the service.
type pools map[string]map[string]string

func (p pools) Servers(protocol, service string) map[string]string { return p[protocol+":"+service] }

func pointer[T any](value T) *T { return &value }

// sampleStatic is a configuration with an entrypoint of each sort.
func sampleStatic() *static.Configuration {
	web, secure, internal, udp := &static.EntryPoint{}, &static.EntryPoint{}, &static.EntryPoint{}, &static.EntryPoint{}
	for entryPoint, address := range map[*static.EntryPoint]string{
		web: ":80", secure: ":443", internal: ":8080",
		udp: ":53/udp",
	} {
		entryPoint.SetDefaults()
		entryPoint.Address = address
	}
	peers, _ := forwarded.ParseRanges("192.0.2.0/24")
	web.ProxyProtocol = &static.ProxyProtocol{TrustedIPs: peers}
	return &static.Configuration{
		EntryPoints: map[string]*static.EntryPoint{"web": web, "websecure": secure, "traefik": internal, "dns/one": udp},
		Providers: static.Providers{
			File: &static.FileProvider{}, Docker: &static.Docker{Password: secret},
			Plugin: map[string]static.FreeForm{"demo": {}},
		},
		API:       &static.API{Dashboard: true, Debug: true, DashboardName: "here"},
		Metrics:   &static.Metrics{Prometheus: &static.Prometheus{}, OTLP: &static.MetricOTLP{}},
		Ping:      &static.Ping{},
		AccessLog: &static.AccessLog{},
		Tracing:   &static.Tracing{OTLP: &static.TracingOTLP{}},
	}
}

// sampleHTTP has an object of each sort, with secrets.
func sampleHTTP() *dynamic.HTTPConfiguration {
	return &dynamic.HTTPConfiguration{
		Routers: immutable.Of(map[string]*dynamic.Router{
			"shop@file": {
				Rule: "Host(`shop.test`)", Service: "shop", Middlewares: []string{"auth", "limit@docker"},
				EntryPoints: []string{"web"},
			},
			"Admin/api@file": {
				Rule: "Host(`admin.test`) && PathPrefix(`/api`)", Service: "api@internal",
				TLS: &dynamic.RouterTLS{}, Priority: 9000,
			},
			"blog@docker":    {Rule: "Host(`blog.test`)", Service: "blog", EntryPoints: []string{"websecure", "missing"}},
			"missing@docker": {Rule: "Host(`missing.test`)", Service: "nowhere", Middlewares: []string{"limit"}},
			"health@internal": {
				Rule: "PathPrefix(`/ping`)", Service: "ping@internal", EntryPoints: []string{"traefik"},
				Priority: 1<<63 - 1,
			},
		}),
		Services: immutable.Of(map[string]*dynamic.Service{
			"shop@file": {LoadBalancer: &dynamic.ServersLoadBalancer{
				Strategy: "wrr", Servers: []dynamic.Server{
					{URL: "http://user:" + secret + "@192.0.2.1:80/?token=" + secret},
					{URL: "http://192.0.2.2:80"},
				},
				HealthCheck: &dynamic.ServerHealthCheck{
					Path:    "/health?token=" + secret,
					Headers: map[string]string{"Authorization": secret}, Interval: ptypes.Duration(30e9),
				},
			}},
			"blog@docker": {
				LoadBalancer: &dynamic.ServersLoadBalancer{EndpointSet: "docker/blog:80"},
				Middlewares:  []string{"limit"},
			},
			"split@file": {Weighted: &dynamic.WeightedRoundRobin{Services: []dynamic.WeightedService{{
				Name:   "shop",
				Weight: pointer(3),
			}}}},
		}),
		Middlewares: immutable.Of(map[string]*dynamic.Middleware{
			"auth@file": {BasicAuth: &dynamic.BasicAuth{Users: []string{"ann:" + secret}, Realm: "shop"}},
			"limit@docker": {RateLimit: &dynamic.RateLimit{Average: 10, Redis: &dynamic.Redis{
				Endpoints: []string{"redis:6379"},
				Password:  secret,
			}}},
			"pages@file": {Errors: &dynamic.ErrorPage{
				Status: []string{"500-599"}, Service: "shop", Query: "/{status}.html?from={url}&token=" + secret,
			}},
			"demo@file": {Plugin: map[string]map[string]any{"demo": {"token": secret, "deep": []any{secret, 7}}}},
		}),
	}
}

// sampleTCP has an object of each sort, of which a service has the name of an HTTP service.
func sampleTCP() *dynamic.TCPConfiguration {
	return &dynamic.TCPConfiguration{
		Routers: immutable.Of(map[string]*dynamic.TCPRouter{
			"db@file": {Rule: "HostSNI(`db.test`)", Service: "nowhere", TLS: &dynamic.TCPRouterTLS{}},
			"pass@file": {
				Rule: "HostSNI(`a.test`)", Service: "live@docker", EntryPoints: []string{"websecure"},
				Middlewares: []string{"office", "old"}, TLS: &dynamic.TCPRouterTLS{Passthrough: true}, Priority: 7,
			},
			"all@docker": {Rule: "HostSNI(`*`)", Service: "shop@file", EntryPoints: []string{"web", "missing"}},
		}),
		Services: immutable.Of(map[string]*dynamic.TCPService{
			"shop@file": {LoadBalancer: &dynamic.TCPServersLoadBalancer{
				Strategy: "wrr", Servers: []dynamic.TCPServer{{Address: "192.0.2.3:5432", TLS: true}},
				ServersTransport: "mtls",
			}},
			"live@docker": {LoadBalancer: &dynamic.TCPServersLoadBalancer{EndpointSet: "docker/live:5432"}},
			"split@file": {Weighted: &dynamic.TCPWeightedRoundRobin{Services: []dynamic.WeightedService{{
				Name: "shop", Weight: pointer(3),
			}}}},
		}),
		Middlewares: immutable.Of(map[string]*dynamic.TCPMiddleware{
			"office@file": {IPAllowList: &dynamic.TCPIPAllowList{SourceRange: []string{"192.0.2.0/24"}}},
			"old@file":    {IPWhiteList: &dynamic.TCPIPAllowList{SourceRange: []string{"192.0.2.0/24"}}},
			"few@file":    {InFlightConn: &dynamic.TCPInFlightConn{Amount: 3}},
		}),
		ServersTransports: immutable.Of(map[string]*dynamic.TCPServersTransport{
			"mtls@file": {TLS: &dynamic.TCPClientTLS{Certificates: []dynamic.Certificate{{KeyFile: secret}}}},
		}),
	}
}

// sampleUDP has an object of each sort.
func sampleUDP() *dynamic.UDPConfiguration {
	return &dynamic.UDPConfiguration{
		Routers: immutable.Of(map[string]*dynamic.UDPRouter{
			"dns@file":  {Service: "dns"},
			"gone@file": {Service: "split", EntryPoints: []string{"web"}},
		}),
		Services: immutable.Of(map[string]*dynamic.UDPService{
			"dns@file": {LoadBalancer: &dynamic.UDPServersLoadBalancer{EndpointSet: "file/dns:53", Responses: 1}},
			"split@file": {Weighted: &dynamic.UDPWeightedRoundRobin{Services: []dynamic.WeightedService{{
				Name: "dns", Weight: pointer(1),
			}}}},
		}),
	}
}

// sampleListeners has a listener that serves and one that cannot be bound.
func sampleListeners() *dynamic.ListenersConfiguration {
	return &dynamic.ListenersConfiguration{Listeners: immutable.Of(map[string]*dynamic.Listener{
		"gateway/shop/http@kubernetesgateway": {
			Address: "192.0.2.1:80", Protocol: dynamic.ListenerHTTP, Hostname: "*.shop.test", Template: "web",
		},
		"gateway/shop/dns@kubernetesgateway": {
			Address: "192.0.2.1:10053", Protocol: dynamic.ListenerUDP, Port: 53,
		},
	})}
}

// withListeners is the sample with listeners, and with routers of them.
func withListeners() Options {
	const web, dns = "gateway/shop/http@kubernetesgateway", "gateway/shop/dns@kubernetesgateway"
	state := sampleState()
	state.Configuration.Listeners = sampleListeners()
	state.Configuration.HTTP.Routers = state.Configuration.HTTP.Routers.With("gate@kubernetesgateway", &dynamic.Router{
		Rule: "PathPrefix(`/`)", Service: "shop@file", EntryPoints: []string{web},
	})
	state.Configuration.UDP.Routers = state.Configuration.UDP.Routers.With("dns@kubernetesgateway", &dynamic.UDPRouter{
		Service: "dns@file", EntryPoints: []string{dns, web},
	})
	state.Verdicts = append(state.Verdicts, dynamic.Verdict{
		Ref: dynamic.Ref{Kind: dynamic.KindListener, Name: dns}, Status: dynamic.Quarantined,
		Code: dynamic.CodeInvalidOption, Reason: "listen udp 192.0.2.1:10053: bind: address already in use",
	})
	options := sampleOptions()
	options.State = fixed{state}
	return options
}

// sampleState is a state in which some objects are not well.
func sampleState() *pipeline.State {
	codes := map[dynamic.Kind]dynamic.Code{
		dynamic.KindMiddleware: dynamic.CodeUnsupportedOption, dynamic.KindRouter: dynamic.CodeMissingService,
	}
	verdict := func(kind dynamic.Kind, name string, status dynamic.Status, reason string) dynamic.Verdict {
		return dynamic.Verdict{
			Ref: dynamic.Ref{Kind: kind, Name: name}, Status: status, Code: codes[kind], Reason: reason,
			Origin: dynamic.Origin{File: "f.yaml", Line: 7},
		}
	}
	return &pipeline.State{
		Generation: 3,
		Ready:      true,
		Configuration: &dynamic.Configuration{
			HTTP: sampleHTTP(),
			TCP:  sampleTCP(),
			UDP:  sampleUDP(),
		},
		State: provider.State{Verdicts: []dynamic.Verdict{
			verdict(dynamic.KindMiddleware, "demo@file", dynamic.Quarantined, "plugins are not supported yet"),
			verdict(dynamic.KindRouter, "blog@docker", dynamic.Degraded, `entrypoint "missing" does not exist`),
			verdict(dynamic.KindRouter, "missing@docker", dynamic.Quarantined, `service "nowhere@docker" does not exist`),
			verdict(dynamic.KindRouter, "missing@docker", dynamic.Degraded, "has an option without effect"),
			verdict(dynamic.KindTCPRouter, "db@file", dynamic.Quarantined, `service "nowhere@file" does not exist`),
			verdict(dynamic.KindTCPMiddleware, "old@file", dynamic.Degraded, "ipWhiteList is deprecated"),
			verdict(dynamic.KindUDPRouter, "dns@file", dynamic.Degraded, "has an option without effect"),
		}},
	}
}

// sampleOptions are the options of an API over the sample.
func sampleOptions() Options {
	all := &served{}
	return Options{
		State: fixed{sampleState()}, Static: sampleStatic(), Logger: telemetry.Discard{},
		Explain: all.Explain, ExplainConnection: all.ExplainConnection, Routes: all.Routes, Middlewares: all.Middlewares,
		Servers: pools{
			"http:shop@file":   {"http://192.0.2.1:80": "UP", "http://192.0.2.2:80": "DOWN"},
			"tcp:shop@file":    {"192.0.2.3:5432": "UP"},
			"tcp:live@docker":  {"192.0.2.5:5432": "UP", "192.0.2.4:5432": "DOWN"},
			"udp:dns@file":     {"192.0.2.6:53": "UP"},
			"http:blog@docker": {"http://192.0.2.8:80": "UP", "http://192.0.2.9:80": "UP", "http://192.0.2.7:80": "UP"},
		}.Servers,
		Connections: open{
			{
				ID: 3, Entrypoint: "websecure", Protocol: "h2", Client: "192.0.2.7", ClientPort: "4711", ServerName: "shop.test",
				Since: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Requests: 12,
			},
			{
				ID: 5, Entrypoint: "web", Client: "192.0.2.8", ClientPort: "4712",
				Since: time.Date(2026, 11, 21, 12, 1, 0, 0, time.UTC),
			},
		},
		Overload: func() metrics.Overload {
			return metrics.Overload{
				Pressures: map[string]float64{"memory": 0.875, "cpu": 0.25},
				Active:    map[string]bool{"shedLow": true, "shedDefault": false, "endKeepAlive": true},
			}
		},
		Version: Version{Version: "1.2.3", Codename: "weir", Start: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)},
	}
}

var update = flag.Bool("update", false, "write the golden files")

// golden compares an answer with a file.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	var indented bytes.Buffer
	if err := json.Indent(&indented, got, "", "  "); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	file := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.WriteFile(file, indented.Bytes(), 0o644); err != nil { //nolint:gosec // It is part of the sources.
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), indented.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// names requests a list and returns the names in it, and the answer's headers.
func names(t *testing.T, handler http.Handler, target string) ([]string, http.Header) {
	t.Helper()
	answer := ask(t, handler, http.MethodGet, target)
	if answer.Code != http.StatusOK {
		t.Fatalf("GET %s = %d %s", target, answer.Code, answer.Body)
	}
	var list []struct{ Name, CommonName string }
	if err := json.Unmarshal(answer.Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	found := []string{}
	for _, one := range list {
		if one.CommonName != "" {
			one.Name = one.CommonName
		}
		found = append(found, one.Name)
	}
	return found, answer.Header()
}
