package router

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/stream"
	"github.com/sluiceproxy/sluice/router/tcp"
	tcprule "github.com/sluiceproxy/sluice/router/tcp/rule"
	"github.com/sluiceproxy/sluice/telemetry"
)

// tcpBench adds objects of the section tcp to a bench.
type tcpBench struct {
	*bench

	address string
}

// newTCPBench returns a bench with a service "db@file", whose server answers what it gets.
func newTCPBench(t *testing.T) *tcpBench {
	t.Helper()
	b := &tcpBench{bench: newBench(t), address: serveEcho(t)}
	b.config.TCP = &dynamic.TCPConfiguration{}
	b.tcpService("db@file", b.address)
	return b
}

// serveEcho returns the address of a server that sends back what it gets.
func serveEcho(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

func (b *tcpBench) tcpService(name string, addresses ...string) {
	balancer := &dynamic.TCPServersLoadBalancer{}
	balancer.SetDefaults()
	for _, address := range addresses {
		server := dynamic.TCPServer{Address: address}
		server.SetDefaults()
		balancer.Servers = append(balancer.Servers, server)
	}
	b.config.TCP.Services = b.config.TCP.Services.With(name, &dynamic.TCPService{LoadBalancer: balancer})
}

// tcpRouter declares a router for the service db, which change may change.
func (b *tcpBench) tcpRouter(name, rule string, change func(*dynamic.TCPRouter)) {
	declared := &dynamic.TCPRouter{EntryPoints: []string{"web"}, Rule: rule, Service: "db"}
	if strings.HasPrefix(rule, "tls ") {
		declared.Rule, declared.TLS = strings.TrimPrefix(rule, "tls "), &dynamic.TCPRouterTLS{}
	}
	if change != nil {
		change(declared)
	}
	b.config.TCP.Routers = b.config.TCP.Routers.With(name, declared)
}

// stream returns the stream of a connection on the entrypoint web, or nil.
func (b *tcpBench) stream(stage tcp.Stage, sni string) tcp.Stream {
	c := tcprule.NewConnection(sni, nil, netip.MustParseAddr("127.0.0.1"))
	return b.target.Streams("web").RouteStream(stage, &c)
}

// serve sends a word through a stream, and returns what comes back and what became of the connection.
func (b *tcpBench) serve(stage tcp.Stage, sni string) (string, tcp.Result) {
	b.t.Helper()
	route := b.stream(stage, sni)
	if route == nil {
		return "", tcp.Result{Result: stream.Result{Reason: "http"}}
	}
	client, server := net.Pipe()
	in := &tcp.Incoming{
		Conn: server, Connection: tcprule.NewConnection(sni, nil, netip.MustParseAddr("127.0.0.1")),
		Handshake: func(ctx context.Context, config *tls.Config) (*tls.Conn, error) {
			secure := tls.Server(server, config)
			return secure, secure.HandshakeContext(ctx)
		},
	}
	done := make(chan struct{})
	go func() {
		route.ServeStream(b.t.Context(), in, func() { close(done) })
		<-done
		_ = server.Close()
	}()
	conn := client
	if stage == tcp.TLS {
		conn = tls.Client(client, &tls.Config{ServerName: sni, InsecureSkipVerify: true}) //nolint:gosec // It is generated.
	}
	got := make([]byte, len("word"))
	if _, err := io.WriteString(conn, "word"); err == nil {
		n, _ := io.ReadFull(conn, got)
		got = got[:n]
	} else {
		got = nil
	}
	_ = client.Close()
	<-done
	return string(got), in.Result
}

func TestTCPRouterServes(t *testing.T) {
	b := newTCPBench(t)
	b.tcpRouter("plain@file", "HostSNI(`*`)", nil)
	b.tcpRouter("secure@file", "tls HostSNI(`db.test`)", nil)
	b.all()
	if len(b.compiled.Verdicts) > 0 {
		t.Errorf("verdicts %v", b.compiled.Verdicts)
	}
	for stage, router := range map[tcp.Stage]string{tcp.Plain: "plain@file", tcp.TLS: "secure@file"} {
		got, result := b.serve(stage, "db.test")
		if got != "word" || result.Router != router || result.Service != "db@file" || result.Endpoint != b.address ||
			result.FromClient != 4 || result.FromServer != 4 || result.Attempts != 1 || result.Generation != 1 {
			t.Errorf("stage %d: %q, %+v", stage, got, result)
		}
		if (result.TLS != nil) != (stage == tcp.TLS) {
			t.Errorf("stage %d: TLS %v", stage, result.TLS)
		}
	}
	if b.stream(tcp.TLS, "other.test") != nil {
		t.Error("a server name without a router is taken")
	}
	// Without the routers nothing is taken, and nothing is read beforehand.
	b.config.TCP.Routers = dynamic.Objects[dynamic.TCPRouter]{}
	b.apply(true, ref(dynamic.KindTCPRouter, "plain@file"), ref(dynamic.KindTCPRouter, "secure@file"))
	if b.stream(tcp.Plain, "") != nil || b.target.Streams("web").StreamNeeds() != 0 {
		t.Error("routers that were removed serve")
	}
}

// TestTCPFaults declares routers with mistakes: each keeps its place, where its rule says which, and is closed.
func TestTCPFaults(t *testing.T) {
	tests := map[string]struct {
		rule   string
		change func(*dynamic.TCPRouter)
		status dynamic.Status
		reason string
		// kept says that the router keeps its place.
		kept bool
	}{
		"no rule":     {"", nil, dynamic.Quarantined, "the rule is missing", false},
		"a bad rule":  {"Host(`a`)", nil, dynamic.Quarantined, "Host", false},
		"needs TLS":   {"HostSNI(`a.test`)", nil, dynamic.Quarantined, "needs the section tls", false},
		"rule syntax": {"HostSNI(`*`)", func(r *dynamic.TCPRouter) { r.RuleSyntax = "v2" }, dynamic.Quarantined, "v2", false},
		"no service": {
			"HostSNI(`*`)", func(r *dynamic.TCPRouter) { r.Service = "" }, dynamic.Quarantined, "the service is missing", true,
		},
		"another service": {
			"HostSNI(`*`)", func(r *dynamic.TCPRouter) { r.Service = "dbs" }, dynamic.Quarantined,
			`tcpService "dbs@file" does not exist, did you mean "db@file"?`, true,
		},
		"another middleware": {
			"HostSNI(`*`)", func(r *dynamic.TCPRouter) { r.Middlewares = []string{"m"} }, dynamic.Quarantined,
			`tcpMiddleware "m@file" does not exist`, true,
		},
		"other TLS options": {
			"tls HostSNI(`a.test`)", func(r *dynamic.TCPRouter) { r.TLS.Options = "strict" }, dynamic.Quarantined,
			`tlsOptions "strict@file" does not exist`, true,
		},
		"options with passthrough": {
			"tls HostSNI(`a.test`)", func(r *dynamic.TCPRouter) { r.TLS.Passthrough, r.TLS.Options = true, "x" },
			dynamic.Degraded, "no effect with tls.passthrough", true,
		},
		"one entrypoint of two": {
			"HostSNI(`*`)", func(r *dynamic.TCPRouter) { r.EntryPoints = []string{"web", "wbe"} }, dynamic.Degraded,
			`entrypoint "wbe" does not exist, did you mean "web"?`, true,
		},
		"no resolver": {
			"tls HostSNI(`a.test`)", func(r *dynamic.TCPRouter) { r.TLS.CertResolver = "le" }, dynamic.Degraded,
			`no certificate resolver "le"`, true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newTCPBench(t)
			b.tcpRouter("r@file", test.rule, test.change)
			b.tcpRouter("below@file", "tls HostSNIRegexp(`.`)", func(r *dynamic.TCPRouter) { r.Priority = 1 })
			b.all()
			b.wantVerdict(ref(dynamic.KindTCPRouter, "r@file"), test.status, test.reason)
			stage := tcp.Plain
			if strings.HasPrefix(test.rule, "tls ") {
				stage = tcp.TLS
			}
			_, result := b.serve(stage, "a.test")
			switch {
			case !test.kept && result.Router == "r@file", test.kept && result.Router != "r@file":
				t.Errorf("served by %q", result.Router)
			case test.kept && test.status == dynamic.Quarantined && result.Code != telemetry.CodeRouterDisabled:
				t.Errorf("code %q", result.Code)
			}
		})
	}
}

