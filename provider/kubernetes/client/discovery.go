package client

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

const (
	// discoveryAge is how long an answer of the discovery API holds, so that all kinds of one group share a request.
	discoveryAge = time.Second
	// discoveryTimeout is how long one request may take.
	discoveryTimeout = 10 * time.Second
)

// discovery finds out which resources the API server serves. Every authenticated client may read that; without
// permission for a resource, reading it gives the same error whether it exists or not.
type discovery struct {
	client func(schema.GroupVersion) (rest.Interface, error)

	mu       sync.Mutex
	versions map[schema.GroupVersion]*served
}

// served is the last answer for one group and version.
type served struct {
	mu        sync.Mutex
	when      time.Time
	resources map[string]bool
	err       error
}

func newDiscovery(client func(schema.GroupVersion) (rest.Interface, error)) *discovery {
	return &discovery{client: client, versions: map[schema.GroupVersion]*served{}}
}

// serves reports whether the API server serves a resource. If that is unknown, it counts as served, and reading it
// decides.
func (d *discovery) serves(ctx context.Context, version schema.GroupVersion, resource string) (bool, error) {
	d.mu.Lock()
	one := d.versions[version]
	if one == nil {
		one = &served{}
		d.versions[version] = one
	}
	d.mu.Unlock()
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.when.IsZero() || time.Since(one.when) > discoveryAge {
		one.resources, one.err = d.request(ctx, version)
		one.when = time.Now()
		if ctx.Err() != nil {
			one.when = time.Time{} // The request was given up before its response.
		}
	}
	return one.resources == nil || one.resources[resource], one.err
}

// request sends the request. The resources are nil if discovery is not permitted.
func (d *discovery) request(ctx context.Context, version schema.GroupVersion) (map[string]bool, error) {
	client, err := d.client(version)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	path := "/apis/" + version.String()
	if version.Group == "" {
		path = "/api/" + version.Version
	}
	body, err := client.Get().AbsPath(path).SetHeader("Accept", "application/json").MaxRetries(0).DoRaw(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return map[string]bool{}, d.speaks(ctx, version, err)
	case apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("asking for the resources of %s: %w", version, err)
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("reading the resources of %s: %w", version, err)
	}
	resources := make(map[string]bool, len(list.APIResources))
	for _, resource := range list.APIResources {
		resources[resource.Name] = true
	}
	return resources, nil
}

// speaks returns an error if a response that a version is not found does not come from an API server. A proxy without
// API servers, or a wrong address, answers 404 to everything, which must not count as absence. Every cluster serves the
// core API.
func (d *discovery) speaks(ctx context.Context, version schema.GroupVersion, notFound error) error {
	if version != corev1.SchemeGroupVersion {
		_, err := d.serves(ctx, corev1.SchemeGroupVersion, "services")
		return err
	}
	return fmt.Errorf("no Kubernetes API server answers: it would serve the core API: %w", notFound)
}
