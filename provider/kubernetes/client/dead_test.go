package client_test

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/telemetry"
)

// relay passes bytes on between a client and a server until it is set to drop them, as a network does that has lost
// one of the two.
type relay struct {
	net.Listener
	server string
	dead   atomic.Bool
	ends   sync.WaitGroup
}

func (r *relay) run() {
	for {
		near, err := r.Accept()
		if err != nil {
			return
		}
		far, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", r.server)
		if err != nil {
			_ = near.Close()
			continue
		}
		r.ends.Go(func() { r.pass(near, far) })
		r.ends.Go(func() { r.pass(far, near) })
	}
}

func (r *relay) pass(from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if r.dead.Load() {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// TestADeadConnectionIsNoticed demands that a watch does not wait for ever on a connection whose other end has gone
// without a word.
func TestADeadConnectionIsNoticed(t *testing.T) {
	t.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "1")
	t.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "1")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	between := &relay{Listener: listener, server: server.Listener.Addr().String()}
	between.ends.Go(between.run)
	t.Cleanup(func() { _ = listener.Close(); server.CloseClientConnections(); between.ends.Wait() })

	ca := filepath.Join(t.TempDir(), "ca.crt")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(ca, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	cluster, err := client.Connect(
		client.Options{Endpoint: "https://" + listener.Addr().String(), CertAuthFilePath: ca}, "kubernetes",
		telemetry.Discard{})
	if err != nil {
		t.Fatal(err)
	}
	rest, err := cluster.REST(corev1.SchemeGroupVersion)
	if err != nil {
		t.Fatal(err)
	}
	changes, err := rest.Get().Resource("services").VersionedParams(&metav1.ListOptions{Watch: true},
		metav1.ParameterCodec).Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	between.dead.Store(true)
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	select {
	case <-changes.ResultChan():
	case <-deadline.C:
		t.Error("the watch waits on a dead connection")
	}
	changes.Stop()
}
