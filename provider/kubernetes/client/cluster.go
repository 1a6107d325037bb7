// Package client is the shared connection to one Kubernetes cluster.
//
// It reads objects by one list-and-watch stream for each resource and namespace, strips unused fields, and passes typed
// objects and their changes to watchers. An API that does not exist or is forbidden is a state of a watch, not an
// error, and is retried. Objects are kept while the API server does not answer. The package does not interpret objects
// and does not write to the cluster by itself.
package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/sluiceproxy/sluice/telemetry"
)

// Options identify the cluster. Equal Options mean the same cluster.
type Options struct {
	// Endpoint is the API server's URL. When it is empty, the cluster is the one that Sluice runs in, or else the one that
	// the KUBECONFIG environment variable leads to.
	Endpoint string
	// Token is a bearer token, or the path of a file that holds one and is read again for every request. Beside an
	// Endpoint it is the only way to authenticate; without an Endpoint it takes the place of the token that was found.
	Token string
	// CertAuthFilePath is a file of PEM certificates that sign the API server's one. Empty means the roots of the system
	// beside an Endpoint, and what was found elsewhere.
	CertAuthFilePath string
	// Kubeconfig is a file that names the cluster, in place of those of the KUBECONFIG environment variable. Context is
	// the context in it, or the current one when it is empty. With one of them, it is not the cluster that Sluice runs in.
	Kubeconfig, Context string
	// Transport answers the requests in place of an API server, if it is not nil; the other options are then ignored.
	Transport http.RoundTripper
}

// Cluster is the connection to one cluster. Its methods may be called from any goroutine.
type Cluster struct {
	source    string
	logger    telemetry.Logger
	config    *rest.Config
	http      *http.Client
	scheme    *runtime.Scheme
	codecs    serializer.CodecFactory
	discovery *discovery

	mu        sync.Mutex
	clients   map[schema.GroupVersion]rest.Interface
	watches   map[string]watcher
	order     []watcher
	running   *running
	listeners []func()
}

// watcher is a watch of any type.
type watcher interface {
	// start starts the watch's goroutines.
	start(*running)
}

// running is one call of Run.
type running struct {
	ctx  context.Context
	jobs sync.WaitGroup
}

// Connect prepares the connection to the cluster that the options name; no request is made before Run or REST is
// called. The source is the first part of the keys of endpoint sets. Each of the schemes registers types that are
// watched beside those of Kubernetes itself. It fails when no cluster is named anywhere, and when a file that the
// options name cannot be read.
func Connect(
	options Options, source string, logger telemetry.Logger, schemes ...func(*runtime.Scheme) error,
) (*Cluster, error) {
	config, err := configure(options)
	if err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	types, err := newScheme(schemes)
	if err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	client := &http.Client{Transport: options.Transport}
	if options.Transport == nil {
		if client, err = rest.HTTPClientFor(config); err != nil {
			return nil, fmt.Errorf("kubernetes: %w", err)
		}
	}
	client.Transport = &reach{next: client.Transport, server: config.Host, logger: logger}
	cluster := &Cluster{
		source:  source,
		logger:  logger,
		config:  config,
		http:    client,
		scheme:  types,
		codecs:  serializer.NewCodecFactory(types),
		clients: map[schema.GroupVersion]rest.Interface{},
		watches: map[string]watcher{},
	}
	cluster.discovery = newDiscovery(cluster.REST)
	return cluster, nil
}

// Source returns the first part of the keys of endpoint sets that come from this cluster.
func (c *Cluster) Source() string { return c.source }

// OnStatus has the function called whenever the Status of some watch may have changed. It is called on the goroutine
// of a watch and must return at once.
func (c *Cluster) OnStatus(listener func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners = append(c.listeners, listener)
}

// statusChanged notifies all listeners that the status of a watch may have changed.
func (c *Cluster) statusChanged() {
	c.mu.Lock()
	listeners := c.listeners
	c.mu.Unlock()
	for _, notify := range listeners {
		notify()
	}
}

// Run runs every watch until ctx ends and all of them have stopped; watches that are added meanwhile run at once. It
// may be called again after it has returned: the watches then go on from what they hold. It fails only when it is
// running already.
func (c *Cluster) Run(ctx context.Context) error {
	c.mu.Lock()
	if c.running != nil {
		c.mu.Unlock()
		return errors.New("kubernetes: the cluster's watches are running already")
	}
	current := &running{ctx: ctx}
	c.running = current
	for _, watch := range c.order {
		watch.start(current)
	}
	c.mu.Unlock()

	<-ctx.Done()
	c.mu.Lock()
	c.running = nil
	c.mu.Unlock()
	current.jobs.Wait()
	utilnet.CloseIdleConnectionsFor(c.http.Transport)
	return nil
}
