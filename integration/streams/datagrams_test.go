package streams

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestDTLS has two clients of DTLS 1.2 at the same time, each with a server of its own by round robin.
func TestDTLS(t *testing.T) {
	t.Parallel()
	openssl := program(t, "openssl")
	authority := harness.NewAuthority(t)
	issued := authority.Issue("dtls.test")
	vars := map[string]string{}
	servers := map[string]*conversation{}
	for _, name := range []string{"A", "B"} {
		address := harness.FreeAddress(t)
		vars[name] = address
		servers[name] = converse(t, openssl, "s_server", "-dtls1_2", "-accept", address, "-cert", issued.CertFile,
			"-key", issued.KeyFile, "-quiet")
		// It accepts a socket when it is there, which nothing shows but that the port is taken.
		harness.Until(t, "the server listens", func() bool {
			conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", address)
			if err == nil {
				_ = conn.Close()
			}
			return err != nil
		})
	}
	sluice := harness.Start(t, harness.Setup{
		Static: `
entryPoints:
  traefik: {address: 127.0.0.1:0}
  dtls: {address: 127.0.0.1:0/udp, udp: {timeout: 1m}, transport: {lifeCycle: {graceTimeOut: 100ms}}}
providers: {file: {directory: "${DYNAMIC}"}}
ping: {}
`, Vars: vars,
		Dynamic: map[string]string{"udp.yaml": `
udp:
  routers: {dtls: {entryPoints: [dtls], service: dtls}}
  services: {dtls: {loadBalancer: {servers: [{address: "${A}"}, {address: "${B}"}]}}}
`},
	})
	arguments := []string{
		"s_client", "-dtls1_2", "-connect", sluice.Addr("dtls"), "-servername", "dtls.test", "-verify_return_error",
		"-verify_hostname", "dtls.test", "-CAfile", authority.File, "-quiet",
	}
	clients := map[string]*conversation{
		"first": converse(t, openssl, arguments...), "second": converse(t, openssl, arguments...),
	}
	of := map[string]string{} // The server of each client.
	for round := range 3 {
		for name, client := range clients {
			text := strings.Repeat(name, round+1)
			client.say(text)
			harness.Until(t, text+" comes to one server", func() bool {
				for other, server := range servers {
					if server.heard(text) {
						if before := of[name]; round > 0 && before != other {
							t.Errorf("%s goes to %s, and before to %s", text, other, before)
						}
						of[name] = other
						return true
					}
				}
				return false
			})
		}
		if of["first"] == of["second"] {
			t.Fatalf("both have the server %s", of["first"])
		}
		for name, client := range clients {
			text := strings.Repeat("answer", round+1) + name
			servers[of[name]].say(text)
			harness.Until(t, text+" comes to the client", func() bool { return client.heard(text) })
		}
	}
}

// TestDNS resolves a name by UDP and by TCP, on one port.
func TestDNS(t *testing.T) {
	t.Parallel()
	resolver, client := program(t, "/usr/sbin/unbound"), program(t, "dig")
	address := harness.FreeAddress(t)
	host, port := split(t, address)
	dir := folder(t, "")
	start(t, address, "", resolver, "-d", "-c", write(t, filepath.Join(dir, "unbound.conf"), `
server:
  interface: `+host+`@`+port+`
  access-control: 127.0.0.0/8 allow
  do-daemonize: no
  username: ""
  chroot: ""
  pidfile: ""
  use-syslog: no
  directory: "`+dir+`"
  module-config: iterator
  local-zone: "example.com." static
  local-data: "www.example.com. 60 IN A 192.0.2.80"
  local-data: "www.example.com. 60 IN TXT `+strings.Repeat("x", 255)+`"
`))
	sluice := harness.Start(t, harness.Setup{
		Static: `
entryPoints:
  traefik: {address: 127.0.0.1:0}
  dns: {address: 127.0.0.1:0/udp}
  dns-tcp: {address: 127.0.0.1:0}
providers: {file: {directory: "${DYNAMIC}"}}
ping: {}
accessLog: {format: json}
`, Vars: map[string]string{"DNS": address},
		Dynamic: map[string]string{"dns.yaml": `
udp:
  routers: {dns: {entryPoints: [dns], service: dns}}
  services: {dns: {loadBalancer: {responses: 1, servers: [{address: "${DNS}"}]}}}
tcp:
  routers: {dns: {entryPoints: [dns-tcp], rule: HostSNI(` + "`*`" + `), service: dns}}
  services: {dns: {loadBalancer: {servers: [{address: "${DNS}"}]}}}
`},
	})
	for entrypoint, how := range map[string]string{"dns": "+notcp", "dns-tcp": "+tcp"} {
		host, port := split(t, sluice.Addr(entrypoint))
		for kind, want := range map[string]string{"A": "192.0.2.80", "TXT": strings.Repeat("x", 255)} {
			got := run(t, 0, "", nil, client, how, "+short", "@"+host, "-p", port, "www.example.com", kind)
			if !strings.Contains(got, want) {
				t.Errorf("%s by %s: got %q", kind, entrypoint, got)
			}
		}
	}
	// On a busy machine a table without the file may be the first.
	generation := fmt.Sprintf(`"ConfigGeneration":%d,`, sluice.Readiness().Generation)
	sluice.WaitLog(`"Protocol":"udp"`, `"ConnectionEnd":"responses"`, `"DatagramsSent":1`, generation)
}

// conversation is a process that sends the lines of its input, and prints what it receives.
type conversation struct {
	t     *testing.T
	input io.Writer
	log   output
}

// converse starts a process that runs until the test ends.
func converse(t *testing.T, path string, args ...string) *conversation {
	t.Helper()
	c := &conversation{t: t, log: output{filepath.Join(t.TempDir(), "log")}}
	file, err := os.Create(c.log.file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	command := exec.Command(path, args...) //nolint:noctx // It is killed when the test ends.
	command.Stdout, command.Stderr = file, file
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", args[0], c.log)
		}
	})
	c.input = input
	return c
}

func (c *conversation) say(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.input, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// heard reports whether a line was received.
func (c *conversation) heard(line string) bool { return strings.Contains(c.log.String(), line+"\n") }
