package dynamic

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/traefik/paerser/parser"

	"github.com/sluiceproxy/sluice/immutable"
)

// paerserSections are the sections as paerser decodes them.
type paerserSections struct {
	HTTP *paerserObjects    `json:"http,omitempty"`
	TCP  *paerserTCPObjects `json:"tcp,omitempty"`
	UDP  *paerserUDPObjects `json:"udp,omitempty"`
}

// paerserObjects are the objects that labels can declare, in Go maps.
type paerserObjects struct {
	Routers     map[string]*Router     `json:"routers,omitempty"`
	Services    map[string]*Service    `json:"services,omitempty"`
	Middlewares map[string]*Middleware `json:"middlewares,omitempty"`
}

// paerserTCPObjects are those for TCP.
type paerserTCPObjects struct {
	Routers     map[string]*TCPRouter     `json:"routers,omitempty"`
	Services    map[string]*TCPService    `json:"services,omitempty"`
	Middlewares map[string]*TCPMiddleware `json:"middlewares,omitempty"`
}

// paerserUDPObjects are those for UDP.
type paerserUDPObjects struct {
	Routers  map[string]*UDPRouter  `json:"routers,omitempty"`
	Services map[string]*UDPService `json:"services,omitempty"`
}

// objectsOf returns the objects of a configuration by their references.
func objectsOf(c *Configuration) map[Ref]any { return maps.Collect(c.Objects()) }

// objects returns the objects by their references.
func (p *paerserSections) objects() map[Ref]any {
	configuration := &Configuration{}
	if http := p.HTTP; http != nil {
		configuration.HTTP = &HTTPConfiguration{
			Routers: immutable.Of(http.Routers), Services: immutable.Of(http.Services),
			Middlewares: immutable.Of(http.Middlewares),
		}
	}
	if tcp := p.TCP; tcp != nil {
		configuration.TCP = &TCPConfiguration{
			Routers: immutable.Of(tcp.Routers), Services: immutable.Of(tcp.Services),
			Middlewares: immutable.Of(tcp.Middlewares),
		}
	}
	if udp := p.UDP; udp != nil {
		configuration.UDP = &UDPConfiguration{Routers: immutable.Of(udp.Routers), Services: immutable.Of(udp.Services)}
	}
	return objectsOf(configuration)
}

// oracle decodes labels with paerser alone.
func oracle(labels map[string]string) (*paerserSections, error) {
	out := &paerserSections{}
	if err := parser.Decode(labels, out, "traefik", "traefik.http", "traefik.tcp", "traefik.udp"); err != nil {
		return nil, err
	}
	return out, nil
}

