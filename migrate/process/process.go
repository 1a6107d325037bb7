// Package process runs Sluice inside of the own process, and has it answer probes.
//
// Objects of a cluster are read by the providers of Kubernetes, compiled, and served by entrypoints on loopback, as the
// command does it. Services and their endpoints have addresses of 198.18.0.0/15 (RFC 2544); connections to them, and to
// all other servers that the objects name, lead to one server in the process. Nothing outside of it is contacted, and
// no name is resolved.
package process

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/migrate/source"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
)

// Options are what is served.
type Options struct {
	// Objects are those of the cluster. Kinds of which there is no object are presumed to be as Ingresses need them:
	// Services have endpoints, Secrets and ConfigMaps exist, and the class is there. Namespaces are needed where the
	// provider selects by their labels.
	Objects *source.Objects
	// Secrets have the values of Secrets of Objects. Those of others are made up: certificates are issued by an authority
	// of the process, and no password is right.
	Secrets []*corev1.Secret
	// Provider is providers.kubernetesIngressNGINX.
	Provider static.KubernetesNGINX
	// EntryPoint has the options of the entrypoints; nil for the defaults. Address and PROXY protocol are the process's
	// own.
	EntryPoint *static.EntryPoint
	// Handler answers in place of all endpoints and other servers; nil answers 200 to every request, except for requests
	// of an external authentication without Authorization and Cookie, which are answered 401. EndpointOf returns what was
	// connected to.
	Handler http.Handler
	// Certificate returns that of the endpoints that are connected to with TLS; nil for one of the process's authority,
	// for the name of the handshake.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Resolves reports whether a name of DNS has an address; nil for all names.
	Resolves func(name string) bool
	// Taken is how many addresses of endpoints are passed over, for one that has other addresses than an earlier one.
	Taken int
}

// firstState is how long the providers may take for their first state, also with thousands of Ingresses on a busy
// machine. They read what is in the process.
const firstState = 5 * time.Minute

// Process is a Sluice that serves. Its methods may be called by several goroutines.
type Process struct {
	network *network
	sender  sender
	target  *router.ActiveTable
	state   *pipeline.State
	// closed are the reasons of routers that are quarantined, by their names.
	closed      map[string]string
	entrypoints map[string]*entrypoint.Entrypoint // by scheme
	stop        context.CancelFunc
	serving     sync.WaitGroup
	release     []func()

	mu     sync.Mutex
	failed error
}

// Start compiles the objects, and listens. The context bounds the start alone; Close ends the process.
func Start(ctx context.Context, options Options) (_ *Process, err error) {
	authority, err := newAuthority()
	if err != nil {
		return nil, err
	}
	p := &Process{entrypoints: map[string]*entrypoint.Entrypoint{}, stop: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if p.network, err = listen(ctx, &options, authority); err != nil {
		return nil, err
	}
	if err := p.compile(ctx, &options, authority); err != nil {
		return nil, err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	for scheme, one := range p.entrypoints {
		if err := one.Listen(ctx); err != nil {
			return nil, err
		}
		p.serving.Go(func() {
			if err := one.Serve(serving); err != nil {
				p.fail(fmt.Errorf("%s: %w", scheme, err))
			}
		})
	}
	p.sender = sender{address: p.Address, arrived: p.network.take, idle: map[connectionKey][]*clientConn{}}
	return p, nil
}

// Address returns where a scheme, http or https, is served. Connections begin with a header of the PROXY protocol.
func (p *Process) Address(scheme string) net.Addr { return p.entrypoints[scheme].Addr() }

// Verdicts are those on objects that are not accepted as declared.
func (p *Process) Verdicts() []dynamic.Verdict { return p.state.Verdicts }

// Configuration returns what Sluice makes of the objects, with the verdicts. Its entrypoints are http and https, and
// values of Secrets that were not given are made up.
func (p *Process) Configuration() *dynamic.Configuration {
	made := *p.state.Configuration
	made.Verdicts = p.state.Verdicts
	return &made
}

func (p *Process) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = errors.Join(p.failed, err)
}

// Close ends everything, and waits for it. The error is one of serving.
func (p *Process) Close() error {
	p.sender.close()
	p.stop()
	p.serving.Wait()
	for _, one := range p.entrypoints {
		_ = one.Close() // One that has served is closed already.
	}
	for _, release := range p.release {
		release()
	}
	if p.network != nil {
		p.network.close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}
