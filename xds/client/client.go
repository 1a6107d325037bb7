// Package client subscribes to resources of an xDS server by name, over one incremental aggregated stream (delta ADS).
//
// A Client keeps one stream open until its context ends, and gives each response to its Consumer, whose error rejects
// it (NACK). After a lost stream it connects again, with growing pauses, and names the versions that it has, so that
// only what has changed is sent again.
package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
)

const (
	// firstPause is the pause before the first attempt to connect again; it doubles up to lastPause.
	firstPause, lastPause = 100 * time.Millisecond, 10 * time.Second
	// pingInterval and pingTimeout find a server that is gone without closing its connection.
	pingInterval, pingTimeout = 20 * time.Second, 10 * time.Second
	// maxResponseBytes is the size of the largest response.
	maxResponseBytes = 64 << 20
)

// Options are the options of a Client. Address and Node are needed.
type Options struct {
	// Address is the server's, as host:port.
	Address string
	// TLS returns the configuration of a new connection, so that renewed certificates are used; nil, or a nil
	// configuration, is a connection without TLS.
	TLS func() (*tls.Config, error)
	// Token returns the bearer token of a new stream; nil, or an empty token, sends none.
	Token func() (string, error)
	// Node identifies the client.
	Node string
	// Agent and Version are the name and the version of the program.
	Agent, Version string
}

// Consumer receives what a Client gets. Its methods are called on the goroutine of Run.
type Consumer interface {
	// Receive takes a response. An error rejects it; its text goes to the server.
	Receive(response Response) error
	// Connected is called with nil when the server has accepted a stream, and with an error when the stream is lost or
	// cannot be opened.
	Connected(err error)
}

// Response is what has changed.
type Response struct {
	// TypeURL is the type of the resources.
	TypeURL string
	// Resources are new or changed, and Removed are the names of those that do not exist.
	Resources []Resource
	Removed   []string
}

// Resource is one resource.
type Resource struct {
	// Name is its name, and Version its version at the server.
	Name, Version string
	// Content is the resource.
	Content *anypb.Any
}

// Client is a client of one server. Subscribe may be called from any goroutine.
type Client struct {
	options Options
	wake    chan struct{}

	mu     sync.Mutex
	wanted map[string]subscriptions // by type URL
	last   uint64                   // the number of the last subscription
}

// subscriptions are the names of a type. A name that was dropped and is wanted again has another number, so that its
// resource is sent again.
type subscriptions map[string]uint64

// New returns a Client that connects when Run is called.
func New(options Options) *Client {
	return &Client{options: options, wake: make(chan struct{}, 1), wanted: map[string]subscriptions{}}
}

// Subscribe sets the names of the resources of a type that are wanted from now on. A name that was not among the last
// ones gets its resource again.
func (c *Client) Subscribe(typeURL string, names []string) {
	c.mu.Lock()
	before, next := c.wanted[typeURL], make(subscriptions, len(names))
	for _, name := range names {
		number, known := before[name]
		if !known {
			c.last++
			number = c.last
		}
		next[name] = number
	}
	c.wanted[typeURL] = next
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run keeps a stream open until ctx ends.
func (c *Client) Run(ctx context.Context, to Consumer) {
	versions := map[string]map[string]string{}
	pause := firstPause
	for ctx.Err() == nil {
		one := &stream{client: c, consumer: to, versions: versions, subscribed: map[string]subscriptions{}}
		err := one.run(ctx)
		if ctx.Err() != nil {
			return
		}
		to.Connected(c.explain(err))
		if one.answered {
			pause = firstPause
		}
		// Half of the pause is random, so that clients do not reach a recovering server at the same moment.
		timer := time.NewTimer(pause/2 + rand.N(pause/2))
		pause = min(2*pause, lastPause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// explain returns an error with the address and the words of the server.
func (c *Client) explain(err error) error {
	if known, ok := status.FromError(err); ok && known.Code() != codes.OK {
		return fmt.Errorf("%s: %s: %s", c.options.Address, known.Code(), known.Message())
	}
	return fmt.Errorf("%s: %w", c.options.Address, err)
}

// connect returns a connection to the server.
func (c *Client) connect() (*grpc.ClientConn, error) {
	secured := insecure.NewCredentials()
	if c.options.TLS != nil {
		config, err := c.options.TLS()
		if err != nil {
			return nil, err
		}
		if config != nil {
			secured = alerting{credentials.NewTLS(config)}
		}
	}
	return grpc.NewClient(c.options.Address,
		grpc.WithTransportCredentials(secured),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingInterval, Timeout: pingTimeout}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: firstPause, Multiplier: 2, MaxDelay: lastPause}, MinConnectTimeout: time.Second,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxResponseBytes)),
		grpc.WithDisableServiceConfig(),
	)
}

// node returns the description of the client.
func (c *Client) node() *corev3.Node {
	return &corev3.Node{
		Id: c.options.Node, UserAgentName: c.options.Agent,
		UserAgentVersionType: &corev3.Node_UserAgentVersion{UserAgentVersion: c.options.Version},
	}
}

// take returns the wanted names by type, as they are now.
func (c *Client) take() map[string]subscriptions {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.wanted) // Sets are replaced, never changed.
}

// added returns the names that a later version has and this one has not, or has with another number.
func (s subscriptions) added(later subscriptions) []string {
	var names []string
	for name, number := range later {
		if s[name] != number {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// removed returns the names that this version has and a later one has not, or has with another number.
func (s subscriptions) removed(later subscriptions) []string {
	var names []string
	for name, number := range s {
		if later[name] != number {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// toResponse returns the response of a message.
func toResponse(message *discoveryv3.DeltaDiscoveryResponse) Response {
	response := Response{TypeURL: message.GetTypeUrl(), Removed: message.GetRemovedResources()}
	for _, one := range message.GetResources() {
		response.Resources = append(response.Resources, Resource{
			Name: one.GetName(), Version: one.GetVersion(), Content: one.GetResource(),
		})
	}
	return response
}

// bearer is the value of the header authorization.
func bearer(token string) string { return "Bearer " + strings.TrimSpace(token) }
