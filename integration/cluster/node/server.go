package node

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
)

// place is the identity and the addresses of a backend.
type place struct {
	// Pod is namespace/name, Node the name of the node.
	Pod, Node string
	// Addresses are host:port, all of one pod.
	Addresses []string
}

// server is a pod's backend, for HTTP/1.1 and HTTP/2 with prior knowledge, and for gRPC.
type server struct {
	place   place
	grpc    func() *grpc.Server // made for the first call
	http    *http.Server
	serving sync.WaitGroup
	hangs   atomic.Bool
	dead    chan struct{} // closed by kill
	killing sync.Once
}

// serve listens on all addresses or none.
func serve(place place) (*server, error) {
	s := &server{place: place, dead: make(chan struct{})}
	s.grpc = sync.OnceValue(func() *grpc.Server { return newGRPC(place.Pod) })
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s.http = &http.Server{Handler: s, Protocols: protocols, ErrorLog: log.New(io.Discard, "", 0)}
	var listeners []net.Listener
	for _, address := range place.Addresses {
		listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", address)
		if err != nil {
			for _, open := range listeners {
				_ = open.Close()
			}
			return nil, err
		}
		listeners = append(listeners, listener)
	}
	for _, listener := range listeners {
		s.serving.Go(func() { _ = s.http.Serve(listener) }) // returns ErrServerClosed
	}
	return s, nil
}

// ServeHTTP answers with the pod's name in the body and in X-Pod. Query parameters: wait=100ms before the response,
// status=503, size=1000 bytes after the name; pass=NAME shows a header of the request behind the pod's name, and with
// next=HOST,HOST and via=ADDRESS the pod requests the first host with that header and the rest of the hosts, at the
// address, or with proxy=ADDRESS through the forward proxy there, and appends what it gets. Calls of gRPC's test
// service are answered with the name, too.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if isGRPC(r) && !s.hangs.Load() {
		s.grpc().ServeHTTP(w, r)
		return
	}
	status, size, err := s.prepare(r)
	if s.hangs.Load() {
		<-s.dead
		panic(http.ErrAbortHandler)
	}
	if errors.Is(err, context.Canceled) {
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	header := w.Header()
	header.Set("X-Pod", s.place.Pod)
	header.Set("X-Node", s.place.Node)
	header.Set("Content-Type", "text/plain")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, s.place.Pod)
	if name := r.URL.Query().Get("pass"); name != "" {
		_, _ = io.WriteString(w, " "+r.Header.Get(name))
	}
	_, _ = io.WriteString(w, "\n")
	if r.URL.Query().Has("next") {
		_, _ = io.WriteString(w, callNext(r))
	}
	if size > 0 {
		_, _ = io.CopyN(w, zeros{}, size)
	}
}

// prepare parses the request and waits.
func (s *server) prepare(r *http.Request) (status int, size int64, err error) {
	_, _ = io.Copy(io.Discard, r.Body)
	query := r.URL.Query()
	status = http.StatusOK
	if text := query.Get("status"); text != "" {
		if status, err = strconv.Atoi(text); err != nil || status < 200 || status > 599 {
			return 0, 0, errors.New("status must be a number from 200 to 599")
		}
	}
	if text := query.Get("size"); text != "" {
		if size, err = strconv.ParseInt(text, 10, 64); err != nil {
			return 0, 0, err
		}
	}
	if text := query.Get("wait"); text != "" {
		wait, err := time.ParseDuration(text)
		if err != nil {
			return 0, 0, err
		}
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.dead:
			return 0, 0, context.Canceled
		case <-r.Context().Done():
			return 0, 0, context.Canceled
		}
	}
	return status, size, nil
}

// hang blocks all pending and new requests until the end.
func (s *server) hang() { s.hangs.Store(true) }

// closeConnections closes idle connections, and the others after their answers.
func (s *server) closeConnections() { s.http.SetKeepAlivesEnabled(false) }

// finish stops listening and completes requests, until ctx ends.
func (s *server) finish(ctx context.Context) {
	_ = s.http.Shutdown(ctx) // the rest is killed
	s.kill()
}

// kill closes everything at once.
func (s *server) kill() {
	s.killing.Do(func() { close(s.dead) })
	_ = s.http.Close()
	s.serving.Wait()
}

// zeros is an endless reader of the digit 0.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}