func TestUnreachableTCPRouters(t *testing.T) {
	b := newTCPBench(t)
	https := func(name, rule string) {
		b.router(name, rule, "a@internal").TLS = &dynamic.RouterTLS{}
	}
	https("h@file", "Host(`taken.test`)")
	https("all@file", "PathPrefix(`/`)")
	b.router("http@file", "PathPrefix(`/`)", "a@internal")
	b.tcpRouter("first@file", "tls HostSNIRegexp(`.`)", func(r *dynamic.TCPRouter) { r.Priority = 500 })
	b.tcpRouter("host@file", "tls HostSNI(`taken.test`)", nil)
	b.tcpRouter("also@file", "tls HostSNI(`taken.test`) || HostSNI(`free.test`)", nil)
	b.tcpRouter("catchall@file", "tls HostSNI(`*`)", nil)
	b.tcpRouter("plain@file", "HostSNI(`*`)", func(r *dynamic.TCPRouter) { r.Priority = 10 })
	b.tcpRouter("behind@file", "ClientIP(`192.0.2.1`)", func(r *dynamic.TCPRouter) { r.Priority = 9 })
	b.all()
	got := map[string]string{}
	for _, verdict := range b.compiled.Verdicts {
		if verdict.Ref.Kind == dynamic.KindTCPRouter {
			got[verdict.Ref.Name] = verdict.Reason
		}
	}
	want := map[string]string{
		"host@file":     `gets no connection on entrypoint "web": HTTP routers with TLS have the host taken.test`,
		"catchall@file": `gets no connection on entrypoint "web": an HTTP router with TLS without Host comes before it`,
		"behind@file":   `gets no connection on entrypoint "web": router "plain@file" comes before it and takes all`,
		"plain@file": `takes every connection without TLS on entrypoint "web", so that HTTP routers without TLS get none ` +
			`there; entryPoints.web.tcp.preferHTTP gives them the requests of HTTP`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	// Without the HTTP routers they are reachable.
	b.config.HTTP.Routers = dynamic.Objects[dynamic.Router]{}
	b.apply(true, ref(dynamic.KindRouter, "h@file"), ref(dynamic.KindRouter, "all@file"),
		ref(dynamic.KindRouter, "http@file"))
	for _, verdict := range b.compiled.Verdicts {
		if verdict.Ref.Name != "behind@file" {
			t.Errorf("verdict %s", verdict)
		}
	}
}

// wanted records what routers need of resolvers.
type wanted struct{ demands []certificate.Demand }

func (w *wanted) Want(demands []certificate.Demand, _ func(string) bool) { w.demands = demands }

func TestTCPRoutersNeedCertificates(t *testing.T) {
	b := newTCPBench(t)
	needs := &wanted{}
	b.compiler.options.Demands, b.compiler.options.Resolvers = needs, []string{"le"}
	b.tcpRouter("r@file", "tls HostSNI(`b.test`) || HostSNI(`a.test`)", func(r *dynamic.TCPRouter) { r.TLS.CertResolver = "le" })
	b.all()
	want := []certificate.Demand{{Router: "r@file", Resolver: "le", Names: [][]string{{"a.test", "b.test"}}}}
	if diff := cmp.Diff(want, needs.demands); diff != "" {
		t.Errorf("demands (-want +got):\n%s", diff)
	}
	b.config.TCP.Routers = dynamic.Objects[dynamic.TCPRouter]{}
	b.apply(true, ref(dynamic.KindTCPRouter, "r@file"))
	if len(needs.demands) > 0 {
		t.Errorf("demands %v of a router that is gone", needs.demands)
	}
}

func TestExplainConnection(t *testing.T) {
	b := newTCPBench(t)
	b.router("shop@file", "Host(`shop.test`)", "a@internal").TLS = &dynamic.RouterTLS{}
	b.tcpRouter("db@file", "tls HostSNI(`db.test`)", nil)
	b.tcpRouter("through@file", "tls HostSNI(`*.through.test`)", func(r *dynamic.TCPRouter) { r.TLS.Passthrough = true })
	b.tcpRouter("broken@file", "tls HostSNI(`broken.test`)", func(r *dynamic.TCPRouter) { r.Service = "none" })
	b.tcpRouter("client@file", "ClientIP(`192.0.2.0/24`)", nil)
	b.all()
	for name, test := range map[string]struct {
		question ConnectionQuestion
		answer   string
		router   string
		step     string
	}{
		"by SNI":      {ConnectionQuestion{ServerName: "DB.test"}, "tcp", "db@file", `no HTTP router with TLS has the host "db.test"`},
		"passthrough": {ConnectionQuestion{ServerName: "a.through.test"}, "tcp", "through@file", ""},
		"HTTPS first": {ConnectionQuestion{ServerName: "shop.test"}, "http", "", "comes before all TCP routers"},
		"disabled":    {ConnectionQuestion{ServerName: "broken.test"}, "closed", "broken@file", ""},
		"no router":   {ConnectionQuestion{ServerName: "other.test"}, "http", "", "served as HTTP with TLS"},
		"STARTTLS":    {ConnectionQuestion{ServerName: "db.test", StartTLS: true}, "tcp", "db@file", "SSLRequest"},
		"by client":   {ConnectionQuestion{Client: "192.0.2.7"}, "tcp", "client@file", ""},
		"none for it": {ConnectionQuestion{Client: "198.51.100.1"}, "http", "", "served as HTTP"},
		"no SNI":      {ConnectionQuestion{TLS: true}, "http", "", ""},
		"STARTTLS without": {
			ConnectionQuestion{ServerName: "x.test", StartTLS: true}, "closed", "", "the connection is closed",
		},
	} {
		test.question.Address = ":80"
		answer, err := b.target.Table().ExplainConnection(test.question)
		if err != nil {
			t.Fatal(err)
		}
		router := ""
		if answer.Router != nil {
			router = answer.Router.Name
		}
		if answer.Answer != test.answer || router != test.router ||
			!strings.Contains(strings.Join(answer.Steps, "\n"), test.step) {
			t.Errorf("%s: %+v", name, answer)
		}
		// It is what an entrypoint does.
		stage := tcp.Plain
		switch {
		case test.question.StartTLS:
			stage = tcp.StartTLS
		case answer.TLS:
			stage = tcp.TLS
		}
		client := netip.MustParseAddr(answer.Client)
		c := tcprule.NewConnection(test.question.ServerName, nil, client)
		served := ""
		if found := b.target.Streams("web").RouteStream(stage, &c); found != nil {
			served = found.(tcpStream).route.Name
		}
		if served != router {
			t.Errorf("%s: explained as %q, served by %q", name, router, served)
		}
	}
	for _, question := range []ConnectionQuestion{
		{Address: "db"}, {Address: ":80", Client: "x"}, {Address: ":80", EntryPoint: "none"},
	} {
		if _, err := b.target.Table().ExplainConnection(question); err == nil {
			t.Errorf("%+v is explained", question)
		}
	}
}

func TestRoutesOfAllProtocols(t *testing.T) {
	b := newTCPBench(t)
	b.compiler.options.PacketEntryPoints = []string{"dns"}
	b.router("shop@file", "Host(`shop.test`)", "a@internal")
	both := func(r *dynamic.TCPRouter) {
		r.EntryPoints, r.Middlewares, r.TLS.Passthrough = []string{"web", "websecure"}, []string{"m"}, true
	}
	b.tcpRouter("through@file", "tls HostSNI(`db.test`)", both)
	b.tcpRouter("plain@file", "HostSNI(`*`)", nil)
	b.config.UDP = &dynamic.UDPConfiguration{}
	b.udpRouter("dns@file", "none", "dns")
	b.udpRouter("lost@file", "none", "nowhere")
	b.all()
	want := []Listing{
		{
			Name: "shop@file", Provider: "file", EntryPoints: []string{"web"}, Rule: "Host(`shop.test`)", Priority: 17,
			Service: "a@internal", Status: "enabled",
		},
		{
			Name: "through@file", Protocol: "tcp", Provider: "file", EntryPoints: []string{"web", "websecure"},
			Rule: "HostSNI(`db.test`)", Priority: 18, TLS: true, Passthrough: true, Middlewares: []string{"m@file"},
			Status: "disabled", Reason: `tcpMiddleware "m@file" does not exist`,
		},
		{
			Name: "plain@file", Protocol: "tcp", Provider: "file", EntryPoints: []string{"web"}, Rule: "HostSNI(`*`)",
			Priority: -1, Service: "db@file", Status: "enabled",
		},
		{
			Name: "dns@file", Protocol: "udp", Provider: "file", EntryPoints: []string{"dns"}, Status: "disabled",
			Reason: `udpService "none@file" does not exist`,
		},
	}
	diff := cmp.Diff(want, b.target.Table().Routes(), cmpopts.IgnoreUnexported(Listing{}), cmpopts.EquateEmpty())
	if diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
}
