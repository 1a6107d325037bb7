// Package clienttest is a small API server for tests of packages that watch a cluster; Watch is a watch without one.
//
// In flow objects, rights and accidents that a test decides on; out flow lists, watches and discovery in JSON over
// HTTP on a loopback address. It keeps what it is given as it is: nothing is validated, defaulted or derived. It is
// never part of Sluice.
package clienttest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Server is the API server. Its methods may be called from any goroutine.
type Server struct {
	t       testing.TB
	address string

	mu       sync.Mutex
	http     *http.Server
	serving  sync.WaitGroup
	version  int
	oldest   int
	served   map[schema.GroupVersionResource]string
	refused  map[permission]bool
	token    string
	noStream bool
	objects  map[schema.GroupVersionResource]map[name]*unstructured.Unstructured
	changes  []change
	changed  chan struct{}
	requests []string
}

type name struct{ namespace, name string }

type permission struct {
	verb     string
	resource string
}

// change is one line of a watch.
type change struct {
	version  int
	what     string
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
}

// New starts a server that serves Services, EndpointSlices, Endpoints, Secrets, ConfigMaps, Nodes, Ingresses and
// IngressClasses, none of which exist. It stops when the test ends.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		t:       t,
		address: "127.0.0.1:0",
		version: 1,
		served:  map[schema.GroupVersionResource]string{},
		refused: map[permission]bool{},
		objects: map[schema.GroupVersionResource]map[name]*unstructured.Unstructured{},
		changed: make(chan struct{}),
	}
	core := schema.GroupVersion{Version: "v1"}
	networking := schema.GroupVersion{Group: "networking.k8s.io", Version: "v1"}
	s.Serve(core.WithResource("services"), "Service")
	s.Serve(core.WithResource("endpoints"), "Endpoints")
	s.Serve(core.WithResource("secrets"), "Secret")
	s.Serve(core.WithResource("configmaps"), "ConfigMap")
	s.Serve(core.WithResource("nodes"), "Node")
	s.Serve(schema.GroupVersion{Group: "discovery.k8s.io", Version: "v1"}.WithResource("endpointslices"), "EndpointSlice")
	s.Serve(networking.WithResource("ingresses"), "Ingress")
	s.Serve(networking.WithResource("ingressclasses"), "IngressClass")
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

// URL returns where the server listens, also while it is stopped.
func (s *Server) URL() string { return "http://" + s.address }

// Start has the server answer again, at the same address.
func (s *Server) Start() {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", s.address)
	if err != nil {
		s.t.Error(err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = listener.Addr().String()
	server := &http.Server{Handler: http.HandlerFunc(s.handle)}
	s.http = server
	s.serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.t.Error(err)
		}
	})
}

// Stop closes every connection and accepts no more.
func (s *Server) Stop() {
	s.mu.Lock()
	server := s.http
	s.http = nil
	s.mu.Unlock()
	if server != nil {
		_ = server.Close()
		s.serving.Wait()
	}
}

// Serve adds a resource to what is served.
func (s *Server) Serve(resource schema.GroupVersionResource, kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served[resource] = kind
}

// Remove takes a resource away with all its objects, as when its definition is deleted; its watches are notified and
// cut off.
func (s *Server) Remove(resource schema.GroupVersionResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, object := range s.objects[resource] {
		s.note("DELETED", resource, object)
	}
	delete(s.objects, resource)
	delete(s.served, resource)
	s.wake()
}

// Refuse has requests for a resource answered with 403. The verb is list or watch.
func (s *Server) Refuse(verb, resource string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[permission{verb, resource}] = true
}

// Grant takes back what Refuse has said.
func (s *Server) Grant(verb, resource string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.refused, permission{verb, resource})
}

// RequireToken has all requests without this bearer token answered with 401; empty accepts all.
func (s *Server) RequireToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// ListOnly has the server refuse watches that begin with what is there, as old ones do.
func (s *Server) ListOnly() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noStream = true
}

// Expire drops all changes so far: watches cannot be resumed before the present version.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oldest = s.version
	s.changes = nil
}

// Requests returns the requests so far, as "VERB /path?query", with the verbs list, watch and get.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}

func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}
