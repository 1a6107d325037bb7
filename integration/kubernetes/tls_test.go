package kubernetes

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// pair is the manifest of a Secret of type kubernetes.io/tls in the namespace shop.
func pair(t testing.TB, name string, issued harness.Issued) string {
	t.Helper()
	return "---\napiVersion: v1\nkind: Secret\ntype: kubernetes.io/tls\nmetadata: {name: " + name +
		", namespace: shop}\n" +
		"data: {tls.crt: " + encoded(t, issued.CertFile) + ", tls.key: " + encoded(t, issued.KeyFile) + "}\n"
}

// authorities is the manifest of a Secret with the certificate of an authority, in the namespace shop.
func authorities(t testing.TB, name string, authority *harness.Authority) string {
	t.Helper()
	return "---\napiVersion: v1\nkind: Secret\nmetadata: {name: " + name + ", namespace: shop}\ndata: {ca.crt: " +
		encoded(t, authority.File) + "}\n"
}

func encoded(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(text)
}

// custom is the manifest of an object of traefik.io in the namespace shop.
func custom(kind, name, spec string) string {
	return "---\napiVersion: traefik.io/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name +
		", namespace: shop}\nspec: " + spec + "\n"
}

// secured is a route by TLS from a host to shop/web, with the section tls as in a manifest.
func secured(name, host, section string) string {
	return custom("IngressRoute", name, "{entryPoints: [websecure], tls: "+section+", routes: [{match: Host("+`"`+host+`"`+
		"), kind: Rule, services: [{name: web, port: 80}]}]}")
}

// shake does a handshake on websecure and returns the certificate that is shown.
func (g *gate) shake(host string, change func(*tls.Config)) (*x509.Certificate, error) {
	g.t.Helper()
	settings := &tls.Config{ServerName: host, InsecureSkipVerify: true} //nolint:gosec // The test looks at the certificate itself.
	if change != nil {
		change(settings)
	}
	raw := harness.Dial(g.t, g.Addr("websecure"))
	defer raw.Close() //nolint:errcheck // It was only looked at.
	connection := tls.Client(raw, settings)
	if err := connection.HandshakeContext(g.t.Context()); err != nil {
		return nil, err
	}
	if settings.Certificates != nil { // In TLS 1.3, an error of the client's certificate arrives with the first read.
		if _, err := connection.Write([]byte("GET / HTTP/1.0\r\nHost: " + host + "\r\n\r\n")); err != nil {
			return nil, err
		}
		if _, err := connection.Read(make([]byte, 1)); err != nil {
			return nil, err
		}
	}
	return connection.ConnectionState().PeerCertificates[0], nil
}

// shows waits until a host is served with a certificate.
func (g *gate) shows(host string, want harness.Issued) {
	g.t.Helper()
	var got *x509.Certificate
	var err error
	until(g.t, func() bool {
		got, err = g.shake(host, nil)
		return err == nil && slices.Equal(got.Raw, want.Pair.Certificate[0])
	}, func() string {
		if err == nil {
			err = errors.New("it is that of " + strings.Join(got.DNSNames, ", "))
		}
		return "the certificate for " + host + ": " + err.Error() + g.tail()
	})
}

// refuses waits until handshakes are refused.
func (g *gate) refuses(host string, change func(*tls.Config)) {
	g.t.Helper()
	until(g.t, func() bool { _, err := g.shake(host, change); return err != nil }, func() string {
		return "a handshake for " + host + " succeeds" + g.tail()
	})
}

// safe requests host/path over TLS.
func (g *gate) safe(protocol harness.Protocol, host string, settings *tls.Config) string {
	g.t.Helper()
	client := harness.NewClient(g.t, protocol, g.Addr("websecure"), host, settings)
	defer client.Transport.CloseIdleConnections()
	answer, err := client.Try(client.Request("GET", "/", nil))
	if err != nil {
		return "refused"
	}
	return summary(answer)
}

