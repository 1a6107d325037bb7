// Package xds reads services from an xDS server: another Sluice with the option xds.
//
// It subscribes by name. A request for a host that no router has (Provider.Discover) asks for the listener of that host
// and port, and waits for it; so a Sluice beside an application holds what that application calls, and not the whole
// cluster. A listener becomes a router, its route and clusters become services, and EDS resources become endpoint sets.
// Listeners that have had no request for a while are dropped.
//
// Only what Sluice publishes is read (package xds/resource). A resource with anything else is rejected, with a verdict,
// and the last one stays in use; so does everything while the server cannot be reached.
package xds

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/clienttls"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
	"github.com/sluiceproxy/sluice/xds/client"
)

// Name is the part behind @ in the names of the provider's objects.
const Name = "xds"

// Usage counts the requests of routers; metrics.Metrics does.
type Usage interface {
	// Traffic returns the counts of the named objects.
	Traffic(kind metrics.TrafficKind, names []string) []metrics.Traffic
}

// Provider reads from one server. Discover may be called from any goroutine.
type Provider struct {
	config static.XDSProvider
	logger telemetry.Logger
	usage  Usage
	client client.Options
	names  *names
}

// New returns a provider. Usage may be nil: discovered listeners are then dropped some time after their discovery. It
// fails when the certificates cannot be read.
func New(config static.XDSProvider, version string, usage Usage, logger telemetry.Logger) (*Provider, error) {
	config.Names = shortNames(config.Names)
	p := &Provider{config: config, logger: logger, usage: usage, names: newNames(config)}
	p.client = client.Options{
		Address: config.Address, Node: config.Node, Agent: "sluice", Version: version,
		TLS: p.readTLS, Token: p.readToken,
	}
	if p.client.Node == "" {
		p.client.Node, _ = os.Hostname() // An empty name is shown as such.
	}
	_, err := p.readTLS()
	return p, err
}

// readTLS returns the TLS configuration of a new connection; nil without the option.
func (p *Provider) readTLS() (*tls.Config, error) {
	options := p.config.TLS
	if options == nil {
		return nil, nil
	}
	return clienttls.New("providers.xds.tls", &clienttls.Options{
		CA: options.CA, Cert: options.Cert, Key: options.Key, InsecureSkipVerify: options.InsecureSkipVerify,
	}, nil)
}

// readToken returns the token of a new stream; empty without the option.
func (p *Provider) readToken() (string, error) {
	if p.config.TokenFile == "" {
		return "", nil
	}
	token, err := os.ReadFile(p.config.TokenFile)
	if err != nil {
		return "", fmt.Errorf("providers.xds.tokenFile: %w", err)
	}
	return strings.TrimSpace(string(token)), nil
}

// Discover requests the listener of a host and port, and waits until its router has been sent on. It is not known if
// the server has no such listener, and an error says that this is not known in time.
func (p *Provider) Discover(ctx context.Context, host string, port uint16) (known bool, err error) {
	of, ok := parseHost(host, p.config.Namespace)
	if !ok {
		return false, nil
	}
	return p.names.discover(ctx, of.listener(strconv.Itoa(int(port))))
}

// Provide implements provider.Provider. The first state is sent when the server has answered for the configured names.
func (p *Provider) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	ctx, cancel := context.WithCancel(ctx)
	inbox, ended := make(chan event), make(chan struct{})
	subscriber := client.New(p.client)
	loop := newLoop(p, subscriber)
	loop.tree.Follow(p.names.list())
	go func() {
		defer close(ended)
		subscriber.Run(ctx, consumer{ctx, inbox})
	}()
	defer func() {
		cancel()
		<-ended
	}()
	idle := time.NewTicker(idleTick(time.Duration(p.config.IdleTimeout)))
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case next := <-inbox:
			loop.take(next)
		case <-p.names.wake:
		case now := <-idle.C:
			loop.dropIdle(now)
		}
		message, changed := loop.step()
		if !changed {
			continue
		}
		select {
		case messages <- message:
			loop.sent()
		case <-ctx.Done():
			return nil
		}
	}
}

// idleTick returns how often unused listeners are looked for.
func idleTick(timeout time.Duration) time.Duration {
	const longest = time.Minute
	if timeout <= 0 {
		return longest
	}
	return min(max(timeout/4, time.Second), longest)
}

// event is what the client's goroutine passes to the loop: a response, or the state of the stream.
type event struct {
	response *client.Response
	reply    chan<- error // for a response
	failed   error
}

// consumer passes what the client receives to the loop.
type consumer struct {
	ctx   context.Context
	inbox chan<- event
}

// Receive implements client.Consumer.
func (c consumer) Receive(response client.Response) error {
	reply := make(chan error, 1)
	select {
	case c.inbox <- event{response: &response, reply: reply}:
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
	select {
	case err := <-reply:
		return err
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

// Connected implements client.Consumer.
func (c consumer) Connected(err error) {
	select {
	case c.inbox <- event{failed: err}:
	case <-c.ctx.Done():
	}
}
