// Package injector runs the admission webhook of the static option injector: it puts the packages webhook, authority,
// registration and source together, in the order in which they begin and end.
//
// When it stops, /ready answers 503 first, then the last replica sets failurePolicy Ignore, and reviews are answered
// until API servers have noticed.
package injector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/inject"
	"github.com/sluiceproxy/sluice/inject/authority"
	"github.com/sluiceproxy/sluice/inject/registration"
	"github.com/sluiceproxy/sluice/inject/source"
	"github.com/sluiceproxy/sluice/inject/webhook"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Meter counts everything; *metrics.Injector does.
type Meter interface {
	webhook.Meter
	webhook.DropMeter
	authority.Meter
	registration.Meter
	source.Meter
}

// Options are the dependencies of an Injector.
type Options struct {
	Config *static.Injector
	// Cluster is where the cluster is; it is not used where nothing of it is needed.
	Cluster client.Options
	// Namespace is that of this process, for options that name none.
	Namespace string
	// Metrics is the page /metrics of statusAddress.
	Metrics http.Handler
	Meter   Meter
	Logger  telemetry.Logger
	// Listen opens listeners; nil opens those of the system.
	Listen Listen
	// Replaced is the cause with which the context of Run ends where another process answers on the same sockets; nil
	// where there is none.
	Replaced error
}

// Listen opens the listener of the address of an option, [host]:port.
type Listen func(ctx context.Context, option, address string) (net.Listener, error)

// listen opens a listener of the system.
func listen(ctx context.Context, _, address string) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", address)
}

// certificates presents a certificate; *authority.Keeper and *authority.Files do.
type certificates interface {
	// NotAfter returns when the certificate and its authority end.
	NotAfter() (leaf, authority time.Time)
	// Ready returns why connections cannot be verified; nil when they can.
	Ready() error
}

// Injector is the webhook with everything around it. Its methods may be called from any goroutine; Listen and then Run
// once.
type Injector struct {
	options      Options
	namespace    string
	handler      *webhook.Handler
	server       *webhook.Server
	source       *source.Source[*inject.Configuration]
	certificates certificates
	present      webhook.GetCertificate
	// These are nil where they are not needed.
	cluster      *client.Cluster
	events       *webhook.Events
	keeper       *authority.Keeper
	registration *registration.Registration
	enforcer     *registration.Enforcer

	listener, status net.Listener
}

// New returns an injector that has made no request. It fails when no cluster is named though one is needed, and when
// the certificate of a file does not load.
func New(options Options) (*Injector, error) {
	i := &Injector{options: options, namespace: options.Config.Namespace}
	if options.Listen == nil {
		i.options.Listen = listen
	}
	if i.namespace == "" {
		i.namespace = options.Namespace
	}
	for _, prepare := range []func() error{i.connect, i.secure, i.register, i.read, i.record} {
		if err := prepare(); err != nil {
			return nil, fmt.Errorf("injector: %w", err)
		}
	}
	config := options.Config
	handling := webhook.Options{
		Injector: func() webhook.Injector {
			if current, ok := i.source.Current(); ok {
				return current
			}
			return nil
		},
		OnError: webhook.OnError(config.OnError), NativeSidecars: config.NativeSidecars,
		MaxConcurrent: config.MaxConcurrentReviews, Meter: options.Meter, Logger: options.Logger,
	}
	if i.events != nil {
		handling.Events = i.events
	}
	i.handler = webhook.NewHandler(handling)
	i.server = webhook.NewServer(webhook.ServerOptions{
		Handler: i.handler, Certificate: i.present, Ready: i.Ready, Logger: options.Logger,
	})
	return i, nil
}

// Ready returns why reviews cannot be answered; nil when they can.
func (i *Injector) Ready() error {
	if _, ok := i.source.Current(); !ok {
		return errors.New("there is no configuration yet")
	}
	return i.certificates.Ready()
}

// NotAfter returns when the certificate and its authority end; zero for what there is not.
func (i *Injector) NotAfter() (leaf, authority time.Time) { return i.certificates.NotAfter() }

// Status returns what operators see.
func (i *Injector) Status() webhook.Status {
	status := i.handler.Status()
	status.CertificateNotAfter, status.AuthorityNotAfter = i.certificates.NotAfter()
	if err := i.Ready(); err != nil {
		status.NotReady = err.Error()
	}
	last := i.source.Last()
	status.Reload.At = last.At
	if last.Err != nil {
		status.Reload.Error = last.Err.Error()
	}
	return status
}

