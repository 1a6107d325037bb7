package streams

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const (
	// openingTime is the readTimeout of the entrypoint that is flooded, which bounds what comes before the first request.
	openingTime = 5 * time.Second
	// mostSessions and mostOfClient are the limits of the entrypoints datagrams and few.
	mostSessions, mostOfClient = 1000, 10
	// sockets is how many sockets an entrypoint for UDP has, one for each processor. Each may have a session more.
	sockets = 2
)

// besieged is a Sluice that is flooded, and clients of all protocols that were there before.
type besieged struct {
	t      *testing.T
	sluice *harness.Sluice
	// conn is an open connection of a TCP router, session a session of a UDP router.
	conn, session net.Conn
	plain, secure *harness.Client
	manage        *harness.Client
	// memory and descriptors are those of the process before the flood.
	memory      int64
	descriptors int
}

// besiege starts a Sluice with HTTP and TCP routers, with and without TLS, on the entrypoint web, a TCP router on echo,
// and UDP routers on datagrams and few.
func besiege(t *testing.T) *besieged {
	t.Helper()
	authority := harness.NewAuthority(t)
	issued := authority.Issue("www.test", "db.test")
	sluice := harness.Start(t, harness.Setup{
		Static: `
entryPoints:
  traefik: {address: 127.0.0.1:0}
  web: {address: 127.0.0.1:0, transport: {respondingTimeouts: {readTimeout: ` + openingTime.String() + `}}}
  echo: {address: 127.0.0.1:0}
  datagrams:
    address: 127.0.0.1:0/udp
    udp: {timeout: 5m, maxSessions: ` + strconv.Itoa(mostSessions) + `}
    transport: {lifeCycle: {graceTimeOut: 100ms}}
  few:
    address: 127.0.0.1:0/udp
    udp: {timeout: 5m, maxSessionsPerClient: ` + strconv.Itoa(mostOfClient) + `}
    transport: {lifeCycle: {graceTimeOut: 100ms}}
providers: {file: {directory: "${DYNAMIC}"}}
ping: {}
metrics: {prometheus: {}}
log: {level: DEBUG}
accessLog: {filePath: "${DIR}/access.log", format: json}
`, Env: []string{"GOMAXPROCS=" + strconv.Itoa(sockets)}, Vars: map[string]string{
			"CERT": issued.CertFile, "KEY": issued.KeyFile, "HTTP": harness.StartBackend(t, "www", nil).H1,
			"TCP": harness.StartEcho(t), "UDP": harness.StartPacketEcho(t).Address,
			"TLS": startTLS(t, authority.Issue("through.test")),
		},
		Dynamic: map[string]string{"all.yaml": `
tcp:
  routers:
    echo: {entryPoints: [echo], rule: HostSNI(` + "`*`" + `), service: echo}
    ended: {entryPoints: [web], rule: HostSNI(` + "`db.test`" + `), service: echo, tls: {}}
    through: {entryPoints: [web], rule: HostSNI(` + "`through.test`" + `), service: through, tls: {passthrough: true}}
  services:
    echo: {loadBalancer: {servers: [{address: "${TCP}"}]}}
    through: {loadBalancer: {servers: [{address: "${TLS}"}]}}
udp:
  routers:
    datagrams: {entryPoints: [datagrams], service: echo}
    few: {entryPoints: [few], service: echo}
  services:
    echo: {loadBalancer: {servers: [{address: "${UDP}"}]}}
http:
  routers:
    plain: {entryPoints: [web], rule: Host(` + "`www.test`" + `), service: www}
    secure: {entryPoints: [web], rule: Host(` + "`www.test`" + `), service: www, tls: {}}
  services:
    www: {loadBalancer: {servers: [{url: "http://${HTTP}"}]}}
tls:
  certificates: [{certFile: "${CERT}", keyFile: "${KEY}"}]
`},
	})
	web := sluice.Addr("web")
	b := &besieged{
		t: t, sluice: sluice, manage: sluice.Management(),
		conn: dial(t, "tcp", sluice.Addr("echo")), session: dial(t, "udp", sluice.Addr("datagrams")),
		plain:  harness.NewClient(t, harness.H1, web, "www.test", nil),
		secure: harness.NewClient(t, harness.H1TLS, web, "www.test", &tls.Config{RootCAs: authority.Pool}),
	}
	b.serves()
	b.memory, _ = sluice.Memory()
	b.descriptors = len(b.files())
	return b
}

