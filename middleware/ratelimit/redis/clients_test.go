package redis

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/ratelimit/redis/redistest"
	"github.com/sluiceproxy/sluice/telemetry"
)

// connections counts the connections of a server, but that of the query.
func connections(t *testing.T, admin *redis.Client) int {
	t.Helper()
	return strings.Count(do(t, admin, "CLIENT", "LIST").(string), "\n") - 1
}

// Limiters with equal options share connections, which end with the last of them.
func TestConnectionsAreSharedAndEnd(t *testing.T) {
	server := redistest.Start(t)
	admin := direct(t, redis.Options{Addr: server.Address})
	c, _ := clients(t)
	standard := ptypes.Duration(3 * time.Second)
	plain := &dynamic.Redis{Endpoints: []string{server.Address}}
	same := &dynamic.Redis{Endpoints: []string{server.Address}, ReadTimeout: &standard}
	one, two := limiter(t, c, plain, plenty()), limiter(t, c, same, Rate{Average: 1, Period: time.Second, Burst: 1})
	apart := at(server.Address)
	apart.DB = 3
	three := limiter(t, c, apart, plenty())
	for _, l := range []*Limiter{one, two, three} {
		pass(t, l, "192.0.2.1")
	}
	if one.client != two.client || one.client == three.client {
		t.Error("connections are not shared by equal options alone")
	}
	if got := connections(t, admin); got != 2 {
		t.Errorf("%d connections, want 2", got)
	}
	one.Close()
	one.Close() // Once is enough, and twice no more.
	pass(t, two, "192.0.2.2")
	two.Close()
	eventually(t, "the end of one connection", func() bool { return connections(t, admin) == 1 })
	three.Close()
	eventually(t, "the end of all connections", func() bool { return connections(t, admin) == 0 })
	again := limiter(t, c, at(server.Address), plenty())
	pass(t, again, "192.0.2.1")
}

func TestDatabase(t *testing.T) {
	server := redistest.Start(t)
	c, _ := clients(t)
	config := at(server.Address)
	config.DB = 3
	l := limiter(t, c, config, plenty())
	pass(t, l, "192.0.2.1")
	third := direct(t, redis.Options{Addr: server.Address, DB: 3})
	if do(t, third, "EXISTS", "sluice:ratelimit:1:limit@file:1000/1s/100000:192.0.2.1") != int64(1) {
		t.Errorf("the keys there are %v", do(t, third, "KEYS", "*"))
	}
}

// Idle connections are there before the first request.
func TestMinIdleConns(t *testing.T) {
	server := redistest.Start(t)
	admin := direct(t, redis.Options{Addr: server.Address})
	c, _ := clients(t)
	config := at(server.Address)
	config.MinIdleConns = 3
	l := limiter(t, c, config, plenty())
	eventually(t, "three connections", func() bool { return connections(t, admin) >= 3 })
	pass(t, l, "192.0.2.1")
}

func TestPassword(t *testing.T) {
	const secret = "open sesame, please"
	server := redistest.Start(t, "--requirepass", secret)
	for name, test := range map[string]struct{ password, reason string }{
		"right": {password: secret},
		"wrong": {password: "guessed at random", reason: "WRONGPASS"},
		"none":  {reason: "NOAUTH"},
	} {
		t.Run(name, func(t *testing.T) {
			c, log := clients(t)
			config := at(server.Address)
			config.Password = test.password
			l := limiter(t, c, config, plenty())
			if test.reason == "" {
				pass(t, l, "192.0.2.1")
				return
			}
			told := fail(t, l, "192.0.2.1", ErrLost)
			eventually(t, "a line in the log", func() bool { return len(log.all()) == 1 })
			line := log.all()[0]
			if !strings.Contains(told, test.reason) || !strings.Contains(line, test.reason) {
				t.Errorf("error %q, log %q, want %s", told, line, test.reason)
			}
			if test.password != "" && strings.Contains(told+line, test.password) {
				t.Errorf("the password is disclosed: %q, %q", told, line)
			}
		})
	}
}

// A user with no more rights than documented is enough.
func TestUser(t *testing.T) {
	server := redistest.Start(t)
	admin := direct(t, redis.Options{Addr: server.Address})
	do(t, admin, "ACL", "SETUSER", "sluice", "on", ">secret", "~sluice:ratelimit:*", "+evalsha", "+eval", "+get", "+set",
		"+time")
	c, _ := clients(t)
	config := at(server.Address)
	config.Username, config.Password = "sluice", "secret"
	pass(t, limiter(t, c, config, plenty()), "192.0.2.1")
}