// TestTLS serves certificates out of Secrets, and demands what TLSOptions demand.
func TestTLS(t *testing.T) {
	c := prepare(t, "traefik.io")
	c.Apply(namespace("shop"), app("shop/web"))
	s := open(t, c, static)
	tests := map[string]func(*cluster.Cluster, *gate){
		"certificates by server name":                         showByName,
		"a certificate that is rotated":                       rotate,
		"a certificate that comes late":                       showLate,
		"the default certificate of a TLSStore":               showDefault,
		"a lowest version":                                    demandVersion,
		"certificates of clients":                             demandCertificates,
		"server names, strictly":                              demandNames,
		"servers that a Secret or a ConfigMap vouches for":    trustServers,
		"a certificate that is shown to servers":              showToServers,
		"servers of a ServersTransport that is not there yet": awaitTransport,
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		t.Run(name, func(t *testing.T) { tests[name](c.For(t), s.on(t)) })
	}
}

func showByName(c *cluster.Cluster, s *gate) {
	authority := harness.NewAuthority(s.t)
	one, two := authority.Issue("one.test"), authority.Issue("*.two.test")
	c.Apply(pair(s.t, "one", one), pair(s.t, "two", two), secured("one", "one.test", "{secretName: one}"),
		secured("two", "a.two.test", "{secretName: two}"))
	s.shows("one.test", one)
	s.shows("a.two.test", two)
	for host, protocol := range map[string]harness.Protocol{"one.test": harness.H2, "a.two.test": harness.H1TLS} {
		if got := s.safe(protocol, host, &tls.Config{RootCAs: authority.Pool}); got != "200 shop/web" {
			s.t.Errorf("%s: %s", host, got)
		}
	}
	c.DeleteNow("IngressRoute.traefik.io", "shop/two")
	until(s.t, func() bool {
		shown, err := s.shake("a.two.test", nil)
		return err == nil && !slices.Equal(shown.Raw, two.Pair.Certificate[0])
	}, func() string { return "a certificate outlives its route" + s.tail() })
}

func rotate(c *cluster.Cluster, s *gate) {
	authority := harness.NewAuthority(s.t)
	before := authority.Issue("rotated.test")
	c.Apply(pair(s.t, "rotated", before), secured("rotated", "rotated.test", "{secretName: rotated}"))
	s.shows("rotated.test", before)
	client := harness.NewClient(s.t, harness.H2, s.Addr("websecure"), "rotated.test", &tls.Config{RootCAs: authority.Pool})
	if got := summary(client.Get("/")); got != "200 shop/web" {
		s.t.Error(got)
	}
	after := authority.Issue("rotated.test") // Its files take the place of the others.
	c.Apply(pair(s.t, "rotated", after))
	s.shows("rotated.test", after)
	if got := summary(client.Get("/")); got != "200 shop/web" {
		s.t.Errorf("a connection from before gets %s", got)
	}
}

func showLate(c *cluster.Cluster, s *gate) {
	issued := harness.NewAuthority(s.t).Issue("late.test")
	c.Apply(secured("late", "late.test", "{secretName: late}"))
	s.reports("shop-late-", "Secret shop/late does not exist")
	if got := s.safe(harness.H2, "late.test", &tls.Config{InsecureSkipVerify: true}); got != "200 shop/web" { //nolint:gosec // It is not ours yet.
		s.t.Errorf("with the default certificate: %s", got)
	}
	c.Apply(pair(s.t, "late", issued))
	s.shows("late.test", issued)
	s.settles("shop-late-")
}

