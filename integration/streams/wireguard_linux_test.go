package streams

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// wireguardNetwork connects the namespaces client and server with that of Sluice.
const wireguardNetwork = `
mkdir /run/netns
ip link set lo up
for name in client server; do ip netns add $name; ip netns exec $name ip link set lo up; done
ip link add toclient type veth peer name edge netns client
ip link add toserver type veth peer name edge netns server
ip address add 192.0.2.1/24 dev toclient
ip address add 198.51.100.1/24 dev toserver
ip link set toclient up
ip link set toserver up
ip netns exec client ip address add 192.0.2.2/24 dev edge
ip netns exec server ip address add 198.51.100.2/24 dev edge
ip netns exec client ip link set edge up
ip netns exec server ip link set edge up`

// TestWireGuard makes a tunnel through a UDP router. A connection in the tunnel goes on when the client comes from
// another port and from another address, and when the routes change.
func TestWireGuard(t *testing.T) {
	ip, wg, daemon := program(t, "ip"), program(t, "wg"), program(t, "wireguard-go")
	if file, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0); err != nil {
		t.Skipf("missing tool: /dev/net/tun: %v", err)
	} else {
		_ = file.Close()
	}
	if !inNamespace(t, wireguardNetwork) {
		return
	}
	w := wireguard{t, ip, wg, daemon}
	serverKey, server := w.key("server")
	clientKey, client := w.key("client")
	w.start("server", "10.9.0.1/24", "listen-port", "51820", "private-key", serverKey,
		"peer", client, "allowed-ips", "10.9.0.2/32")
	const routes = `
udp:
  routers: {vpn: {entryPoints: [vpn], service: vpn}}
  services: {vpn: {loadBalancer: {strategy: hrw, servers: [{address: "198.51.100.2:51820"}]}}}
`
	sluice := harness.Start(t, harness.Setup{
		Static: `
entryPoints:
  traefik: {address: 127.0.0.1:0}
  vpn: {address: "192.0.2.1:51820/udp", udp: {timeout: 5m}, transport: {lifeCycle: {graceTimeOut: 100ms}}}
providers: {file: {directory: "${DYNAMIC}"}}
ping: {}
accessLog: {format: json}
`,
		Dynamic: map[string]string{"udp.yaml": routes},
	})
	w.start("client", "10.9.0.2/24", "private-key", clientKey, "peer", server,
		"endpoint", "192.0.2.1:51820", "allowed-ips", "10.9.0.1/32")

	var conn net.Conn
	within(t, "server", func() { echoIn(t, "10.9.0.1:7") })
	within(t, "client", func() { conn = dialIn(t, "10.9.0.1:7") })
	seen := map[string]bool{}
	exchangeIn := func(what string) {
		t.Helper()
		through(t, conn, what)
		// The address of Sluice by which the server knows the client.
		endpoint := strings.Fields(w.run("server", wg, "show", "server", "endpoints"))
		if len(endpoint) != 2 || !strings.HasPrefix(endpoint[1], "198.51.100.1:") || seen[endpoint[1]] {
			t.Errorf("%s: the server has the client at %q, before at %v", what, endpoint, seen)
			return
		}
		seen[endpoint[1]] = true
	}
	exchangeIn("the first session")
	w.run("client", wg, "set", "client", "listen-port", "50001")
	exchangeIn("another port")
	w.run("client", ip, "address", "del", "192.0.2.2/24", "dev", "edge")
	w.run("client", ip, "address", "add", "192.0.2.3/24", "dev", "edge")
	w.run("client", wg, "set", "client", "listen-port", "50002") // wireguard-go keeps its source address otherwise.
	exchangeIn("another address")
	sluice.Apply(func() { sluice.Write("udp.yaml", strings.ReplaceAll(routes, "51820", "9")) })
	through(t, conn, "the session stays with its server")

	sluice.Stop()
	log := sluice.Log.String()
	for _, want := range []string{`"ClientPort":"50001"`, `"ClientHost":"192.0.2.2"`, `"ClientHost":"192.0.2.3"`} {
		if !strings.Contains(log, want) {
			t.Errorf("the access log has no session with %s:\n%s", want, log)
		}
	}
}

// wireguard runs WireGuard in namespaces: that of the kernel, or the one of Debian in user space.
type wireguard struct {
	t              *testing.T
	ip, wg, daemon string
}

// run runs a program in a namespace, and returns what it prints.
func (w wireguard) run(namespace, path string, args ...string) string {
	w.t.Helper()
	return run(w.t, 0, "", nil, w.ip, append([]string{"netns", "exec", namespace, path}, args...)...)
}

// key returns a file with a private key, and its public key.
func (w wireguard) key(name string) (file, public string) {
	w.t.Helper()
	private := run(w.t, 0, "", nil, w.wg, "genkey")
	file = filepath.Join(w.t.TempDir(), name)
	if err := os.WriteFile(file, []byte(private), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return file, strings.TrimSpace(run(w.t, 0, private, nil, w.wg, "pubkey"))
}

// start makes the interface of a namespace, which has its name, with an address and settings of wg.
func (w wireguard) start(namespace, address string, settings ...string) {
	w.t.Helper()
	kernel := exec.CommandContext(w.t.Context(), w.ip, "netns", "exec", namespace, w.ip, "link", "add", namespace, "type",
		"wireguard")
	if kernel.Run() != nil {
		start(w.t, "", "", w.ip, "netns", "exec", namespace, w.daemon, "-f", namespace)
		harness.Until(w.t, "the interface of "+namespace, func() bool {
			show := exec.CommandContext(w.t.Context(), w.ip, "netns", "exec", namespace, w.wg, "show", namespace)
			return show.Run() == nil
		})
	}
	w.run(namespace, w.wg, append([]string{"set", namespace}, settings...)...)
	w.run(namespace, w.ip, "address", "add", address, "dev", namespace)
	w.run(namespace, w.ip, "link", "set", namespace, "up")
}

// echoIn serves one connection to an address of the namespace that the thread is in.
func echoIn(t *testing.T, address string) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		// Its end would come through the tunnel, which is gone by then.
		context.AfterFunc(t.Context(), func() { _ = conn.Close() })
		_, _ = io.Copy(conn, conn)
	}()
}

// dialIn connects from the namespace that the thread is in.
func dialIn(t *testing.T, address string) net.Conn {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// through sends a text and expects it back.
func through(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if conn == nil {
		t.FailNow()
	}
	_ = conn.SetDeadline(time.Now().Add(timeout))
	got := make([]byte, len(text))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != text {
		t.Fatalf("%s: got %q, %v", text, got, err)
	}
}
