package redis

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/storagetest"
	"github.com/sluiceproxy/sluice/middleware/ratelimit/redis/redistest"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) {
	// go-redis's pool looks once a second whether it was closed while a server refused connections.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

func open(t *testing.T, address string) *Store {
	t.Helper()
	store, err := Open(t.Context(), address, telemetry.Discard{})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestStore(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storagetest.Backend {
		t.Parallel()
		const secret = "pass/word:@"
		// The rights are those that the package comment lists.
		arguments := strings.Fields("--appendonly yes --appendfsync always --user sluice on ~edge:* &edge:changes " +
			"+eval +evalsha +get +set +del +mget +sadd +srem +smembers +incr +publish +subscribe +ping +select +pexpire")
		server := redistest.Start(t, append(arguments, ">"+secret)...)
		at := func(address string) string { return "redis://sluice:pass%2Fword:%40@" + address + "/2?prefix=edge" }
		return storagetest.Backend{
			Open: func(t *testing.T) storage.Store { return open(t, at(server.Address)) },
			OpenFragile: func(t *testing.T) (storage.Store, func()) {
				address, cut := storagetest.Proxy(t, server.Address)
				return open(t, at(address)), cut
			},
			Restart: func(*testing.T) {
				server.Kill()
				server.Restart()
			},
		}
	})
}

// TestLostMessages deletes and changes values behind the watch's back, which finds them by the version.
func TestLostMessages(t *testing.T) {
	server := redistest.Start(t)
	store := open(t, "redis://"+server.Address)
	key := func(id string) storage.Key { return storage.Key{Kind: storage.KindOrder, Resolver: "le", ID: id} }
	got := map[storage.Key]string{}
	w := &watch{store: store, receive: func(changes []storage.Change) {
		for _, change := range changes {
			got[change.Key] = string(change.Value)
		}
	}}
	if err := w.readAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		if err := store.Put(t.Context(), key(id), []byte("1")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.check(t.Context()); err != nil || len(got) != 2 {
		t.Errorf("check: %v, %v", got, err)
	}
	for _, message := range []string{"1 order:le:a", "2 order:le:b"} { // Which are old.
		if err := w.read(t.Context(), message); err != nil {
			t.Error(err)
		}
	}
	for _, value := range []string{"2", "3"} {
		if err := store.Put(t.Context(), key("a"), []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Delete(t.Context(), key("b")); err != nil {
		t.Fatal(err)
	}
	if err := w.read(t.Context(), "4 order:le:a"); err != nil { // The message 3 is lost.
		t.Error(err)
	}
	if got[key("a")] != "3" || got[key("b")] != "" || w.version != 5 {
		t.Errorf("%v, version %d", got, w.version)
	}
}

func TestWrongAddresses(t *testing.T) {
	for _, test := range []struct{ address, want string }{
		{"redis://", "lacks a host"},
		{"redis://:secret@", "lacks a host"},
		{"redis://u:secret@a:0", "is not host:port"},
		{"redis://u:secret@a,b", "2 hosts"},
		{"redis://u:secret@a/x", `database "x"`},
		{"redis://u:secret@a/-1", "database"},
		{"redis://u:secret@a?foo=secret", `"foo" is unknown`},
		{"redis://u:secret@a?ca=x", "needs rediss://"},
		{"rediss://u:secret@a?ca=/missing/ca.pem", "/missing/ca.pem"},
		{"rediss://u:secret@a?cert=/missing/c.pem", "belong together"},
		{"redis://u:secret%@a", "escaped"},
		{"redis://u:secret@a?prefix=%zz", "escaped wrongly"},
		{"redis://u:secret@a?prefix=a&prefix=b", "one value"},
		{"http://u:secret@a", "redis://"},
	} {
		_, err := Open(t.Context(), test.address, telemetry.Discard{})
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, not %q", test.address, err, test.want)
		}
	}
}

func TestTLS(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.pem")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	server := redistest.StartTLS(t, file, file)
	order := storage.Key{Kind: storage.KindOrder, ID: "x"}
	trusting := open(t, "rediss://"+server.Address+"?ca="+file)
	if err := trusting.Put(t.Context(), order, []byte("x")); err != nil {
		t.Error(err)
	}
	var unknown x509.UnknownAuthorityError
	if _, err := open(t, "rediss://"+server.Address).Get(t.Context(), order); err == nil ||
		!strings.Contains(err.Error(), unknown.Error()) {
		t.Errorf("without an authority: %v", err)
	}
}

// TestErrorsKeepSecrets has a server that refuses what it gets and repeats it.
func TestErrorsKeepSecrets(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			buffer := make([]byte, 4096)
			for err == nil {
				if _, err = conn.Read(buffer); err == nil {
					_, err = conn.Write([]byte("-ERR unknown command 'EVALSHA', with args beginning with: 'private' password\r\n"))
				}
			}
			_ = conn.Close()
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	store, err := Open(ctx, "redis://:password@"+listener.Addr().String(), telemetry.Discard{})
	if err != nil {
		t.Fatal(err)
	}
	err = store.Put(ctx, storage.Key{Kind: storage.KindTickets}, []byte("private"))
	if err == nil || strings.Contains(err.Error(), "private") || strings.Contains(err.Error(), "password") ||
		!strings.Contains(err.Error(), "redis://127.0.0.1:") {
		t.Errorf("Put: %v", err)
	}
	cancel()
	if _, err := store.Get(ctx, storage.Key{Kind: storage.KindTickets}); !errors.Is(err, context.Canceled) {
		t.Errorf("Get after the end: %v", err)
	}
	_ = listener.Close()
	<-done
}
