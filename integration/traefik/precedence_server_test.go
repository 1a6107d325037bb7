package traefik

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
	routertcp "github.com/sluiceproxy/sluice/router/tcp"
)

// endpoints starts an endpoint for each service that a router has, and returns their addresses.
func endpoints(t *testing.T, certificate tls.Certificate) map[string]string {
	t.Helper()
	addresses := map[string]string{}
	for _, one := range arrangements() {
		for _, r := range one.routers {
			switch name := r.service; {
			case addresses[name] != "":
			case r.ofHTTP():
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, name)
				}))
				t.Cleanup(server.Close)
				addresses[name] = server.Listener.Addr().String()
			default:
				var config *tls.Config
				if r.tls == through {
					config = &tls.Config{
						Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS10, //nolint:gosec // Clients decide.
					}
				}
				addresses[name] = stream(t, name, config)
			}
		}
	}
	return addresses
}

// stream starts an endpoint of TCP that writes its name and then reads until the end. With a TLS configuration it makes
// a handshake before, also behind a request of PostgreSQL for one; it does not require TLS.
func stream(t *testing.T, name string, config *tls.Config) (address string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		served.Wait()
	})
	serve := func(conn net.Conn) {
		defer conn.Close() //nolint:errcheck // The client has its answer.
		if config != nil {
			var err error
			if conn, err = handshake(conn, config); err != nil {
				return
			}
		}
		_, _ = io.WriteString(conn, name+"\r\n") // As long as what a client reads at once.
		_, _ = io.Copy(io.Discard, conn)
	}
	served.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			served.Go(func() { serve(conn) })
		}
	})
	return listener.Addr().String()
}

// handshake makes a TLS handshake of a server, if the client begins one.
func handshake(conn net.Conn, config *tls.Config) (net.Conn, error) {
	reader := bufio.NewReader(conn)
	first, err := reader.Peek(1)
	if err != nil {
		return nil, err
	}
	if first[0] == routertcp.SSLRequest[0] {
		if _, err := reader.Discard(len(routertcp.SSLRequest)); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(conn, routertcp.SSLAccepted); err != nil {
			return nil, err
		}
		if first, err = reader.Peek(1); err != nil {
			return nil, err
		}
	}
	const record = 0x16
	buffered := &reading{Conn: conn, reader: reader}
	if first[0] != record {
		return buffered, nil
	}
	secured := tls.Server(buffered, config)
	return secured, secured.Handshake() //nolint:noctx // It ends with the connection.
}

// reading reads from another reader than the connection.
type reading struct {
	net.Conn

	reader io.Reader
}

func (r *reading) Read(p []byte) (int, error) { return r.reader.Read(p) }

func (r router) ofHTTP() bool { return strings.HasPrefix(r.service, "http") }

// object is a part of a configuration.
type object = map[string]any

// add puts the routers of an arrangement, with services at some addresses, into a dynamic configuration.
func (a arrangement) add(to object, addresses map[string]string) {
	for i, r := range a.routers {
		definition := object{
			"entryPoints": []string{a.name}, "rule": r.rule, "service": r.service, "priority": r.priority,
		}
		switch r.tls {
		case "":
		case through:
			definition["tls"] = object{"passthrough": true}
		case tlsDefault:
			definition["tls"] = object{}
		default:
			definition["tls"] = object{"options": r.tls}
		}
		section, server := "tcp", object{"address": addresses[r.service]}
		if r.ofHTTP() {
			section, server = "http", object{"url": "http://" + addresses[r.service]}
		}
		part := to[section].(object)
		part["routers"].(object)[a.name+"-"+string(rune('a'+i))] = definition
		part["services"].(object)[r.service] = object{"loadBalancer": object{"servers": []object{server}}}
	}
}

// dynamicText returns the dynamic configuration with all arrangements.
func dynamicText(t *testing.T, certificate harness.Issued, addresses map[string]string) string {
	t.Helper()
	versions := func(version string) object { return object{"minVersion": version, "maxVersion": version} }
	root := object{
		"http": object{"routers": object{}, "services": object{}},
		"tcp":  object{"routers": object{}, "services": object{}},
		"tls": object{
			"options": object{
				tlsDefault: versions("VersionTLS12"), tlsOld: versions("VersionTLS10"), tlsNew: versions("VersionTLS13"),
				tlsBroken: object{"clientAuth": object{
					"caFiles": []string{"/does/not/exist.pem"}, "clientAuthType": "RequireAndVerifyClientCert",
				}},
			},
			"stores": object{"default": object{"defaultCertificate": object{
				"certFile": certificate.CertFile, "keyFile": certificate.KeyFile,
			}}},
		},
	}
	for _, one := range arrangements() {
		one.add(root, addresses)
	}
	return text(t, root)
}

// staticText returns a static configuration with an entrypoint for each arrangement, and their addresses. They have one
// port of several addresses, since no test in another process takes that in the meantime.
func staticText(t *testing.T) (configuration string, addresses map[string]string) {
	t.Helper()
	management := harness.FreeAddress(t)
	_, port, err := net.SplitHostPort(management)
	if err != nil {
		t.Fatal(err)
	}
	entrypoints, addresses := object{"traefik": object{"address": management}}, map[string]string{}
	for i, one := range arrangements() {
		address := net.JoinHostPort("127.0.1."+strconv.Itoa(i+1), port)
		addresses[one.name] = address
		entrypoints[one.name] = object{"address": address, "allowACMEByPass": one.bypass}
	}
	return text(t, object{
		"entryPoints": entrypoints, "providers": object{"file": object{"directory": "${DYNAMIC}"}}, "ping": object{},
		// No router uses it, but it answers challenges.
		"certificatesResolvers": object{"unused": object{"acme": object{
			"email": "admin@a.test", "storage": "acme.json", "tlsChallenge": object{},
		}}},
	}), addresses
}

// text returns a configuration as JSON, which is YAML too.
func text(t *testing.T, of object) string {
	t.Helper()
	text, err := json.MarshalIndent(of, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// startSluice starts Sluice, and returns the addresses of its entrypoints.
func startSluice(t *testing.T, dynamic string) map[string]string {
	t.Helper()
	static, addresses := staticText(t)
	harness.Start(t, harness.Setup{Static: static, Dynamic: map[string]string{"all.yaml": dynamic}})
	return addresses
}

// startTraefik starts Traefik, waits until it has applied its configuration, and returns the addresses of its
// entrypoints.
func startTraefik(t *testing.T, program, dynamic string) map[string]string {
	t.Helper()
	static, addresses := staticText(t)
	dir := t.TempDir()
	folder, file := filepath.Join(dir, "dynamic"), filepath.Join(dir, "static.yaml")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		file:                              strings.ReplaceAll(static, "${DYNAMIC}", folder),
		filepath.Join(folder, "all.yaml"): dynamic,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	command := exec.CommandContext(ctx, program, "--configFile="+file)
	logged := &bytes.Buffer{}
	command.Dir, command.Stdout, command.Stderr = dir, logged, logged
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = command.Wait() // It was killed.
		t.Logf("the log of %s:\n%s", program, logged)
	})
	for name, address := range addresses {
		harness.Until(t, "entrypoint "+name, func() bool {
			connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
			if err == nil {
				_ = connection.Close()
			}
			return err == nil
		})
	}
	<-time.NewTimer(settling).C
	return addresses
}