// serves has the connection, the session, a new connection and HTTP with and without TLS exchange something. Each
// request of HTTP is on a new connection.
func (b *besieged) serves() {
	b.t.Helper()
	persist(b.t, b.session)
	fresh, err := new(net.Dialer).DialContext(b.t.Context(), "tcp", b.sluice.Addr("echo"))
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = fresh.Close() }()
	for _, conn := range []net.Conn{b.conn, fresh} {
		_ = conn.SetDeadline(time.Now().Add(timeout))
		got := make([]byte, 5)
		if _, err := io.WriteString(conn, "hello"); err != nil {
			b.t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != "hello" {
			b.t.Fatalf("got %q, %v", got, err)
		}
	}
	for _, client := range []*harness.Client{b.plain, b.secure} {
		if response := client.Get("/"); response.StatusCode != http.StatusOK {
			b.t.Fatalf("%s is answered %s", client.Protocol, response.Status)
		}
		client.Transport.CloseIdleConnections()
	}
}

// persist sends a datagram until it is answered: queues of the system may be full.
func persist(t *testing.T, conn net.Conn) {
	t.Helper()
	harness.Eventually(t, timeout, func() bool {
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		_, _ = io.WriteString(conn, "hello")
		got := make([]byte, 5)
		_, err := io.ReadFull(conn, got)
		return err == nil && string(got) == "hello"
	}, func() string { return "a datagram is answered" })
}

// files returns the descriptors of the process.
func (b *besieged) files() []os.DirEntry {
	b.t.Helper()
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", b.sluice.PID()))
	if err != nil {
		b.t.Fatal(err)
	}
	return files
}

// bounded checks what the process takes beyond what it took before the flood: memory at its peak, and descriptors now.
// The collector lets the heap grow by 48 MiB, or to twice of what lives.
func (b *besieged) bounded(memory int64, descriptors int) {
	b.t.Helper()
	_, peak := b.sluice.Memory()
	files := len(b.files()) - b.descriptors
	b.t.Logf("%d MiB more at the peak, %d descriptors more now", (peak-b.memory)>>20, files)
	if most := 48<<20 + 2*memory; peak-b.memory > most {
		b.t.Errorf("the process has grown by %d MiB, and may by %d", (peak-b.memory)>>20, most>>20)
	}
	if files > descriptors {
		b.t.Errorf("%d descriptors more, of %d that are allowed", files, descriptors)
	}
}

// measured returns the sum of the samples of a metric that have labels.
func (b *besieged) measured(name string, labels ...string) (sum float64) {
	b.t.Helper()
	for line := range strings.Lines(b.manage.Get("/metrics").Text) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		has := strings.HasPrefix(series, name+"{") || series == name
		for _, label := range labels {
			has = has && strings.Contains(series, label)
		}
		if has {
			sample, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.t.Fatalf("%s: %v", line, err)
			}
			sum += sample
		}
	}
	return sum
}

// counts waits until the sum of the samples of a metric that have labels is as wanted, which it must not exceed. What
// ends a connection is counted when its client may have seen the end already.
func (b *besieged) counts(want float64, name string, labels ...string) {
	b.t.Helper()
	var got float64
	harness.Eventually(b.t, timeout, func() bool {
		got = b.measured(name, labels...)
		return got >= want
	}, func() string { return fmt.Sprintf("%s %q is %v, want %v", name, labels, got, want) })
	if got != want {
		b.t.Errorf("%s %q is %v, want %v", name, labels, got, want)
	}
}

// dial connects until the test ends.
func dial(t *testing.T, network, address string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// startTLS starts a TLS server that sends back lines.
func startTLS(t *testing.T, issued harness.Issued) string {
	t.Helper()
	config := &tls.Config{Certificates: []tls.Certificate{issued.Pair}, MinVersion: tls.VersionTLS12}
	return harness.StartServer(t, func(conn net.Conn) {
		secure := tls.Server(conn, config)
		for reader := bufio.NewReader(secure); ; {
			line, err := reader.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = io.WriteString(secure, line)
		}
	})
}
