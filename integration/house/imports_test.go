package house

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers lists for each top-level folder which others it may import, each with its subfolders: the direction in which
// data flows. The leaves below may be imported by all; cmd and integration may import everything and are not imported.
var layers = map[string][]string{
	// It passes questions on to the table that serves, and shows what resolvers obtain and who is connected.
	"api":          {"pipeline", "router", "xds", "inject", "certificate", "entrypoint"},
	"xds":          {"pipeline", "loadbalancer"},
	"pipeline":     {"provider", "router", "loadbalancer"},
	"entrypoint":   {"router", "certificate", "http1/server", "http1/wire", "http2/server"},
	"router":       {"middleware", "forward", "loadbalancer", "certificate"},
	"middleware":   {},
	"overload":     {},
	"forward":      {"loadbalancer", "http1/client", "http1/wire", "http2/client"},
	"forwardproxy": {},
	// It passes sockets on without knowing what for.
	"handover":     {},
	"loadbalancer": {"http1/client", "http2/client"},
	"certificate":  {},
	"http1":        {},
	// Fields, targets, and what callers of a client say and learn are those of HTTP/1.1.
	"http2":    {"http1/wire", "http1/client"},
	"provider": {},
	// The states and sockets of sd_notify(3) and sd_listen_fds(3).
	"servicemanager": {},
	"inject":         {"provider/gotemplate", "provider/kubernetes/client"}, // Templates run within limits there.
	// Objects are read as a cluster's are, and annotations have one reader.
	"migrate": {
		"provider/kubernetes/manifest", "provider/kubernetes/ingressnginx/annotation",
		"provider/kubernetes/ingressnginx/snippet",
	},
	// Modules of their own, which applications import.
	"sdk": {},
}

// leaves may be imported by all; the value is what they may import.
var leaves = map[string][]string{
	"telemetry": {"static", "document", "clienttls", "redact"},
	// Trusted peers are parsed where options are read. Sections of the dynamic configuration may be in the same file.
	"static":  {"document", "redact", "forwarded", "dynamic"},
	"dynamic": {"document", "immutable", "redact"},
	// Clients of collectors, container engines and middlewares' servers are made alike.
	"clienttls": {"document", "dynamic"},
	"immutable": {"redact"},
	"redact":    {}, // It reads struct tags, and imports no model.
	"canonical": {},
	// Requests and routes of xDS select by the same rules.
	"environment": {"dynamic"},
	"forwarded":   {},
	"document":    {},
	"httpio":      {},
	// The languages of nginx: paths, regular expressions, locations and variables.
	"nginx": {},
}

// islands are folders whose subfolders never import one another: each is one provider, one middleware, or one side of
// HTTP/1.1.
// The values are what they have in common.
var islands = map[string][]string{
	"provider": {"provider/gotemplate"},
	"http1":    {"http1/wire"},
	"http2":    {"http2/wire", "http2/flood", "http2/buffer"},
	"middleware": {
		"middleware/answer", "middleware/guard", "middleware/response", "middleware/source",
		"middleware/pattern", "middleware/users", "middleware/cookies",
		"middleware/headerlist", "middleware/location", "middleware/pathmodifier", "middleware/authorize",
		"middleware/proxyrewrite",
	},
}

// exceptions are single packages that a folder may import beyond its layers, because it would repeat what they do
// otherwise.
var exceptions = map[string][]string{
	// The administration drains endpoints.
	"api/admin": {"loadbalancer"},
	// The pool runs the policy that the middleware declares.
	"middleware/retry": {"loadbalancer/retry"},
	// The retries of requests for authorization are those of their own service.
	"middleware/externalauth": {"loadbalancer/retry"},
	// A server that decides must not choose the answer to the next request by bytes that it sends early, which
	// http1/client refuses.
	"middleware/authorize": {"http1/client"},
	// It looks at the CRLs that TLS options look at during the handshake.
	"middleware/clientcertificate": {"certificate"},
	// It edits the fields of a response as the list in which http1 has read them.
	"middleware/headers":    {"http1/wire"},
	"middleware/headerlist": {"http1/wire"},
	// Objects may be those of a cluster.
	"migrate/source": {"provider/kubernetes/client"},
	// It is the whole of Sluice in one process.
	"migrate/process": {
		"certificate", "entrypoint", "loadbalancer", "middleware", "pipeline", "provider", "provider/kubernetes", "router",
		"router/service",
	},
	// It reads what package xds publishes.
	"provider/xds": {"xds/client", "xds/resource"},
	// Certificates may be kept in the cluster.
	"certificate/storage/open":   {"provider/kubernetes/client"},
	"certificate/storage/secret": {"provider/kubernetes/client", "provider/kubernetes/election"},
	// Servers of tests keep their ports.
	"certificate/acme/acmetest":            {"http1/http1test"},
	"middleware/ratelimit/redis/redistest": {"http1/http1test"},
	// Tests of middlewares need what is around a middleware.
	"middleware/middlewaretest/rig": {
		"certificate", "entrypoint", "forward", "loadbalancer", "http1/http1test", "http1/server",
	},
}

