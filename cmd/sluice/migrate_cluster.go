package main

import (
	"context"

	objects "github.com/sluiceproxy/sluice/migrate/source"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/telemetry"
)

// readCluster reads the objects of the cluster that the flags, the options of the provider or the environment name.
func (m *migration) readCluster(ctx context.Context, f *migrateFlags) error {
	cluster, err := client.Connect(client.Options{
		Endpoint: m.provider.Endpoint, Token: m.provider.Token, CertAuthFilePath: m.provider.CertAuthFilePath,
		Kubeconfig: *f.kubeconfig, Context: *f.context,
	}, "kubernetes", telemetry.Discard{})
	if err != nil {
		return err
	}
	read, missing, err := objects.List(ctx, cluster, m.provider.WatchNamespace)
	if err != nil {
		return err
	}
	m.objects = read
	if m.provider.WatchNamespaceSelector != "" {
		if read.Namespaces, err = objects.ListNamespaces(ctx, cluster); err != nil {
			return err
		}
	}
	m.note("Read: the cluster%s", prefixed(" of the context ", *f.context))
	for _, one := range missing {
		m.note("Not read, and presumed to be as the Ingresses need it: %s", one)
	}
	return nil
}

// prefixed returns a text behind a prefix; empty for an empty one.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}
