package source

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
)

// The keys of a ConfigMap.
const (
	configKey = "config"
	valuesKey = "values"
)

// ConfigMap is a configuration in a ConfigMap of the cluster, under the keys config and values, of which values may be
// missing.
type ConfigMap[T any] struct {
	namespace, name string
	parse           func(config, values []byte) (T, error)
	watched         *client.Watched[*corev1.ConfigMap]
	version         string

	mu     sync.Mutex
	notify func()
}

// NewConfigMap returns the configuration in a ConfigMap, which is watched while the cluster runs and which parse reads.
func NewConfigMap[T any](
	cluster *client.Cluster, namespace, name string, parse func(config, values []byte) (T, error),
) *ConfigMap[T] {
	c := &ConfigMap[T]{namespace: namespace, name: name, parse: parse}
	c.watched = client.Watch(cluster, client.Resource[*corev1.ConfigMap]{
		GroupVersion: corev1.SchemeGroupVersion, Name: "configmaps", Kind: "ConfigMap", Namespaced: true,
		NewList: func() runtime.Object { return &corev1.ConfigMapList{} }, FieldSelector: "metadata.name=" + name,
	}, client.Scope{Namespaces: []string{namespace}})
	c.watched.Notify(func(_, _ *corev1.ConfigMap) { c.changed() })
	cluster.OnStatus(c.changed)
	return c
}

func (c *ConfigMap[T]) changed() {
	c.mu.Lock()
	notify := c.notify
	c.mu.Unlock()
	if notify != nil {
		notify()
	}
}

// Read parses the ConfigMap if it has changed. A ConfigMap that is gone is an error, and the last good configuration
// stays in use.
func (c *ConfigMap[T]) Read() (configuration T, changed bool, err error) {
	object, found := c.watched.Get(c.namespace, c.name)
	if !found {
		c.version = ""
		status := c.watched.Status()
		if status.State == dynamic.StatePending {
			return configuration, false, nil
		}
		reason := status.Reason
		if reason == "" {
			reason = "it does not exist"
		}
		return configuration, false, fmt.Errorf("ConfigMap %s/%s: %s", c.namespace, c.name, reason)
	}
	if object.ResourceVersion == c.version {
		return configuration, false, nil
	}
	configuration, err = c.parse([]byte(object.Data[configKey]), []byte(object.Data[valuesKey]))
	if err != nil {
		return configuration, false, fmt.Errorf("ConfigMap %s/%s: %w", c.namespace, c.name, err)
	}
	c.version = object.ResourceVersion
	return configuration, true, nil
}

// Run has notify called for changes until ctx ends.
func (c *ConfigMap[T]) Run(ctx context.Context, notify func()) {
	c.mu.Lock()
	c.notify = notify
	c.mu.Unlock()
	notify()
	<-ctx.Done()
	c.mu.Lock()
	c.notify = nil
	c.mu.Unlock()
}