// libraries lists which folders may import a library, and why. Other libraries must not be used.
var libraries = []struct {
	prefix  string
	folders []string
	why     string
}{
	{
		"k8s.io",
		[]string{"provider/kubernetes", "inject", "certificate/storage/secret", "migrate"},
		"the client's weight in memory and in the binary is paid where the cluster is read or written, where pods are changed, " +
			"and where objects are judged",
	},
	{
		"github.com/go-logr/logr",
		[]string{"provider/kubernetes", "telemetry/otlp", "inject/webhook"},
		"the clients of clusters and of collectors log through it",
	},
	{"sigs.k8s.io", []string{"provider/kubernetes", "inject", "migrate"}, "as for k8s.io"},
	{"github.com/vulcand/oxy", []string{"middleware"}, "a middleware is the only thing that it has to offer"},
	{"github.com/klauspost/compress", []string{"middleware"}, "a middleware is the only one who compresses"},
	{"github.com/andybalholm/brotli", []string{"middleware"}, "as for klauspost/compress"},
	{
		"github.com/redis/go-redis",
		[]string{"middleware", "certificate/storage/redis"},
		"rate limits and certificates are what replicas share there",
	},
	{"go.etcd.io/etcd", []string{"certificate/storage/etcd"}, "certificates are what replicas share there"},
	{"go.uber.org/zap", []string{"certificate/storage/etcd"}, "the client of etcd logs through it, and is silent here"},
	{"github.com/go-jose/go-jose", []string{"middleware"}, "tokens are checked where they let in"},
	{"golang.org/x/crypto/bcrypt", []string{"middleware"}, "passwords are checked where they let in"},
	{"golang.org/x/crypto/cryptobyte", []string{"entrypoint"}, "the ClientHello is read before TLS ends somewhere"},
	{"github.com/gorilla/mux", []string{"api"}, "requests of users are routed by router alone"},
	{"github.com/sirupsen/logrus", []string{"telemetry/log"}, "other packages log through telemetry's interfaces"},
	{
		"github.com/prometheus/client_golang",
		[]string{"telemetry/metrics", "telemetry/push"},
		"other packages count through telemetry's interfaces",
	},
	{"github.com/prometheus/client_model", []string{"telemetry/metrics", "telemetry/push"}, "as for client_golang"},
	{"github.com/prometheus/common", []string{"telemetry/metrics"}, "the page of metrics is written there"},
	{"go.opentelemetry.io", []string{"telemetry"}, "other packages trace through telemetry's interfaces"},
	{
		"google.golang.org/protobuf",
		[]string{"telemetry", "xds", "middleware/externalauth"},
		"what collectors, xDS clients and servers of ext_authz get is written there",
	},
	{
		"google.golang.org/grpc",
		[]string{"telemetry", "xds", "sdk/propagate/propagategrpc", "certificate/spiffe"},
		"collectors of OpenTelemetry, xDS clients, applications and the SPIFFE Workload API speak it",
	},
	{
		"google.golang.org/genproto",
		[]string{"xds", "middleware/externalauth"},
		"the status in which an xDS client rejects a response, and a server of ext_authz a request",
	},
	{
		"github.com/envoyproxy/go-control-plane",
		[]string{"xds", "provider/xds", "middleware/externalauth"},
		"the messages of xDS and ext_authz",
	},
	{"github.com/cncf/xds", []string{"xds"}, "the types of xDS that Envoy does not define"},
	{"gopkg.in/natefinch/lumberjack.v2", []string{"telemetry"}, "log files are rotated where they are written"},
	{"github.com/mitchellh/hashstructure", []string{"dynamic"}, "there is one fingerprint"},
	{
		"github.com/traefik/paerser",
		[]string{"dynamic", "static", "document", "cmd", "provider/kubernetes"},
		"there is one way from labels and flags to values",
	},
	{
		"go.yaml.in/yaml",
		[]string{"document", "inject/manifest"},
		"there is one reader of YAML, with positions, and one writer, which keeps comments",
	},
	{"gopkg.in/evanphx/json-patch.v4", []string{"inject"}, "patches of pods are applied to pods in files"},
	{
		"github.com/pelletier/go-toml",
		[]string{"document", "certificate/dnsprovider/generate"},
		"there is one reader of TOML, with positions; a generator reads the files of lego",
	},
	{"github.com/fsnotify/fsnotify", []string{"provider/file", "inject/source"}, "files are watched where they are read"},
	{
		"github.com/Masterminds/sprig",
		[]string{"provider/gotemplate"},
		"templates run within limits there",
	},
	{"github.com/moby/moby", []string{"provider/docker"}, "the engine is read there"},
	{"github.com/containerd/errdefs", []string{"provider/docker"}, "the engine's client distinguishes its errors by them"},
	{
		"github.com/miekg/dns",
		[]string{"provider/dns", "certificate/acme", "certificate/acme/dns01"},
		"names are resolved with their TTL, and single name servers are asked",
	},
	{"github.com/go-acme/lego", []string{"certificate/dnsprovider"}, "its DNS providers are made there by their names"},
	{"github.com/spiffe/go-spiffe", []string{"certificate/spiffe"}, "the client of the SPIFFE Workload API"},
	{"github.com/mholt/acmez", []string{"certificate/acme"}, "the client of ACME"},
	{"github.com/pires/go-proxyproto", []string{"entrypoint"}, "the dispatcher alone reads what precedes a connection"},
	{"github.com/google/go-containerregistry", []string{"deploy/image"}, "the image of a release is written there"},
	{"github.com/coreos/go-systemd", []string{"servicemanager"}, "there is one connection to the service manager"},
	{"github.com/KimMachineGun/automemlimit", []string{"cmd"}, "main sets up the process"},
	{"golang.org/x/crypto/x509roots/fallback", []string{"cmd"}, "main sets up the process"},
	{"github.com/coder/websocket", []string{"cmd"}, "whoami echoes; the proxy passes WebSockets on without looking"},
	{
		"golang.org/x/net/http/httpguts",
		[]string{
			"middleware", "entrypoint", "forward", "http1", "canonical", "environment", "provider/kubernetes/gateway",
			"provider/kubernetes/ingressnginx/snippet",
		},
		"what a header may hold",
	},
	{
		"golang.org/x/net",
		[]string{
			"entrypoint", "forward", "http1", "http2", "canonical", "provider/dns", "middleware/authorize", "certificate/acme",
		},
		"HTTP/2 and host names on the wire",
	},
	{"github.com/quic-go/quic-go", []string{"entrypoint"}, "QUIC is served there"},
	{"github.com/cespare/xxhash", []string{"loadbalancer"}, "instances must agree on the hash of a key"},
	{
		"golang.org/x/time",
		[]string{"provider/kubernetes", "inject/webhook", "certificate/acme"},
		"requests to API servers and certificate authorities have a limited rate",
	},
	{"golang.org/x/sync/errgroup", []string{"certificate/acme"}, "the names of an order are validated side by side"},
	{
		"golang.org/x/crypto/ocsp",
		[]string{"certificate/ocsp"},
		"requests and responses of OCSP",
	},
	{"github.com/letsencrypt", []string{"certificate/acme/acmetest"}, "the certificate authority of tests"},
	{"golang.org/x/sync/semaphore", []string{"inject/webhook"}, "reviews share a budget of memory"},
	{
		"golang.org/x/sys",
		[]string{"entrypoint", "forward", "handover", "http1", "httpio/epoll", "servicemanager"},
		"sockets",
	},
}

