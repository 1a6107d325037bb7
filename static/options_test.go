package static

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// updating is the flag -update, which rewrites what the tests compare with.
func updating() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the golden files and the reference")
	os.Exit(m.Run())
}

// golden compares got with a file, or writes the file.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if updating() {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("no golden file, write it with -update: %v", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs, rewrite it with -update if this is meant (-want +got):\n%s", path, diff)
	}
}

// traefikOptions reads testdata/traefik.txt: every static option of Traefik v3.7 with its default.
func traefikOptions(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/traefik.txt")
	if err != nil {
		t.Fatal(err)
	}
	options := map[string]string{}
	for line := range strings.Lines(string(data)) {
		path, def, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok {
			t.Fatalf("bad line %q", line)
		}
		options[path] = def
	}
	return options
}

func optionsByPath() map[string]Option {
	options := map[string]Option{}
	for _, option := range Options() {
		options[option.Path] = option
	}
	return options
}

// TestOptionsOfTraefik proves that no option of Traefik is unknown, and that each has the default that its users
// count on.
func TestOptionsOfTraefik(t *testing.T) {
	differs := map[string]string{
		"log.level": "INFO", "entryPoints.<name>.http2.maxConcurrentStreams": "100",
		// Traefik's page has 0, and its serversTransports 100ms.
		"tcpServersTransport.terminationDelay": "0.1",
		// Those of ingress-nginx 1.15.
		"providers.kubernetesIngressNGINX.clientBodyBufferSize":  "8192",
		"providers.kubernetesIngressNGINX.proxyBufferSize":       "4096",
		"providers.kubernetesIngressNGINX.proxyConnectTimeout":   "5",
		"providers.kubernetesIngressNGINX.proxyRequestBuffering": "true",
	}
	known := optionsByPath()
	want := traefikOptions(t)
	if len(want) < 400 {
		t.Fatalf("only %d options in the table", len(want))
	}
	for path, def := range want {
		option, ok := known[path]
		if !ok {
			t.Errorf("%s is unknown", path)
			continue
		}
		if ours, ok := differs[path]; ok {
			def = ours
		}
		if got := comparable(option); got != comparableTable(option, def) {
			t.Errorf("%s has the default %q, want %q", path, got, def)
		}
	}
}

// comparable returns the default of an option without what only its rendering adds.
func comparable(option Option) string {
	if option.Type == "section" {
		return ""
	}
	return option.Default
}

// comparableTable brings a default of the table into our rendering: durations are seconds there, floats have six
// digits.
func comparableTable(option Option, def string) string {
	switch option.Type {
	case "section":
		return ""
	case "duration":
		seconds, err := time.ParseDuration(def + "s")
		if err != nil {
			return def
		}
		return shortDuration(seconds)
	case "float", "list of float":
		return regexp.MustCompile(`(\.\d*?)0+\b`).ReplaceAllStringFunc(def, func(s string) string {
			return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
		})
	}
	return def
}

