package injector

import (
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/inject"
	"github.com/sluiceproxy/sluice/inject/authority"
	"github.com/sluiceproxy/sluice/inject/registration"
	"github.com/sluiceproxy/sluice/inject/source"
	"github.com/sluiceproxy/sluice/inject/webhook"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
)

// sourceName is what the connection to the cluster is called.
const sourceName = "injector"

// connect prepares the connection to the cluster, if anything of it is needed.
func (i *Injector) connect() error {
	config := i.options.Config
	if config.TLS != nil && config.ConfigMap == "" && !config.Events && config.Enforce == nil {
		return nil
	}
	var err error
	i.cluster, err = client.Connect(i.options.Cluster, sourceName, i.options.Logger, registration.Scheme)
	return err
}

// secure prepares the certificate: from files, or of an authority of its own.
func (i *Injector) secure() error {
	config := i.options.Config
	if config.TLS != nil {
		files, err := authority.NewFiles(config.TLS.CertFile, config.TLS.KeyFile, i.options.Logger)
		if err != nil {
			return err
		}
		i.certificates, i.present = files, files.GetCertificate
		return nil
	}
	store, err := authority.NewSecretStore(i.cluster, i.namespace, config.Secret)
	if err != nil {
		return err
	}
	i.keeper = authority.NewKeeper(authority.Options{
		Store: store, Names: i.names(), Confirmed: config.WebhookConfiguration != "",
		Meter: i.options.Meter, Logger: i.options.Logger,
	})
	i.certificates, i.present = i.keeper, i.keeper.GetCertificate
	return nil
}

// register prepares what keeps the MutatingWebhookConfiguration.
func (i *Injector) register() error {
	config := i.options.Config
	if config.WebhookConfiguration == "" || i.keeper == nil && config.Enforce == nil {
		return nil
	}
	service := registration.Service{Namespace: i.namespace, Name: config.Service}
	options := registration.Options{
		Name: config.WebhookConfiguration, Webhooks: config.Webhooks, Service: service,
		Meter: i.options.Meter, Logger: i.options.Logger,
	}
	if i.keeper != nil {
		options.Bundles = i.keeper
	}
	var err error
	if i.registration, err = registration.New(i.cluster, options); err != nil || config.Enforce == nil {
		return err
	}
	leases, err := i.cluster.REST(coordinationv1.SchemeGroupVersion)
	if err != nil {
		return err
	}
	pods, err := i.cluster.REST(corev1.SchemeGroupVersion)
	if err != nil {
		return err
	}
	identity, err := registration.Identity()
	if err != nil {
		return fmt.Errorf("enforce: the name of the Lease of this replica: %w", err)
	}
	i.enforcer = registration.NewEnforcer(registration.EnforcerOptions{
		Registration: i.registration, Replicas: registration.NewReplicas(leases, service, identity), Pods: pods,
		Canary: registration.Canary{Namespace: config.Enforce.Namespace, Labels: config.Enforce.Labels},
		Ready:  i.Ready, Meter: i.options.Meter, Logger: i.options.Logger,
	})
	return nil
}

// read prepares the source of the configuration.
func (i *Injector) read() error {
	var origin source.Origin[*inject.Configuration]
	if i.options.Config.ConfigMap != "" {
		namespace, name := i.configMap()
		origin = source.NewConfigMap(i.cluster, namespace, name, inject.Parse)
	} else {
		origin = source.NewFiles(i.options.Config.Config, inject.Load, i.options.Logger)
	}
	i.source = source.New(origin, i.options.Meter, i.options.Logger)
	return nil
}

// record prepares the Events.
func (i *Injector) record() error {
	if !i.options.Config.Events {
		return nil
	}
	var err error
	i.events, err = webhook.NewEvents(i.cluster, i.options.Meter, i.options.Logger)
	return err
}
