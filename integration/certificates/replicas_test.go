package certificates_test

import (
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
	"github.com/sluiceproxy/sluice/middleware/ratelimit/redis/redistest"
)

// replicas are three processes with the same configuration, behind one address that leads to any of them.
type replicas struct {
	*fixture
	// members are all processes.
	members []*harness.Sluice
	// begun is closed when there is one: it orders at once.
	begun chan struct{}

	mutex sync.Mutex
	// living are those that were not killed.
	living []*harness.Sluice
}

// orderedNames are the names of the routers; each gets a certificate of its own.
func orderedNames() []string {
	return []string{"a.example.com", "b.example.com", "c.example.com", "d.example.com", "e.example.com"}
}

// routers is the dynamic configuration of the replicas.
func routers() string {
	var text strings.Builder
	text.WriteString("http:\n  services: {shop: {loadBalancer: {servers: [{url: \"${BACKEND}\"}]}}}\n  routers:\n")
	for i, name := range orderedNames() {
		fmt.Fprintf(&text, "    r%d: {rule: \"Host(`%s`)\", entryPoints: [secure], service: shop, tls: {certResolver: le}}\n",
			i, name)
	}
	return text.String()
}

// newReplicas returns replicas that share a storage and are not started.
func newReplicas(t *testing.T, storage, challenge string, env []string) *replicas {
	t.Helper()
	f := newFixture(t, storage, challenge)
	r := &replicas{fixture: f, begun: make(chan struct{})}
	forward(t, "127.0.0.1:"+f.setup.Vars["HTTP"], func() string { return r.address("web") })
	forward(t, f.tls, func() string { return r.address("secure") })
	f.setup.Vars["HTTP"], f.setup.Vars["TLS"] = "0", "0"
	f.setup.Dynamic = map[string]string{"shop.yaml": routers()}
	f.setup.Env = env
	return r
}

// start starts the processes.
func (r *replicas) start() {
	r.t.Helper()
	for i := range 3 {
		member := harness.Start(r.t, r.setup)
		r.mutex.Lock()
		r.members, r.living = append(r.members, member), append(r.living, member)
		r.mutex.Unlock()
		if i == 0 {
			close(r.begun)
		}
	}
}

// address returns that of an entrypoint of one of the living members, at random. It waits for the first one, and is
// empty when the test ends before.
func (r *replicas) address(entrypoint string) string {
	select {
	case <-r.begun:
	case <-r.t.Context().Done():
		return ""
	}
	living := r.all()
	return living[mathrand.IntN(len(living))].Addr(entrypoint) //nolint:gosec // Any of them will do.
}

// all returns the living members.
func (r *replicas) all() []*harness.Sluice {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.living)
}

// killLeader kills the member that orders certificates.
func (r *replicas) killLeader() {
	for i, one := range r.all() {
		if strings.Contains(one.Log.String(), "this replica orders certificates") {
			r.mutex.Lock()
			r.living = slices.Delete(slices.Clone(r.living), i, i+1)
			r.mutex.Unlock()
			one.Signal(syscall.SIGKILL)
			if code := one.Wait(); code != -1 {
				r.t.Errorf("the leader ended with exit code %d", code)
			}
			return
		}
	}
}

// await waits until all living members present a certificate of the authority for each name, which is the same
// everywhere, and returns the longest time between the first member and the last.
func (r *replicas) await() time.Duration {
	r.t.Helper()
	var slowest time.Duration
	for _, name := range orderedNames() {
		var first time.Time
		harness.Eventually(r.t, 2*time.Minute, func() bool {
			var leaves []*x509.Certificate
			for _, one := range r.all() {
				leaf := leafAt(r.t, one.Addr("secure"), name)
				if leaf != nil && strings.Contains(leaf.Issuer.CommonName, "Pebble") {
					leaves = append(leaves, leaf)
				}
			}
			if len(leaves) > 0 && first.IsZero() {
				first = time.Now()
			}
			return len(leaves) == len(r.all()) && !slices.ContainsFunc(leaves, func(leaf *x509.Certificate) bool {
				return leaf.SerialNumber.Cmp(leaves[0].SerialNumber) != 0
			})
		}, func() string { return r.logs() })
		slowest = max(slowest, time.Since(first))
	}
	return slowest
}

func (r *replicas) logs() string {
	var text strings.Builder
	for i, one := range r.members {
		fmt.Fprintf(&text, "replica %d:\n%s\n", i, one.Log)
	}
	return text.String()
}

// forward leads connections to an address to the one that target returns.
func forward(t *testing.T, address string, target func() string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			tasks.Go(func() { join(client, target()) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); tasks.Wait() })
}

// join copies between a connection and an address until one of them ends.
func join(client net.Conn, address string) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", address) //nolint:noctx // It is of this machine.
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	_, _ = io.Copy(server, client)
	_ = server.Close()
	back.Wait()
}

// storages are how each kind of shared storage is opened: its location, and the environment of Sluice.
func storages() map[string]func(t *testing.T) (location string, env []string) {
	return map[string]func(t *testing.T) (string, []string){
		"Kubernetes": func(t *testing.T) (string, []string) {
			return "kubernetes://sluice", []string{"KUBECONFIG=" + prepare(t).AccountKubeconfig(account)}
		},
		"Redis": func(t *testing.T) (string, []string) { return "redis://" + redistest.Start(t).Address + "/0", nil },
		"etcd": func(t *testing.T) (string, []string) {
			prepare(t)
			return "etcd://" + etcdAddress + "/edge/" + rand.Text(), nil
		},
	}
}

// Three replicas order each certificate once, whichever of them the authority reaches, and all of them present it.
func TestReplicasOrderOnce(t *testing.T) {
	for name, open := range storages() {
		for kind, challenge := range map[string]string{"HTTP-01": byHTTP, "TLS-ALPN-01": byTLS} {
			t.Run(name+" "+kind, func(t *testing.T) {
				location, env := open(t)
				r := newReplicas(t, location, challenge, env)
				r.start()
				t.Logf("from the first replica to the last: %v", r.await().Round(time.Millisecond))
				r.orderedOnce()
			})
		}
	}
}

// The replica that orders is killed between its orders and their finalization. Another one completes the same orders.
func TestLeaderIsKilledBeforeFinalization(t *testing.T) {
	for name, open := range storages() {
		t.Run(name, func(t *testing.T) {
			location, env := open(t)
			r := newReplicas(t, location, byHTTP, env)
			var finalizations atomic.Int64
			killed := make(chan struct{})
			r.authority.Intercept(func(_ http.ResponseWriter, request *http.Request) bool {
				if !strings.HasPrefix(request.URL.Path, "/finalize-order/") {
					return false
				}
				switch count := finalizations.Add(1); {
				case count > int64(len(orderedNames())):
					return false
				case count == int64(len(orderedNames())): // All orders are stored.
					r.killLeader()
					close(killed)
				}
				<-killed
				panic(http.ErrAbortHandler) // The request is lost with its sender.
			})
			r.start()
			r.await()
			if len(r.all()) != 2 {
				t.Errorf("%d replicas are alive\n%s", len(r.all()), r.logs())
			}
			r.orderedOnce()
		})
	}
}

// orderedOnce demands that exactly one order was accepted for each name.
func (r *replicas) orderedOnce() {
	r.t.Helper()
	orders := r.authority.Orders()
	slices.Sort(orders)
	if !slices.Equal(orders, orderedNames()) {
		r.t.Errorf("orders %q, want one for each of %q\n%s", orders, orderedNames(), r.logs())
	}
}
