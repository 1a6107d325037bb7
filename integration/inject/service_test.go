package inject

import (
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// service stands for kube-proxy: it leads connections to a ClusterIP to the replicas in turn, and past those to which
// no connection can be made.
type service struct {
	mu       sync.Mutex
	replicas []string
	next     int
}

// lead listens at the address of a Service until the test ends.
func lead(t *testing.T, address string) *service {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &service{}
	var running sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	running.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { s.pass(connection) })
		}
	})
	return s
}

func (s *service) add(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas = append(s.replicas, address)
}

func (s *service) remove(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas = slices.DeleteFunc(s.replicas, func(one string) bool { return one == address })
}

// turn returns the replicas, beginning with the one whose turn it is.
func (s *service) turn() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.replicas) == 0 {
		return nil
	}
	s.next++
	at := s.next % len(s.replicas)
	return slices.Concat(s.replicas[at:], s.replicas[:at])
}

// pass passes one connection on.
func (s *service) pass(client net.Conn) {
	defer client.Close() //nolint:errcheck // the other side knows
	for _, address := range s.turn() {
		server, err := (&net.Dialer{Timeout: time.Second}).DialContext(context.Background(), "tcp", address)
		if err != nil {
			continue
		}
		var copying sync.WaitGroup
		copying.Go(func() {
			_, _ = io.Copy(server, client)
			_ = server.(*net.TCPConn).CloseWrite()
		})
		_, _ = io.Copy(client, server)
		_ = client.Close()
		copying.Wait()
		_ = server.Close()
		return
	}
}