func showDefault(c *cluster.Cluster, s *gate) {
	authority := harness.NewAuthority(s.t)
	fallback, further := authority.Issue("fallback.test"), authority.Issue("further.test")
	c.Apply(pair(s.t, "fallback", fallback), pair(s.t, "further", further),
		custom("TLSStore", "default", "{defaultCertificate: {secretName: fallback}, certificates: [{secretName: further}]}"))
	s.shows("whatever.test", fallback)
	s.shows("further.test", further)
	c.DeleteNow("TLSStore.traefik.io", "shop/default")
	until(s.t, func() bool {
		shown, err := s.shake("whatever.test", nil)
		return err == nil && !slices.Equal(shown.Raw, fallback.Pair.Certificate[0])
	}, func() string { return "a default certificate outlives its store" + s.tail() })
}

func old(settings *tls.Config) { settings.MaxVersion = tls.VersionTLS12 }

func demandVersion(c *cluster.Cluster, s *gate) {
	c.Apply(custom("TLSOption", "modern", "{minVersion: VersionTLS13}"), secured("modern", "modern.test",
		"{options: {name: modern}}"),
		secured("usual", "usual.test", "{}"))
	s.refuses("modern.test", old)
	if _, err := s.shake("modern.test", nil); err != nil {
		s.t.Error(err)
	}
	if _, err := s.shake("usual.test", old); err != nil {
		s.t.Errorf("the options of one host are demanded for another: %v", err)
	}
	c.DeleteNow("TLSOption.traefik.io", "shop/modern")
	s.reports("shop-modern-", "shop-modern@kubernetescrd")
	if got := s.safe(harness.H2, "modern.test", &tls.Config{InsecureSkipVerify: true}); strings.HasPrefix(got, "200") { //nolint:gosec // It is about options.
		s.t.Error("without its options the route is served")
	}
}

func demandCertificates(c *cluster.Cluster, s *gate) {
	trusted, stranger := harness.NewAuthority(s.t), harness.NewAuthority(s.t)
	c.Apply(custom("TLSOption", "mutual",
		"{clientAuth: {secretNames: [clients], clientAuthType: RequireAndVerifyClientCert}}"),
		secured("mutual", "mutual.test", "{options: {name: mutual}}"))
	s.reports("shop-mutual@kubernetescrd", "Secret shop/clients does not exist")
	bearing := func(authority *harness.Authority) *tls.Config {
		settings := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // It is the clients that are looked at.
		if authority != nil {
			settings.Certificates = []tls.Certificate{authority.Issue("client").Pair}
		}
		return settings
	}
	for _, protocol := range []harness.Protocol{harness.H1TLS, harness.H2} {
		if got := s.safe(protocol, "mutual.test", bearing(trusted)); strings.HasPrefix(got, "200") {
			s.t.Errorf("without authorities: %s", got)
		}
	}
	c.Apply(authorities(s.t, "clients", trusted))
	until(s.t, func() bool { return s.safe(harness.H2, "mutual.test", bearing(trusted)) == "200 shop/web" }, s.tail)
	for name, settings := range map[string]*tls.Config{"none": bearing(nil), "a stranger's": bearing(stranger)} {
		if got := s.safe(harness.H2, "mutual.test", settings); got != "refused" {
			s.t.Errorf("%s certificate: %s", name, got)
		}
	}
	c.Apply(authorities(s.t, "clients", stranger))
	until(s.t, func() bool { return s.safe(harness.H2, "mutual.test", bearing(stranger)) == "200 shop/web" }, s.tail)
	if got := s.safe(harness.H2, "mutual.test", bearing(trusted)); got != "refused" {
		s.t.Errorf("an authority that is not trusted any more: %s", got)
	}
}

func demandNames(c *cluster.Cluster, s *gate) {
	issued := harness.NewAuthority(s.t).Issue("strict.test")
	c.Apply(pair(s.t, "strict", issued), custom("TLSOption", "default", "{sniStrict: true}"),
		secured("strict", "strict.test", "{secretName: strict}"))
	s.refuses("unknown.test", nil)
	s.shows("strict.test", issued)
	c.DeleteNow("TLSOption.traefik.io", "shop/default")
	until(s.t, func() bool { _, err := s.shake("unknown.test", nil); return err == nil }, s.tail)
}
