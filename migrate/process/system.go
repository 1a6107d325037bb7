package process

import (
	"context"
	"fmt"
	"sync"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/middleware"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/provider/kubernetes"
	"github.com/sluiceproxy/sluice/provider/kubernetes/manifest"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/router/service"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// The names of the entrypoints, and of the provider of addresses of names.
const (
	plainEntryPoint, secureEntryPoint = "http", "https"
	namesProvider                     = "dns"
)

// compile reads the objects, activates their table, and makes the entrypoints.
func (p *Process) compile(ctx context.Context, options *Options, authority *authority) error {
	objects, err := newCluster(options, p.network, authority).objects()
	if err != nil {
		return err
	}
	config := options.Provider
	config.HTTPEntryPoint, config.HTTPSEntryPoint = plainEntryPoint, secureEntryPoint
	logger := telemetry.Discard{}
	own := p.options(options.EntryPoint)
	settings := own()
	config.Publish = false
	var once *pipeline.Pipeline
	clusters, err := kubernetes.New(kubernetes.Options{
		IngressNGINX: &config,
		EntryPoints:  map[string]*static.EntryPoint{plainEntryPoint: settings, secureEntryPoint: settings},
		Manifests:    manifest.NewServer(objects), Metrics: uncounted{}, Logger: logger,
		State: func() provider.State { return once.State().State },
	})
	if err != nil {
		return err
	}
	inherited := func(name string, port int) router.EntryPoint {
		return router.EntryPoint{
			Name: name, Port: port, Default: true, Policy: entrypoint.Policy(&settings.HTTP), Loopback: true,
			AnyForwarded: settings.ForwardedHeaders.Insecure,
		}
	}
	entrypoints := []router.EntryPoint{inherited(plainEntryPoint, 80), inherited(secureEntryPoint, 443)}
	target := router.NewActiveTable(entrypoints)
	p.target = target
	registry, mirrors := loadbalancer.NewRegistry(loadbalancer.Options{}), service.NewMirrors()
	builder := middleware.NewBuilder(middleware.Options{Logger: logger, Dial: p.network.authorize})
	p.release = append(p.release, mirrors.Close, builder.Close)
	names := &names{network: p.network, changed: make(chan struct{}, 1)}
	once = pipeline.New(pipeline.Options{
		Source: provider.NewHub(append(clusters.Entries(), provider.Entry{Name: namesProvider, Provider: names}),
			logger, provider.WithFirstStateTimeout(firstState)),
		Compiler: router.NewCompiler(router.Options{
			EntryPoints: entrypoints, Registry: registry, Mirrors: mirrors, Tickets: certificate.NewTickets(),
			Middlewares: builder, Dial: p.network.dial,
		}, target),
		Endpoints: registry, Logger: logger, Resolver: names, Files: builder.Files(),
	})
	if p.state, err = settle(ctx, once, clusters); err != nil {
		return err
	}
	p.closed = map[string]string{}
	for _, verdict := range p.state.Verdicts {
		if verdict.Ref.Kind == dynamic.KindRouter && verdict.Status == dynamic.Quarantined {
			p.closed[verdict.Ref.Name] = verdict.Reason
		}
	}
	for _, name := range []string{plainEntryPoint, secureEntryPoint} {
		p.entrypoints[name], err = entrypoint.New(name, own(), target.Handler(name), target.TLS(name),
			entrypoint.Dependencies{Logger: logger, Streams: target.Streams(name)})
		if err != nil {
			delete(p.entrypoints, name)
			return err
		}
	}
	return nil
}

// uncounted counts nothing.
type uncounted struct{}

// CountProvider implements kubernetes.Metrics.
func (uncounted) CountProvider(string, string, string, int) {}

// DropEvent implements kubernetes.Metrics.
func (uncounted) DropEvent() {}

// settle compiles the first state of all providers, while the cluster is watched.
func settle(ctx context.Context, once *pipeline.Pipeline, clusters *kubernetes.Clusters) (*pipeline.State, error) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { clusters.Watch(ctx) })
	state, err := once.Once(ctx, firstState)
	cancel()
	watching.Wait()
	if err != nil {
		return nil, err
	}
	for name, status := range state.Providers {
		if status.State != dynamic.StateSynced && name != namesProvider {
			return nil, fmt.Errorf("the provider %s has no state: %s", name, status.Reason)
		}
	}
	return state, nil
}

// options returns what makes the options of an entrypoint. Its clients say where they come from.
func (*Process) options(template *static.EntryPoint) func() *static.EntryPoint {
	return func() *static.EntryPoint {
		made := new(static.EntryPoint)
		if template != nil {
			*made = *template
		} else {
			made.SetDefaults()
		}
		made.Address = "127.0.0.1:0"
		made.ProxyProtocol = &static.ProxyProtocol{Insecure: true, TrustedIPs: []forwarded.Range{}}
		made.Transport.LifeCycle = static.LifeCycle{}
		return made
	}
}

// names gives names of DNS addresses of the network.
type names struct {
	network *network
	changed chan struct{}

	mu     sync.Mutex
	wanted []string
}

// Watch implements pipeline.Resolver.
func (n *names) Watch(keys []string) {
	n.mu.Lock()
	n.wanted = append([]string(nil), keys...)
	n.mu.Unlock()
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// Provide implements provider.Provider.
func (n *names) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	message := dynamic.Message{Provider: namesProvider, Configuration: &dynamic.Configuration{}}
	for {
		select {
		case messages <- message:
		case <-ctx.Done():
			return nil
		}
		select {
		case <-n.changed:
		case <-ctx.Done():
			return nil
		}
		n.mu.Lock()
		message = dynamic.Message{Provider: namesProvider}
		for _, key := range n.wanted {
			message.Endpoints = append(message.Endpoints, n.network.resolve(key))
		}
		n.mu.Unlock()
	}
}
