package traefik

import (
	"crypto/tls"
	"crypto/x509"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/static"
)

// example is a fixture that runs by itself.
type example struct {
	fixture

	// ports are those of the entrypoints; the one of the entrypoint traefik is last, and is in management too.
	ports      []string
	management string
	// servers maps the addresses of the servers to their schemes.
	servers map[string]string
	// hosts and paths are those of the rules, and one of each that no rule names.
	hosts, paths []string
	// tls is set if a router or an entrypoint has TLS.
	tls bool
	// alone is set if no server has the port of an entrypoint.
	alone bool
}

// runnable returns the fixtures that Sluice accepts according to the page, and that need neither an engine nor a
// cluster. Files that only hold the dynamic configuration of another example are left out, and files in which a server
// has the port of an entrypoint, where no endpoint can listen.
func runnable(t *testing.T, folder string) []example {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	results := string(text)
	all := fixtures(t, folder)
	t.Chdir(folder)
	var found []example
	for _, one := range all {
		start := strings.Index(results, "| `"+one.name+"` | accepted")
		if start < 0 {
			continue
		}
		line, _, _ := strings.Cut(results[start:], "\n")
		if strings.Contains(line, "not read:") || strings.Contains(line, "of another example") {
			continue
		}
		if e := newExample(t, one); e.alone && !declaresStreams(t, one) {
			found = append(found, e)
		}
	}
	return found
}

// declaresStreams reports whether a fixture has TCP or UDP routers, of which requests of HTTP say nothing.
func declaresStreams(t *testing.T, one fixture) bool {
	t.Helper()
	content, err := os.ReadFile(one.file)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^\s*\[(tcp|udp)\.`).Match(content)
}

func newExample(t *testing.T, one fixture) example {
	t.Helper()
	loaded, _ := static.Load(static.Sources{ConfigFile: one.file})
	configuration := loaded.Configuration
	// With a resolver, a certificate authority is needed too; integration/certificates has one.
	e := example{fixture: one, alone: len(configuration.CertificatesResolvers) == 0, servers: map[string]string{}}
	e.servers["127.0.0.1:80"] = "http" // Health checks have this port.
	for _, name := range slices.Sorted(maps.Keys(configuration.EntryPoints)) {
		_, port, err := net.SplitHostPort(strings.TrimSuffix(configuration.EntryPoints[name].Address, "/tcp"))
		switch {
		case err != nil:
			t.Fatalf("entrypoint %s: %v", name, err)
		case name == "traefik":
			e.management = port
		default:
			e.ports = append(e.ports, port)
		}
	}
	if e.management != "" {
		e.ports = append(e.ports, e.management)
	}
	text := read(t, one.file)
	if file := configuration.Providers.File; file != nil && file.Filename != one.file {
		text += read(t, file.Filename+file.Directory)
	}
	e.tls = regexp.MustCompile(`(?i)\.tls\b`).MatchString(text)
	for _, server := range regexp.MustCompile(`\burl = "(\w+)://([^/"]+)`).FindAllStringSubmatch(text, -1) {
		host, port, found := strings.Cut(server[2], ":")
		if !found {
			port = "80"
		}
		e.alone = e.alone && !slices.Contains(e.ports, port)
		if len(port) <= len("65535") {
			e.servers[net.JoinHostPort(host, port)] = server[1]
		}
	}
	e.hosts = named(text, "Host(?:Regexp)?", "unmatched.example")
	e.paths = named(text, "Path(?:Prefix)?", "/unmatched")
	return e
}

// read returns the text of a file, or of all files of a folder.
func read(t *testing.T, path string) string {
	t.Helper()
	var texts strings.Builder
	err := filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		texts.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts.String()
}

// named returns the arguments of a matcher in a text, with `*` and classes of characters replaced, and one more.
func named(text, matcher, more string) []string {
	found := []string{more}
	for _, use := range regexp.MustCompile(`\b`+matcher+"\\(`([^`]+)`").FindAllStringSubmatch(text, -1) {
		value := regexp.MustCompile(`\[[^]]*\]\+|\*`).ReplaceAllString(use[1], "any")
		found = append(found, strings.ReplaceAll(value, `\`, ""))
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// request is a GET request.
type request struct{ scheme, host, port, path string }

func (r request) String() string { return r.scheme + "://" + r.host + ":" + r.port + r.path }

// requests returns one request for each host and path on each port, with and without TLS, and some for the management.
func (e example) requests() []request {
	schemes := []string{"http", "https"}
	if !e.tls {
		schemes = schemes[:1]
	}
	var all []request
	for _, port := range e.ports {
		if port == e.management {
			for _, path := range []string{"/", "/api/version", "/dashboard/", "/ping"} {
				all = append(all, request{"http", "localhost", port, path})
			}
		}
		for _, scheme := range schemes {
			for _, host := range e.hosts {
				for _, path := range e.paths {
					all = append(all, request{scheme, host, port, path})
				}
			}
		}
	}
	return all
}

// send returns what is compared of the answer: the status, where a redirection goes, which request the endpoint has
// received, and the name of the certificate.
func (r request) send(t *testing.T) string {
	t.Helper()
	transport := &http.Transport{
		DisableKeepAlives: true, ResponseHeaderTimeout: patience,
		TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, ServerName: strings.TrimSuffix(r.host, "."), //nolint:gosec // Its name is compared.
		},
	}
	message, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.scheme+"://127.0.0.1:"+r.port+r.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	message.Host = r.host
	response, err := transport.RoundTrip(message)
	if err != nil {
		return "no answer"
	}
	defer response.Body.Close() //nolint:errcheck // Nothing is lost.
	answer := response.Status[:3]
	if response.Header.Get("Location") != "" {
		answer += ", to " + target(t, message, response)
	}
	if received := response.Header.Get("Received"); received != "" {
		answer += ", received " + received
	}
	if response.TLS != nil {
		answer += ", certificate " + subject(response.TLS.PeerCertificates[0])
	}
	return answer
}

// target returns where a redirection goes: to the host of the request as the path that a client follows.
func target(t *testing.T, from *http.Request, response *http.Response) string {
	t.Helper()
	to, err := response.Location()
	if err != nil {
		t.Fatal(err)
	}
	if to.Host == from.URL.Host || to.Scheme == from.URL.Scheme && to.Host == from.Host {
		return to.RequestURI()
	}
	return to.String()
}

// subject returns the first name of a certificate. One that the proxy has generated has none.
func subject(leaf *x509.Certificate) string {
	switch {
	case strings.HasSuffix(leaf.Subject.CommonName, " DEFAULT CERT"):
		return "generated"
	case len(leaf.DNSNames) > 0:
		return leaf.DNSNames[0]
	}
	return leaf.Subject.CommonName
}