// TestOptionsBeyondTraefik keeps the list of what is ours: everything else must be in the table of Traefik.
func TestOptionsBeyondTraefik(t *testing.T) {
	var got []string
	traefik := traefikOptions(t)
	for _, option := range Options() {
		if _, ok := traefik[option.Path]; !ok && option.Type != "section" && option.Type != "list of sections" {
			got = append(got, option.Path)
		}
	}
	want := []string{
		"accessLog.forwardRequestID", "api.admin", "api.liveRequests",
		"api.requireAuth",
		"certificatesResolvers.<name>.acme.onDemand.ask",
		"certificatesResolvers.<name>.acme.onDemand.patterns",
		"certificatesResolvers.<name>.acme.onDemand.timeout",
		"certificatesResolvers.<name>.acme.stagingCAServer",
		"descriptors.reserve",
		"entryPoints.<name>.forwardProxy.defaultHeaders.<name>",
		"entryPoints.<name>.forwardProxy.shutdownQuiet",
		"entryPoints.<name>.forwardProxy.shutdownTimeout",
		"entryPoints.<name>.forwardedHeaders.forwarded",
		"entryPoints.<name>.http.allowParameterSegments",
		"entryPoints.<name>.http.maxHeaderCount",
		"entryPoints.<name>.http2.extendedConnect", "entryPoints.<name>.http3.allow0RTT", "entryPoints.<name>.http3.extendedConnect",
		"entryPoints.<name>.http3.qlog.directory",
		"entryPoints.<name>.http3.qlog.maxBytes",
		"entryPoints.<name>.http3.qlog.maxFiles",
		"entryPoints.<name>.http3.withdrawn",
		"entryPoints.<name>.tcp.preferHTTP",
		"entryPoints.<name>.transport.limits.connectionBurst",
		"entryPoints.<name>.transport.limits.maxConnectionRate",
		"entryPoints.<name>.transport.limits.maxConnectionRatePerClient",
		"entryPoints.<name>.transport.limits.maxConnections",
		"entryPoints.<name>.transport.limits.maxConnectionsPerClient",
		"entryPoints.<name>.transport.limits.maxHandshakeRate",
		"entryPoints.<name>.transport.limits.maxHandshakeRatePerClient",
		"entryPoints.<name>.transport.limits.maxHandshakes",
		"entryPoints.<name>.transport.limits.maxRequestRate",
		"entryPoints.<name>.transport.limits.maxRequestRatePerClient",
		"entryPoints.<name>.transport.limits.requestBurst",
		"entryPoints.<name>.udp.maxSessions",
		"entryPoints.<name>.udp.maxSessionsPerClient",
		"handover.drain", "handover.socket", "handover.stay",
		"injector.address",
		"injector.config",
		"injector.configMap",
		"injector.drainTimeout",
		"injector.enforce.labels.<name>",
		"injector.enforce.namespace",
		"injector.events",
		"injector.maxConcurrentReviews",
		"injector.namespace",
		"injector.nativeSidecars",
		"injector.onError",
		"injector.secret",
		"injector.serverNames",
		"injector.service",
		"injector.statusAddress",
		"injector.tls.certFile",
		"injector.tls.keyFile",
		"injector.webhookConfiguration",
		"injector.webhooks",
		"inspector.address",
		"log.levels.<name>",
		"overload.actions.endKeepAlive",
		"overload.actions.reduceTimeouts",
		"overload.actions.resetLargest",
		"overload.actions.shedDefault",
		"overload.actions.shedHigh",
		"overload.actions.shedLow",
		"overload.actions.stopAccepting",
		"overload.connections.limit",
		"overload.cpu.schedulerLatency",
		"overload.descriptors.limit",
		"overload.hysteresis",
		"overload.interval",
		"overload.memory.gcShare",
		"overload.memory.limit",
		"overload.retryAfter",
		"providers.dns.maxTTL",
		"providers.dns.minTTL",
		"providers.dns.resolvers",
		"providers.kubernetesGateway.addressPool",
		"providers.kubernetesGateway.controllerName",
		"providers.kubernetesGateway.entryPointTemplate",
		"providers.kubernetesGateway.exposure",
		"providers.kubernetesGateway.mergeGateways",
		"providers.kubernetesGateway.service.firstPort",
		"providers.kubernetesGateway.service.lastPort",
		"providers.kubernetesGateway.service.selector",
		"providers.kubernetesGateway.service.type",
		"providers.kubernetesIngressNGINX.configMap",
		"providers.kubernetesIngressNGINX.defaultSSLCertificate",
		"providers.kubernetesIngressNGINX.disableCatchAll",
		"providers.kubernetesIngressNGINX.enableSSLPassthrough",
		"providers.kubernetesIngressNGINX.modSecurity",
		"providers.kubernetesIngressNGINX.publish",
		"providers.xds.address",
		"providers.xds.allowInsecure",
		"providers.xds.entryPoints",
		"providers.xds.idleTimeout",
		"providers.xds.maxNames",
		"providers.xds.names",
		"providers.xds.namespace",
		"providers.xds.node",
		"providers.xds.timeout",
		"providers.xds.tls.ca",
		"providers.xds.tls.cert",
		"providers.xds.tls.insecureSkipVerify",
		"providers.xds.tls.key",
		"providers.xds.tokenFile",
		"sessionTickets.storage",
		"xds.address",
		"xds.allowInsecure",
		"xds.clients[0].identity",
		"xds.clients[0].namespaces",
		"xds.maxStreams",
		"xds.tls.caFiles",
		"xds.tls.certFile",
		"xds.tls.keyFile",
		"xds.tokenReview.audience",
		"zone",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("options that Traefik has not (-want +got):\n%s", diff)
	}
}