func TestTLS(t *testing.T) {
	certFile, keyFile := selfSigned(t)
	server := redistest.StartTLS(t, certFile, keyFile)
	for name, test := range map[string]struct {
		tls     *dynamic.ClientTLS
		reasons []string
	}{
		"authority":          {tls: &dynamic.ClientTLS{CA: certFile}},
		"client certificate": {tls: &dynamic.ClientTLS{CA: certFile, Cert: certFile, Key: keyFile}},
		"no verification":    {tls: &dynamic.ClientTLS{InsecureSkipVerify: true}},
		"unknown authority":  {tls: &dynamic.ClientTLS{}, reasons: []string{"certificate"}},
		"no TLS":             {reasons: []string{"EOF", "reset"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := clients(t)
			config := at(server.Address)
			config.TLS = test.tls
			l := limiter(t, c, config, plenty())
			if test.reasons == nil {
				pass(t, l, "192.0.2.1")
				return
			}
			told := fail(t, l, "192.0.2.1", ErrLost)
			if !slices.ContainsFunc(test.reasons, func(reason string) bool { return strings.Contains(told, reason) }) {
				t.Errorf("the error is %q, want %q", told, test.reasons)
			}
		})
	}
}

// Over TLS, a dead connection is detected only by using it. All of them are closed at once.
func TestTLSKilledAndBack(t *testing.T) {
	t.Parallel()
	certFile, keyFile := selfSigned(t)
	server := redistest.StartTLS(t, certFile, keyFile)
	c, log := clients(t)
	config := at(server.Address)
	config.TLS, config.MinIdleConns = &dynamic.ClientTLS{CA: certFile}, 5
	l := limiter(t, c, config, plenty())
	eventually(t, "five connections", func() bool { return l.client.current.Load().PoolStats().IdleConns >= 5 })
	pass(t, l, "192.0.2.1")
	server.Kill()
	server.Restart()
	fail(t, l, "192.0.2.1", ErrLost)
	back(t, l, log, "")
	for range 20 {
		pass(t, l, "192.0.2.1")
	}
}

// selfSigned returns the paths of a certificate for 127.0.0.1 and of its key.
func selfSigned(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("redis.crt", "CERTIFICATE", der), write("redis.key", "PRIVATE KEY", secret)
}

// In a cluster each bucket is on the node that its key belongs to, and the script touches nothing else.
func TestCluster(t *testing.T) {
	t.Parallel()
	nodes := make([]*redis.Client, 2)
	addresses := make([]string, 2)
	for i := range nodes {
		server := redistest.Start(t, "--cluster-enabled", "yes", "--cluster-port", redistest.Port(t))
		addresses[i] = server.Address
		nodes[i] = direct(t, redis.Options{Addr: server.Address})
	}
	do(t, nodes[0], "CLUSTER", "ADDSLOTSRANGE", "0", "8191")
	do(t, nodes[1], "CLUSTER", "ADDSLOTSRANGE", "8192", "16383")
	host, port, _ := net.SplitHostPort(addresses[1])
	bus := do(t, nodes[1], "CONFIG", "GET", "cluster-port").(map[any]any)["cluster-port"]
	do(t, nodes[0], "CLUSTER", "MEET", host, port, bus)
	for _, node := range nodes {
		eventually(t, "one cluster", func() bool {
			return strings.Contains(do(t, node, "CLUSTER", "INFO").(string), "cluster_state:ok") &&
				len(do(t, node, "CLUSTER", "SLOTS").([]any)) == 2
		})
	}
	c, _ := clients(t)
	l := limiter(t, c, &dynamic.Redis{Endpoints: addresses}, Rate{Average: 1, Period: time.Hour, Burst: 1})
	for i := range 40 {
		key := fmt.Sprintf("192.0.2.%d", i)
		pass(t, l, key)
		if _, allowed, err := l.Take(t.Context(), key); err != nil || allowed {
			t.Errorf("%s passes twice: %v", key, err)
		}
	}
	for i, node := range nodes {
		if size := do(t, node, "DBSIZE").(int64); size < 5 || size > 35 {
			t.Errorf("node %d has %d of 40 buckets", i, size)
		}
	}
}

// Several servers that are no cluster are not taken for one.
func TestNoCluster(t *testing.T) {
	one, two := redistest.Start(t), redistest.Start(t)
	c, _ := clients(t)
	l := limiter(t, c, &dynamic.Redis{Endpoints: []string{one.Address, two.Address}}, plenty())
	if told := fail(t, l, "192.0.2.1", ErrLost); !strings.Contains(told, "cluster support disabled") {
		t.Errorf("the error is %q", told)
	}
}

// BenchmarkTake measures one request against a server of this machine, and one while Redis is lost.
func BenchmarkTake(b *testing.B) {
	server := redistest.Start(b)
	c := NewClients(telemetry.Discard{})
	defer c.Close()
	l := limiter(b, c, at(server.Address), plenty())
	b.Run("there", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := l.Take(b.Context(), "192.0.2.1"); err != nil {
				b.Fatal(err)
			}
		}
	})
	server.Kill()
	_, _, _ = l.Take(b.Context(), "192.0.2.1")
	b.Run("lost", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := l.Take(b.Context(), "192.0.2.1"); err == nil {
				b.Fatal("no error")
			}
		}
	})
}