// TestLabelsAgreeWithPaerser decodes sound labels in both ways.
func TestLabelsAgreeWithPaerser(t *testing.T) {
	tests := map[string][]string{
		"router": {
			"http.routers.web.rule", "Host(`a.example`)", "http.routers.web.entrypoints", "web, websecure",
			"http.routers.web.priority", "7",
			"http.routers.web.tls", "true", "http.routers.web.tls.options", "x@file", "http.routers.web.tls.domains[0].main",
			"a",
			"http.routers.web.tls.domains[0].sans", "b,c", "http.routers.web.tls.domains[1].main", "d",
		},
		"keys in another case": {"HTTP.Routers.Web.RULE", "x", "http.routers.Web.Service", "s"},
		"allow empty": {
			"http.routers.web.rule", "x", "http.routers.web.tls", "true",
			"http.middlewares.zip.compress", "true",
		},
		"switched off": {"http.routers.web.rule", "x", "http.routers.web.tls", "false"},
		"below a switch": {
			"http.services.s.loadbalancer.sticky", "true",
			"http.services.s.loadbalancer.sticky.cookie.name", "c",
		},
		"durations": {
			"http.services.s.loadbalancer.healthcheck.interval", "10", "http.services.s.loadbalancer.healthcheck.timeout",
			"1m30s",
			"http.services.s.loadbalancer.healthcheck.headers.X-Foo", "bar",
		},
		"pointers": {
			"http.services.s.loadbalancer.passhostheader", "false",
			"http.services.s.loadbalancer.sticky.cookie.maxage", "-1",
		},
		"TCP": {
			"tcp.routers.db.rule", "HostSNI(`db.example`)", "tcp.routers.db.entrypoints", "a, b",
			"tcp.routers.db.priority", "-7",
			"tcp.routers.db.tls", "true", "tcp.routers.db.tls.passthrough", "true",
			"tcp.routers.db.tls.domains[0].main", "a", "tcp.routers.db.tls.domains[0].sans", "b,c",
			"tcp.services.db.loadbalancer.serverstransport", "slow", "tcp.services.db.loadbalancer.terminationdelay", "-1",
			"tcp.services.db.loadbalancer.proxyprotocol", "true", "tcp.services.db.loadbalancer.healthcheck.interval", "10",
			"tcp.services.old.loadbalancer.proxyprotocol.version", "1", "tcp.services.off.loadbalancer.proxyprotocol", "false",
			"tcp.services.off.loadbalancer.strategy", "p2c",
			"tcp.middlewares.few.inflightconn.amount", "10", "tcp.middlewares.office.ipallowlist.sourcerange", "192.0.2.0/24, a",
			"tcp.middlewares.rate.ratelimit.average", "5",
		},
		"UDP": {
			"udp.routers.dns.entrypoints", "a,b", "udp.routers.dns.service", "dns",
			"udp.services.dns.loadbalancer.responses", "1", "udp.services.dns.loadbalancer.zoneaware", "true",
		},
		"middlewares": {
			"http.middlewares.a.basicauth.users", "u:p,v:q", "http.middlewares.b.headers.customrequestheaders.X-A", "",
			"http.middlewares.b.headers.stsseconds", "42", "http.middlewares.b.headers.framedeny", "true",
			"http.middlewares.c.ratelimit.average", "5", "http.middlewares.c.ratelimit.sourcecriterion.ipstrategy", "true",
			"http.middlewares.d.ipallowlist.sourcerange", "192.0.2.0/24, 198.51.100.0/24",
			"http.middlewares.e.redirectregex.regex", "^a", "http.middlewares.e.redirectregex.replacement", "${1}",
			"http.middlewares.f.retry.attempts", "3",
			"http.middlewares.g.chain.middlewares", "a,b@file", "http.middlewares.h.circuitbreaker.expression",
			"LatencyAtQuantileMS(50.0) > 100",
		},
	}
	for name, pairs := range tests {
		t.Run(name, func(t *testing.T) {
			labels := map[string]string{}
			for i := 0; i < len(pairs); i += 2 {
				labels["traefik."+pairs[i]] = pairs[i+1]
			}
			want, err := oracle(labels)
			if err != nil {
				t.Fatal(err)
			}
			var d LabelDecoder
			got := d.Decode(labels)
			if len(got.Configuration.Verdicts)+len(got.Wrong)+len(got.Stray) > 0 {
				t.Errorf("findings: %v %v %v", got.Configuration.Verdicts, got.Wrong, got.Stray)
			}
			if diff := cmp.Diff(want.objects(), objectsOf(got.Configuration)); diff != "" {
				t.Errorf("(-paerser +ours):\n%s", diff)
			}
		})
	}
}

