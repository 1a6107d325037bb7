package kubernetes

import (
	"crypto/tls"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// encrypted is a Service whose one endpoint serves TLS with a certificate of the authority for pod.test, and a route to
// it by a ServersTransport.
func encrypted(s *gate, authority *harness.Authority, name, address, transport string,
	change func(*tls.Config),
) []string {
	s.t.Helper()
	settings := &tls.Config{
		Certificates: []tls.Certificate{authority.Issue("pod.test").Pair},
		MinVersion:   tls.VersionTLS12,
	}
	if change != nil {
		change(settings)
	}
	listen(s.t, address+":8080", name, settings)
	return []string{
		plain(name, "{ports: [{name: https, port: 80}]}"),
		strings.Replace(slice(name, "a", "IPv4", endpoint(address, "", "")), "name: ''", "name: https", 1),
		route("traefik.io", "shop/"+name, name+".test", "[{name: "+name+", port: 80, serversTransport: "+transport+"}]"),
	}
}

// quoted is the text of a file for a manifest.
func quoted(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Quote(string(text))
}

func trustServers(c *cluster.Cluster, s *gate) {
	authority, other := harness.NewAuthority(s.t), harness.NewAuthority(s.t)
	c.Apply(authorities(s.t, "servers", authority),
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: servers, namespace: shop}\ndata: {ca.crt: "+
			quoted(s.t, authority.File)+"}\n",
		custom("ServersTransport", "by-secret", "{serverName: pod.test, rootCAs: [{secret: servers}]}"),
		custom("ServersTransport", "by-map", "{serverName: pod.test, rootCAs: [{configMap: servers}]}"),
		custom("ServersTransport", "other-name", "{serverName: other.test, rootCAs: [{secret: servers}]}"),
		custom("ServersTransport", "blind", "{insecureSkipVerify: true}"),
	)
	c.Apply(encrypted(s, authority, "by-secret", "198.18.1.1", "by-secret", nil)...)
	c.Apply(encrypted(s, authority, "by-map", "198.18.1.2", "by-map", nil)...)
	c.Apply(encrypted(s, authority, "other-name", "198.18.1.3", "other-name", nil)...)
	c.Apply(encrypted(s, authority, "blind", "198.18.1.4", "blind", nil)...)
	for _, name := range []string{"by-secret", "by-map", "blind"} {
		s.becomes(name+".test/", "200 "+name)
	}
	s.becomes("other-name.test/", "502")
	c.Apply(authorities(s.t, "servers", other))
	s.becomes("by-secret.test/", "502")
	s.expect("by-map.test/", "200 by-map")
	c.Apply(authorities(s.t, "servers", authority))
	s.becomes("by-secret.test/", "200 by-secret")
}

func showToServers(c *cluster.Cluster, s *gate) {
	authority := harness.NewAuthority(s.t)
	c.Apply(authorities(s.t, "own", authority), pair(s.t, "shown", authority.Issue("sluice")),
		custom("ServersTransport", "shown", "{serverName: pod.test, rootCAsSecrets: [own], certificatesSecrets: [shown]}"),
		custom("ServersTransport", "hidden", "{serverName: pod.test, rootCAsSecrets: [own]}"))
	demand := func(settings *tls.Config) {
		settings.ClientAuth, settings.ClientCAs = tls.RequireAndVerifyClientCert, authority.Pool
	}
	c.Apply(encrypted(s, authority, "shown", "198.18.1.5", "shown", demand)...)
	c.Apply(encrypted(s, authority, "hidden", "198.18.1.6", "hidden", demand)...)
	s.becomes("shown.test/", "200 shown")
	s.becomes("hidden.test/", "502")
}

func awaitTransport(c *cluster.Cluster, s *gate) {
	authority := harness.NewAuthority(s.t)
	c.Apply(encrypted(s, authority, "awaiting", "198.18.1.7", "awaited", nil)...)
	s.becomes("awaiting.test/", "503")
	s.reports("shop-awaited@kubernetescrd")
	c.Apply(custom("ServersTransport", "awaited", "{serverName: pod.test, rootCAs: [{secret: awaited}]}"))
	s.reports("shop-awaited@kubernetescrd", "Secret shop/awaited does not exist")
	s.expect("awaiting.test/", "503")
	c.Apply(authorities(s.t, "awaited", authority))
	s.becomes("awaiting.test/", "200 awaiting")
	s.settles("shop-awaited@kubernetescrd")
	c.DeleteNow("Secret", "shop/awaited")
	s.becomes("awaiting.test/", "503")
}