// showStatus answers with the status as JSON, as the API of the router does.
func (i *Injector) showStatus(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if err := json.NewEncoder(w).Encode(i.Status()); err != nil {
		i.options.Logger.Debug("the status could not be written", "error", err)
	}
}

// Listen opens the listeners. It fails when an address is in use.
func (i *Injector) Listen(ctx context.Context) error {
	open, err := i.options.Listen, error(nil)
	if i.listener, err = open(ctx, "injector.address", i.options.Config.Address); err != nil {
		return fmt.Errorf("injector.address: %w", err)
	}
	i.options.Logger.Info("listening", "address", i.listener.Addr().String(), "protocol", "admission")
	if i.options.Config.StatusAddress == "" {
		return nil
	}
	if i.status, err = open(ctx, "injector.statusAddress", i.options.Config.StatusAddress); err != nil {
		_ = i.listener.Close()
		return fmt.Errorf("injector.statusAddress: %w", err)
	}
	i.options.Logger.Info("listening", "address", i.status.Addr().String(), "protocol", "status")
	return nil
}

// Run answers reviews until ctx ends and the webhook has drained. It fails when a listener fails. Where another process
// answers then (Options.Replaced), the pages go on as before, and the replica leaves after it has drained: the other
// one is registered by then.
func (i *Injector) Run(ctx context.Context) error {
	behind, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel()
	for _, task := range i.tasks() {
		tasks.Go(func() { task(behind) })
	}
	serving, stop := context.WithCancelCause(behind)
	defer stop(nil)
	enforced, release := context.WithCancel(ctx)
	defer release()
	var enforcing sync.WaitGroup
	if i.enforcer != nil {
		enforcing.Go(func() { i.enforcer.Run(enforced) })
	}
	var servers sync.WaitGroup
	servers.Go(func() { i.serve(stop, i.server.Serve(serving, i.listener)) })
	if i.status != nil {
		pages := i.server.Health()
		pages.Handle("GET /metrics", i.options.Metrics)
		pages.HandleFunc("GET /api/injector", i.showStatus)
		servers.Go(func() { i.serve(stop, webhook.ServePlain(serving, i.status, pages, i.options.Logger)) })
	}
	select {
	case <-ctx.Done():
	case <-serving.Done(): // A listener has failed.
	}
	release()
	enforcing.Wait()
	if i.options.Replaced != nil && errors.Is(context.Cause(ctx), i.options.Replaced) {
		i.server.EndConnections()
		i.drain(serving)
		i.leave(behind)
	} else {
		i.server.Drain()
		i.leave(behind)
		i.drain(serving)
	}
	stop(nil)
	servers.Wait()
	if cause := context.Cause(serving); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// serve takes the end of a server.
func (i *Injector) serve(stop context.CancelCauseFunc, err error) {
	if err != nil {
		stop(err)
	}
}

// tasks returns what runs as long as reviews are answered.
func (i *Injector) tasks() []func(context.Context) {
	tasks := []func(context.Context){i.source.Run}
	if i.cluster != nil {
		tasks = append(tasks, func(ctx context.Context) { _ = i.cluster.Run(ctx) }) // It does not run twice.
	}
	if i.events != nil {
		tasks = append(tasks, i.events.Run)
	}
	if i.keeper != nil {
		tasks = append(tasks, i.keeper.Run)
	}
	if i.registration != nil {
		tasks = append(tasks, i.registration.Run)
	}
	return tasks
}

// leaveTimeout is how long it may take to leave the other replicas.
const leaveTimeout = 20 * time.Second

// leave leaves the other replicas.
func (i *Injector) leave(ctx context.Context) {
	if i.enforcer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	if last, err := i.enforcer.Leave(ctx); err != nil {
		i.options.Logger.Error("failurePolicy cannot be set back; it stays as it is", "last", last, "error", err)
	}
}

// drain waits until API servers send no more reviews, or until ctx ends since there is no listener any more.
func (i *Injector) drain(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	i.options.Logger.Info("stopping: the webhook drains", "for", time.Duration(i.options.Config.DrainTimeout).String())
	timer := time.NewTimer(time.Duration(i.options.Config.DrainTimeout))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// names returns the names in the certificate.
func (i *Injector) names() []string {
	var names []string
	if service := i.options.Config.Service; service != "" {
		names = append(names, service+"."+i.namespace+".svc", service+"."+i.namespace, service)
	}
	return append(names, i.options.Config.ServerNames...)
}

// configMap returns namespace and name of the ConfigMap.
func (i *Injector) configMap() (namespace, name string) {
	namespace, name, found := strings.Cut(i.options.Config.ConfigMap, "/")
	if !found {
		return i.namespace, namespace
	}
	return namespace, name
}