// testLibraries may be imported by every test, beside all of the above.
var testLibraries = []string{
	"github.com/google/go-cmp", "go.uber.org/goleak", "google.golang.org/grpc", "google.golang.org/protobuf",
	"github.com/oauth2-proxy/mockoidc",
	"github.com/letsencrypt",
	"github.com/go-acme/lego", // Its providers are tested against the solver.
	"github.com/getkin/kin-openapi",
}

func TestImports(t *testing.T) {
	loaded := load(t)
	for _, folder := range loaded.folders {
		for _, file := range folder.files {
			for _, spec := range file.syntax.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				if reason := forbidden(folder.path, imported, file.test); reason != "" {
					t.Errorf("%s: imports %s: %s", loaded.fset.Position(spec.Pos()), imported, reason)
				}
			}
		}
	}
}

// forbidden returns why code in the folder may not import the path; empty if it may.
func forbidden(folder, imported string, test bool) string {
	top, _, _ := strings.Cut(folder, "/")
	own, ours := strings.CutPrefix(imported, module+"/")
	switch {
	case ours && (within(own, "cmd") || within(own, "integration")) && top != "integration":
		return "nothing imports cmd or integration"
	case top == "cmd" || top == "integration":
		return ""
	case ours && test:
		return ""
	case ours:
		return forbiddenOwn(folder, top, own)
	case strings.Contains(strings.SplitN(imported, "/", 2)[0], "."):
		return forbiddenLibrary(folder, imported, test)
	}
	return "" // The standard library.
}