func TestLabelOptions(t *testing.T) {
	yes, no := true, false
	tests := []struct {
		name   string
		labels map[string]string
		want   LabelOptions
		wrong  []string
	}{
		{"none", nil, LabelOptions{}, nil},
		{"enabled", map[string]string{"traefik.enable": "true"}, LabelOptions{Enable: &yes}, nil},
		{"ours wins", map[string]string{"traefik.enable": "true", "sluice.enable": "false"}, LabelOptions{Enable: &no}, nil},
		{
			"network",
			map[string]string{"traefik.docker.network": "a", "traefik.docker.lbswarm": "true"},
			LabelOptions{Docker: LabelDocker{Network: "a", LBSwarm: true}},
			nil,
		},
		{"swarm", map[string]string{"traefik.swarm.network": "a"}, LabelOptions{Swarm: LabelDocker{Network: "a"}}, nil},
		{
			"misspelt",
			map[string]string{"traefik.docker.netwrok": "a"},
			LabelOptions{},
			[]string{`label traefik.docker.netwrok: unknown option, did you mean "network"?`},
		},
		{
			"misspelt section",
			map[string]string{"traefik.htpp.routers.a.rule": "x"},
			LabelOptions{},
			[]string{`label traefik.htpp.routers.a.rule: htpp: unknown option, did you mean "http"?`},
		},
		{
			"misspelt enable",
			map[string]string{"traefik.enabled": "true"},
			LabelOptions{},
			[]string{`label traefik.enabled: enabled: unknown option, did you mean "enable"?`},
		},
		{"of the constraints", map[string]string{"traefik.tags": "a"}, LabelOptions{}, nil},
		{
			"no bool",
			map[string]string{"traefik.enable": "on"},
			LabelOptions{},
			[]string{`label traefik.enable: expected true or false, got "on"`},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var d LabelDecoder
			got := d.Decode(test.labels)
			if diff := cmp.Diff(test.want, got.Options); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.wrong, got.Wrong); diff != "" {
				t.Errorf("wrong (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzLabels asserts that no labels make the decoder panic, that it says the same twice, that every mistake names what
// is wrong, and that what it takes without complaint is what paerser makes of it.
func FuzzLabels(f *testing.F) {
	for _, seed := range []string{
		"traefik.http.routers.a.rule=Host(`a`)\ntraefik.http.routers.a.tls=true",
		"sluice.enable=true\nTraefik.docker.network=x",
		"traefik.http.services.s.loadbalancer.server.port=80\ntraefik.http.services.s.loadbalancer.sticky.cookie=true",
		"traefik.http.routers.a.tls.domains[1].main=b\ntraefik.http.routers.a.tls.domains[0].main=a",
		"traefik.http..x=1\ntraefik.a]=2\ntraefik.http.routers.a[=3\ntraefik.=4\ntraefik=5",
		"traefik.tcp.routers.a.rule=x\ntraefik.tcp.routers.a.tls=true\ntraefik.udp.routers.a.service=x",
		"traefik.tcp.services.a.loadbalancer.server.tls=true\ntraefik.udp.services.a.loadbalancer.port=1",
		"traefik.tcp.routers.a.rule=x\ntraefik.tls.stores.default.x=1",
		"traefik.http.routers.a.Rule=1\ntraefik.http.routers.a.rule=2\ntraefik.http.middlewares.a.compress=\ntraefik.http=x\ntraefik.http.routers=y",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		labels := map[string]string{}
		for line := range strings.SplitSeq(text, "\n") {
			if name, value, ok := strings.Cut(line, "="); ok {
				labels[name] = value
			}
		}
		var d LabelDecoder
		got := d.Decode(labels)
		says := cmp.Comparer(func(a, b *Configuration) bool {
			return Equal(objectsOf(a), objectsOf(b)) && Equal(a.Verdicts, b.Verdicts)
		})
		if diff := cmp.Diff(got, d.Decode(labels), says); diff != "" {
			t.Fatalf("the same labels say something else the second time:\n%s", diff)
		}
		for _, reason := range slices.Concat(got.Wrong, got.Stray) {
			if reason == "" {
				t.Fatal("a finding says nothing")
			}
		}
		for _, verdict := range got.Configuration.Verdicts {
			if verdict.Reason == "" || verdict.Ref.Name == "" || verdict.Status != Quarantined {
				t.Fatalf("the verdict %+v says too little", verdict)
			}
		}
		if !sameQuestion(got, labels) {
			return
		}
		want, err := oracle(labels)
		if err != nil {
			return // We take some that paerser doesn't: emptiness where presence is enough.
		}
		if diff := cmp.Diff(want.objects(), objectsOf(got.Configuration)); diff != "" {
			t.Fatalf("labels %q (-paerser +ours):\n%s", labels, diff)
		}
	})
}

// sameQuestion reports whether both decoders get the same: sound labels of the sections http, tcp and udp under
// Traefik's root.
func sameQuestion(got *Labels, labels map[string]string) bool {
	servers := len(got.Servers) + len(got.TCPServers) + len(got.UDPServers)
	if len(got.Configuration.Verdicts)+len(got.Wrong)+len(got.Stray)+servers > 0 {
		return false
	}
	return !slices.ContainsFunc(slices.Collect(maps.Keys(labels)), func(name string) bool {
		// paerser takes 1 for true as a value, and for false as a switch; it has no lists of scalars by number.
		on, err := strconv.ParseBool(strings.TrimSpace(labels[name]))
		oddity := err == nil && on && labels[name] != "true"
		read := strings.HasPrefix(name, "traefik.http.") || strings.HasPrefix(name, "traefik.tcp.") ||
			strings.HasPrefix(name, "traefik.udp.")
		return !read || strings.Contains(name, "[") || oddity
	})
}