// TestOptionsAreClassed proves that no option is read and ignored: each says what Sluice does with it, and those
// that are supported say what they mean.
func TestOptionsAreClassed(t *testing.T) {
	sentence := regexp.MustCompile(`^[A-Z].*\.$`)
	for _, option := range Options() {
		switch option.Support {
		case Supported:
			if !sentence.MatchString(option.Description) {
				t.Errorf("%s is supported; its description is no sentence: %q", option.Path, option.Description)
			}
		case Refused:
			if option.Why == "" {
				t.Errorf("%s is refused without a reason", option.Path)
			}
		case Ignored, Inert:
		default:
			t.Errorf("%s has the unknown class %q", option.Path, option.Support)
		}
	}
}

// TestClassesTakeEffect writes every option that is not supported and expects a finding of its class about it.
func TestClassesTakeEffect(t *testing.T) {
	for _, option := range Options() {
		if option.Support == Supported || option.Type == "list of sections" {
			continue
		}
		name := strings.ReplaceAll(option.Path, "<name>", "x")
		_, findings := load(t, "", nil, []string{"--" + name + "=" + sample(option)})
		found := false
		for _, finding := range findings {
			found = found || finding.Severity == option.Support.severity() && strings.Contains(finding.Reason, option.Why)
		}
		if !found {
			t.Errorf("%s (%s): no finding says so: %v", name, option.Support, findings)
		}
	}
}

// sample returns a value that the option takes.
func sample(option Option) string {
	switch {
	case len(option.Values) > 0:
		return option.Values[0]
	case option.Type == "bool" || option.Type == "section":
		return "true"
	default:
		return "1"
	}
}

func TestHelp(t *testing.T) {
	var b bytes.Buffer
	if err := WriteHelp(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/help.golden", b.Bytes())
}

// TestReference keeps docs/reference/static.md equal to the types.
func TestReference(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(`# Static options

The static configuration is read once, when Sluice starts: from a file (YAML or TOML), from variables of the
environment, and from flags.
Flags override variables, and variables override the file, option by option. ` + "`entryPoints.web.address`" + ` is
` + "`SLUICE_ENTRYPOINTS_WEB_ADDRESS`" + ` in the environment and ` + "`--entryPoints.web.address`" +
		` on the command line; case does not count.
` + "`<name>`" + ` stands for a name of your choice. A duration is written as ` + "`1m30s`" +
		`, or as a number of seconds. A section is switched on by writing it,
even if it is empty.

An option that is not in this table is an error. The column "supported" says what happens to one that is:

- *yes*: it does what it says.
- *not yet (warning)*: it is ignored, and Sluice says so when it starts.
- *not yet (refused)*: Sluice does not start with it, since protection or whole sets of routes would be missing.
- *no effect*: it never needs to do anything here; a debug line says so.

This page is generated from the types.

| option | type | default | supported | meaning |
|---|---|---|---|---|
`)
	for _, option := range Options() {
		def := option.Default
		if def != "" {
			def = "`" + strings.ReplaceAll(def, "`", "'") + "`"
		}
		meaning := option.Description
		if option.Support == Refused || option.Support == Ignored {
			meaning = strings.TrimSpace(meaning + " " + sentenceOf(option.Why))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", option.Path, option.Type, def, option.Support, meaning)
	}
	golden(t, "../docs/reference/static.md", b.Bytes())
}

// sentenceOf makes a sentence of a clause.
func sentenceOf(clause string) string {
	if clause == "" {
		return ""
	}
	return strings.ToUpper(clause[:1]) + clause[1:] + "."
}
