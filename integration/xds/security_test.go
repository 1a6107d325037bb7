package xds

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
	"github.com/sluiceproxy/sluice/xds"
)

// staticCertificates publishes to clients with certificates, staticTokens to those with tokens; both bind clients of
// the namespace shop to it.
const (
	staticCertificates = staticGuarded + `
  tls: {certFile: "${CERT}", keyFile: "${KEY}", caFiles: ["${CA}"]}
  clients: [{identity: "spiffe://cluster.local/ns/shop/sa/*", namespaces: [shop]}]
`
	staticTokens = staticGuarded + `
  tls: {certFile: "${CERT}", keyFile: "${KEY}"}
  tokenReview: {}
  clients: [{identity: "system:serviceaccount:shop:*", namespaces: [shop]}]
`
	staticGuarded = `
entryPoints: {traefik: {address: "127.0.0.1:0"}}
ping: {}
api: {insecure: true}
providers: {kubernetesIngress: {}}
xds:
  address: "` + serverAddress + `"`
	// staticGuardedReader discovers with a certificate, a token, or none of them.
	staticGuardedReader = `
entryPoints: {web: {address: "127.0.0.1:0"}, traefik: {address: "127.0.0.1:0"}}
ping: {}
providers:
  xds: {address: "` + serverAddress + `", tls: {ca: "${CA}", cert: "${CERT}", key: "${KEY}"}, tokenFile: "${TOKEN}"}
`
)

// credentials are the files with which a client proves who it is; empty ones are not presented.
type credentials struct{ cert, key, token string }

// guarded is a cluster with a Service of the same name in two namespaces, and the Sluice that publishes it.
type guarded struct {
	t         *testing.T
	c         *cluster.Cluster
	authority *harness.Authority // of the server and of the clients
	publisher *harness.Sluice
}

// TestSecurity connects with certificates and tokens that let a client see one namespace, and with others.
func TestSecurity(t *testing.T) {
	c := prepare(t)
	c.Apply(namespace("shop"), namespace("other"), deployment("shop/web", "polite", "1"),
		deployment("other/web", "polite", "1"), serviceAccount("shop/web"), serviceAccount("shop/gone"),
		serviceAccount("other/web"))
	c.Deployed("shop/web")
	c.Deployed("other/web")
	authority := harness.NewAuthority(t)
	t.Run("certificates", func(t *testing.T) { certificates(guard(t, c.For(t), authority, staticCertificates)) })
	t.Run("tokens", func(t *testing.T) { tokens(guard(t, c.For(t), authority, staticTokens)) })
}

// guard starts the publisher.
func guard(t *testing.T, c *cluster.Cluster, authority *harness.Authority, config string) *guarded {
	t.Helper()
	server := authority.Issue("server", "127.0.0.1")
	g := &guarded{t: t, c: c, authority: authority}
	g.publisher = harness.Start(t, harness.Setup{
		Static: config,
		Vars:   map[string]string{"CA": authority.File, "CERT": server.CertFile, "KEY": server.KeyFile},
		Env:    []string{"KUBECONFIG=" + c.AccountKubeconfig(account), "POD_NAMESPACE=sluice"},
	})
	g.publisher.WaitLog("xDS is served")
	return g
}

// serviceAccount is the manifest of a ServiceAccount at namespace/name.
func serviceAccount(path string) string {
	namespace, name, _ := strings.Cut(path, "/")
	return "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: " + name + ", namespace: " + namespace + "}\n"
}

// certificates connects with certificates.
func certificates(g *guarded) {
	issued := func(by *harness.Authority, name, uri string) credentials {
		one := by.Issue(name, uri)
		return credentials{cert: one.CertFile, key: one.KeyFile}
	}
	const own = "spiffe://cluster.local/ns/shop/sa/web"
	g.admits("shop", issued(g.authority, "shop", own))
	foreign := issued(harness.NewAuthority(g.t), "foreign", own)
	// The alert may reach a client after its first write has failed, whose error it reports then.
	g.refuses("anonymous", credentials{}, "Unavailable")
	g.alerts(credentials{}, "certificate required")
	g.refuses("foreign", foreign, "Unavailable")
	g.alerts(foreign, "unknown certificate authority")
	g.refuses("other", issued(g.authority, "other", "spiffe://cluster.local/ns/other/sa/web"), "PermissionDenied")
}

