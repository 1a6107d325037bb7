package traefik

import (
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const (
	// precedenceFile holds an answer of Traefik on each line: the entrypoint, the client, and the answer.
	precedenceFile = "testdata/precedence.txt"
	// many is how many clients connect at the same time.
	many = 32
)

const (
	// silence is how long nothing has to come where nothing is expected.
	silence = 300 * time.Millisecond
	// recording is how long an answer of Traefik may take.
	recording = 3 * time.Second
	// answering is how long an answer of Sluice may take.
	answering = time.Minute
)

// TestTCPPrecedence compares which router gets a connection with the answers of Traefik, for entrypoints with routers
// of TCP and HTTP, with and without TLS, and for clients of several protocols. With -update and TEST_TRAEFIK it records
// the answers of Traefik.
func TestTCPPrecedence(t *testing.T) {
	certificate := harness.NewAuthority(t).Issue("a.test", "b.test")
	dynamic := dynamicText(t, certificate, endpoints(t, certificate.Pair))
	if program := os.Getenv(traefikVariable); *update && program != "" {
		got := connect(t, startTraefik(t, program, dynamic), func(string) time.Duration { return recording })
		got.write(t, precedenceFile)
		return
	}
	want := recorded(t, precedenceFile)
	differences := precedenceDifferences()
	got := connect(t, startSluice(t, dynamic), func(key string) time.Duration {
		if want.of(key, differences) == nothing || strings.HasSuffix(want.of(key, differences), ", "+nothing) {
			return silence
		}
		return answering
	})
	got.compare(t, want, differences)
}

// connect lets all clients connect, and returns what they get. wait is how long that may take.
func connect(t *testing.T, addresses map[string]string, wait func(key string) time.Duration) answers {
	t.Helper()
	got := answers{}
	var mu sync.Mutex
	var connected sync.WaitGroup
	slots := make(chan struct{}, many)
	for _, one := range arrangements() {
		for _, name := range slices.Concat(everyday(), one.clients) {
			slots <- struct{}{}
			connected.Go(func() {
				defer func() { <-slots }()
				key := one.name + " " + name
				answer := attempt(t, addresses[one.name], name, wait(key))
				mu.Lock()
				defer mu.Unlock()
				got[key] = answer
			})
		}
	}
	connected.Wait()
	return got
}

// attempt lets a client connect.
func attempt(t *testing.T, address, name string, wait time.Duration) string {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return "refused"
	}
	defer conn.Close() //nolint:errcheck // The answer is known.
	if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
		t.Error(err)
	}
	return client(name, conn)
}