func forbiddenOwn(folder, top, own string) string {
	if slices.Contains(exceptions[folder], own) {
		return ""
	}
	target, _, _ := strings.Cut(own, "/")
	if target == top {
		common, island := islands[top]
		if island && folder != top && own != top && subfolder(folder) != subfolder(own) && !slices.Contains(common, own) {
			return fmt.Sprintf("the subfolders of %s know nothing of one another", top)
		}
		return ""
	}
	allowed, isLeaf := leaves[top]
	if !isLeaf {
		if _, common := leaves[target]; common {
			return ""
		}
		var known bool
		if allowed, known = layers[top]; !known {
			return fmt.Sprintf("the folder %s has no place in the table of layers", top)
		}
	}
	if slices.ContainsFunc(allowed, func(folder string) bool { return within(own, folder) }) {
		return ""
	}
	return fmt.Sprintf("%s may import %s and the leaves", top, strings.Join(append([]string{"itself"}, allowed...), ", "))
}

// subfolder returns the first two parts of a path: provider/kubernetes of provider/kubernetes/client.
func subfolder(path string) string {
	top, rest, _ := strings.Cut(path, "/")
	second, _, _ := strings.Cut(rest, "/")
	return top + "/" + second
}

func forbiddenLibrary(folder, imported string, test bool) string {
	for _, library := range libraries {
		if !within(imported, library.prefix) {
			continue
		}
		for _, allowed := range library.folders {
			if test || within(folder, allowed) {
				return ""
			}
		}
		return fmt.Sprintf("only %s may: %s", strings.Join(library.folders, ", "), library.why)
	}
	for _, prefix := range testLibraries {
		if test && within(imported, prefix) {
			return ""
		}
	}
	return "this library is not on the list"
}

func TestForbiddenFollowsTheLayers(t *testing.T) {
	tests := []struct {
		folder, imported string
		test, allowed    bool
	}{
		{"api", module + "/pipeline", false, true},
		{"api", module + "/router", false, true},
		{"api", module + "/loadbalancer", false, false},
		{"api", module + "/loadbalancer", true, true},
		{"dynamic", module + "/document", false, true},
		{"dynamic", module + "/telemetry", false, false},
		{"middleware/headers", module + "/dynamic", false, true},
		{"middleware/headers", module + "/middleware", false, true},
		{"middleware/headers", module + "/middleware/chain", false, false},
		{"middleware/retry", module + "/loadbalancer/retry", false, true},
		{"middleware/retry", module + "/loadbalancer", false, false},
		{"middleware/headers", module + "/loadbalancer/retry", false, false},
		{"provider/kubernetes/crd", module + "/provider/kubernetes", false, true},
		{"provider/kubernetes", module + "/provider/file", false, false},
		{"router", module + "/router/index", false, true},
		{"forward", module + "/http1/client", false, true},
		{"forward", module + "/http1/server", false, false},
		{"http1/client", module + "/http1/wire", false, true},
		{"http1/client", module + "/http1/server", false, false},
		{"router", module + "/provider", false, false},
		{"router", module + "/cmd/sluice", true, false},
		{"integration/feature", module + "/router", false, true},
		{"migrate/source", module + "/provider/kubernetes/manifest", false, true},
		{"migrate/nginxmodel", module + "/nginx/location", false, true},
		{"migrate/nginxmodel", module + "/provider/kubernetes/ingressnginx", false, false},
		{"migrate", module + "/router", false, false},
		{"novelty", module + "/router", false, false},
		{"router", "net/http", false, true},
		{"router", "github.com/gorilla/mux", false, false},
		{"dynamic", "github.com/mitchellh/hashstructure/v2", false, true},
		{"router", "github.com/google/go-cmp/cmp", true, true},
		{"router", "github.com/google/go-cmp/cmp", false, false},
		{"router", "github.com/stretchr/testify/require", true, false},
	}
	for _, test := range tests {
		if reason := forbidden(test.folder, test.imported, test.test); (reason == "") != test.allowed {
			t.Errorf("%s imports %s (test: %v): %q", test.folder, test.imported, test.test, reason)
		}
	}
}