// tokens connects with tokens that the API server has issued.
func tokens(g *guarded) {
	folder := g.t.TempDir()
	issued := func(name, text string) credentials {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			g.t.Fatal(err)
		}
		return credentials{token: file}
	}
	const audience = "sluice-xds"
	gone := g.c.AccountToken("shop/gone", audience)
	g.c.Delete(serviceAccount("shop/gone"))
	g.admits("shop", issued("shop", g.c.AccountToken("shop/web", audience)))
	g.refuses("anonymous", credentials{}, "no token")
	g.refuses("kube-api", issued("kube-api", g.c.AccountToken("shop/web")), "not valid for the audience")
	g.refuses("elsewhere", issued("elsewhere", g.c.AccountToken("shop/web", "elsewhere")), "not valid for the audience")
	g.refuses("gone", issued("gone", gone), "not valid for the audience")
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"system:serviceaccount:shop:web","exp":4102444800}`))
	g.refuses("forged", issued("forged", "e30."+claims+".e30"), "not valid for the audience")
	g.refuses("other", issued("other", g.c.AccountToken("other/web", audience)), "PermissionDenied")
}

// admits wants clients with these credentials to see the namespace shop, and no other one.
func (g *guarded) admits(node string, with credentials) {
	g.t.Helper()
	g.t.Run("admits "+node, func(t *testing.T) {
		pod, err := callOnce(t, g.bootstrap(node, with), "web.shop:80")
		if err != nil || !strings.HasPrefix(pod, "shop/") {
			t.Errorf("grpc-go: a call to web.shop is answered by %q, %v", pod, err)
		}
		g.hides(t, g.bootstrap(node, with), node, "web.other:80")
		result := g.command(with, "get", "web.shop:80", "web.other:80")
		if result.Code != 1 || !strings.Contains(result.Stdout, "listener web.shop:80\n") ||
			!strings.Contains(result.Stderr, "listener web.other:80 does not exist") {
			t.Errorf("sluice xds: exit code %d\n%s%s", result.Code, result.Stdout, result.Stderr)
		}
		reader := harness.Start(t, harness.Setup{Static: staticGuardedReader, Vars: map[string]string{
			"CA": g.authority.File, "CERT": with.cert, "KEY": with.key, "TOKEN": with.token,
		}})
		web := harness.NewClient(t, harness.H1, reader.Addr("web"), "any.test", nil)
		if pod, err := request(t.Context(), web, "web.shop"); err != nil || !strings.HasPrefix(pod, "shop/") {
			t.Errorf("sluice: a request to web.shop is answered by %q, %v", pod, err)
		}
		if _, err := request(t.Context(), web, "web.other"); err == nil || !strings.Contains(err.Error(), "status 404") {
			t.Errorf("sluice: a request to web.other: %v, want 404", err)
		}
	})
}

// hides wants a listener to be missing for grpc-go, and a call to it to wait until it is given up.
func (g *guarded) hides(t *testing.T, config, node, listener string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	hidden := calls(dialBootstrap(t, config, listener))[unary]
	go func() {
		_, err := hidden(ctx)
		ended <- err
	}()
	lacks := func(of xds.ClientType) bool { return of.Type == "lds" && slices.Contains(of.Missing, listener) }
	until(t, func() bool {
		return slices.ContainsFunc(g.streams(t, node), func(one xds.Client) bool {
			return slices.Equal(one.Namespaces, []string{"shop"}) && slices.ContainsFunc(one.Types, lacks)
		})
	}, func() string { return fmt.Sprintf("%s is missing: %+v", listener, g.streams(t, node)) })
	cancel()
	if err := harness.Await(t, ended, "the end of the call"); status.Code(err) != codes.Canceled {
		t.Errorf("grpc-go: a call to %s: %v, want it to wait", listener, err)
	}
}

// refuses wants clients with these credentials to get nothing, for this reason.
func (g *guarded) refuses(node string, with credentials, reason string) {
	g.t.Helper()
	g.t.Run("refuses "+node, func(t *testing.T) {
		pod, err := callOnce(t, g.bootstrap(node, with), "web.shop:80")
		if status.Code(err) != codes.Unavailable {
			t.Errorf("grpc-go: %q, %v, want Unavailable", pod, err)
		}
		t.Log(err)
		result := g.command(with, "get")
		if result.Code != 2 || result.Stdout != "" || !strings.Contains(result.Stderr, reason) {
			t.Errorf("sluice xds: exit code %d, want %q\n%s%s", result.Code, reason, result.Stdout, result.Stderr)
		}
		if streams := g.streams(t, node); len(streams) > 0 {
			t.Errorf("%+v", streams)
		}
	})
}

// alerts wants the TLS handshake with a certificate, or without one, to end with an alert.
func (g *guarded) alerts(with credentials, alert string) {
	g.t.Helper()
	config := &tls.Config{RootCAs: g.authority.Pool, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS13}
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if with.cert == "" {
			return &tls.Certificate{}, nil
		}
		pair, err := tls.LoadX509KeyPair(with.cert, with.key)
		return &pair, err
	}
	connection, err := (&tls.Dialer{Config: config}).DialContext(g.t.Context(), "tcp", serverAddress)
	if err == nil {
		_, err = connection.Read(make([]byte, 1))
		_ = connection.Close()
	}
	if err == nil || !strings.Contains(err.Error(), alert) {
		g.t.Errorf("the handshake: %v, want the alert %q", err, alert)
	}
}

// callOnce makes one call by grpc-go with a bootstrap configuration.
func callOnce(t *testing.T, config, listener string) (pod string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return calls(dialBootstrap(t, config, listener))[unary](ctx)
}

// bootstrap is the configuration of a gRPC client with credentials.
func (g *guarded) bootstrap(node string, with credentials) string {
	files := map[string]any{"ca_certificate_file": g.authority.File}
	if with.cert != "" {
		files["certificate_file"], files["private_key_file"] = with.cert, with.key
	}
	server := map[string]any{
		"server_uri": serverAddress, "server_features": []string{"xds_v3"},
		"channel_creds": []any{map[string]any{"type": "tls", "config": files}},
	}
	if with.token != "" {
		server["call_creds"] = []any{map[string]any{
			"type": "jwt_token_file", "config": map[string]any{"jwt_token_file": with.token},
		}}
	}
	text, err := json.Marshal(map[string]any{"xds_servers": []any{server}, "node": map[string]any{"id": node}})
	if err != nil {
		g.t.Fatal(err)
	}
	return string(text)
}

// command runs sluice xds with credentials.
func (g *guarded) command(with credentials, args ...string) harness.Result {
	g.t.Helper()
	args = append([]string{"xds"}, args...)
	args = append(args, "--ca", g.authority.File)
	if with.cert != "" {
		args = append(args, "--cert", with.cert, "--key", with.key)
	}
	if with.token != "" {
		args = append(args, "--token-file", with.token)
	}
	return harness.Run(g.t, g.t.TempDir(), nil, args...)
}

// streams returns the streams of a node.
func (g *guarded) streams(t *testing.T, node string) []xds.Client {
	t.Helper()
	management := harness.NewClient(t, harness.H1, g.publisher.Addr("traefik"), "localhost", nil)
	text := management.Get("/api/xds/clients?search=" + url.QueryEscape(node)).Text
	var streams []xds.Client
	if err := json.Unmarshal([]byte(text), &streams); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return slices.DeleteFunc(streams, func(one xds.Client) bool { return one.Node != node })
}
