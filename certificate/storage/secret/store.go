// Package secret keeps certificates in Secrets of one namespace of Kubernetes.
//
// A certificate is a Secret of type kubernetes.io/tls, every other value one of type Opaque with the key value. All
// have the label sluice.dev/certificates with the kind of value, and are called sluice-KIND-HASH. Their annotation
// sluice.dev/key names the value (kind:resolver:id, escaped); sluice.dev/resolver and sluice.dev/names are for people,
// apart from the names of a certificate, which are read. A Secret without the label is never changed.
//
// The leader has the Lease sluice-certificates. The rights that are needed, in this namespace: get, list, watch,
// create, update and delete Secrets; create Leases, and get and update that one.
package secret

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/election"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// timeout bounds one operation.
	timeout = 10 * time.Second
	// attempts is how often a write is tried when another instance was faster.
	attempts = 5
	// leaseName is the name of the leader's Lease.
	leaseName = "sluice-certificates"
	// pause is the time between two terms of a leader whose function has returned.
	pause = time.Second
)

// Options are the dependencies of a Store.
type Options struct {
	// Cluster says how the cluster is reached; the zero value is that which Sluice runs in, or that of KUBECONFIG.
	Cluster client.Options
	// Logger is needed.
	Logger telemetry.Logger
}

// Store is a storage.Store in Secrets.
type Store struct {
	namespace string
	logger    telemetry.Logger
	secrets   rest.Interface
	cluster   *client.Cluster
	view      view
}

// Open returns the store in a namespace; empty means Sluice's own. It reads the namespace's Secrets with its label
// until ctx ends. It fails when no cluster is named anywhere, and makes no request.
func Open(ctx context.Context, namespace string, options Options) (*Store, error) {
	if namespace == "" {
		namespace = election.OwnNamespace()
	}
	cluster, err := client.Connect(options.Cluster, "certificates", options.Logger)
	if err != nil {
		return nil, err
	}
	secrets, err := cluster.REST(corev1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	s := &Store{namespace: namespace, logger: options.Logger, secrets: secrets, cluster: cluster}
	s.view.init(s, client.Watch(cluster, client.Resource[*corev1.Secret]{
		GroupVersion: corev1.SchemeGroupVersion, Name: resource, Kind: "Secret", Namespaced: true,
		NewList: func() runtime.Object { return &corev1.SecretList{} }, LabelSelector: label,
	}, client.Scope{Namespaces: []string{namespace}}))
	go func() { _ = cluster.Run(ctx) }() // It fails only when it runs already.
	return s, nil
}

// failed names what an operation was about. The errors of an API server name an object and what is wrong about it.
func (s *Store) failed(name string, err error) error {
	return fmt.Errorf("secret %s/%s: %w", s.namespace, name, err)
}

// read returns a Secret, and nil if there is none. One without the label is an error.
func (s *Store) read(ctx context.Context, name string) (*corev1.Secret, error) {
	found := &corev1.Secret{}
	err := s.secrets.Get().Namespace(s.namespace).Resource(resource).Name(name).MaxRetries(0).Do(ctx).Into(found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if found.Labels[label] == "" {
		return nil, fmt.Errorf("it exists without the label %s, so it is not Sluice's", label)
	}
	return found, nil
}

// Get reads a value from the API server.
func (s *Store) Get(ctx context.Context, key storage.Key) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	name := nameOf(key)
	found, err := s.read(ctx, name)
	if err == nil && found == nil {
		err = fs.ErrNotExist
	}
	var value []byte
	if err == nil {
		_, value, err = decode(found)
	}
	if err != nil {
		return nil, s.failed(name, err)
	}
	return value, nil
}

// Put sets a value. A certificate must have its ID.
func (s *Store) Put(ctx context.Context, key storage.Key, value []byte) error {
	wanted, err := encode(key, value)
	if err != nil {
		return s.failed(nameOf(key), err)
	}
	return s.retry(ctx, wanted.Name, func(ctx context.Context) error { return s.put(ctx, wanted) })
}

// put creates or replaces a Secret. Labels and annotations of others are kept.
func (s *Store) put(ctx context.Context, wanted *corev1.Secret) error {
	found, err := s.read(ctx, wanted.Name)
	if err != nil {
		return err
	}
	if found == nil {
		return s.secrets.Post().Namespace(s.namespace).Resource(resource).Body(wanted).MaxRetries(0).Do(ctx).Error()
	}
	if found.Annotations == nil {
		found.Annotations = map[string]string{}
	}
	found.Labels[label] = wanted.Labels[label]
	for _, name := range []string{annotationKey, annotationResolver, annotationNames} {
		if value, ok := wanted.Annotations[name]; ok {
			found.Annotations[name] = value
		} else {
			delete(found.Annotations, name)
		}
	}
	found.Data = wanted.Data
	return s.secrets.Put().Namespace(s.namespace).Resource(resource).Name(wanted.Name).Body(found).MaxRetries(0).
		Do(ctx).Error()
}

// Delete deletes a value.
func (s *Store) Delete(ctx context.Context, key storage.Key) error {
	name := nameOf(key)
	return s.retry(ctx, name, func(ctx context.Context) error {
		found, err := s.read(ctx, name)
		if err != nil || found == nil {
			return err
		}
		options := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &found.UID}}
		err = s.secrets.Delete().Namespace(s.namespace).Resource(resource).Name(name).Body(options).MaxRetries(0).
			Do(ctx).Error()
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// retry writes again while another instance was faster.
func (s *Store) retry(ctx context.Context, name string, write func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var err error
	for range attempts {
		err = write(ctx)
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			break
		}
	}
	if err != nil {
		return s.failed(name, err)
	}
	return nil
}

// Lead elects a leader by a Lease, which is given back when lead returns. A leader that dies is replaced after 15 to
// 18 s.
func (s *Store) Lead(ctx context.Context, lead func(ctx context.Context)) error {
	note := &notes{logger: s.logger}
	for ctx.Err() == nil {
		one, err := election.New(election.Options{
			Clients: s.cluster, Namespace: s.namespace, Name: leaseName, Note: note.take,
		})
		if err != nil {
			return err
		}
		term, end := context.WithCancel(ctx)
		err = one.Run(term, func(leading context.Context) {
			defer end()
			lead(leading)
		})
		end()
		if err != nil {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
	return nil
}

// notes logs once that requests for the Lease are refused.
type notes struct {
	logger telemetry.Logger

	mu      sync.Mutex
	refused bool
}

func (n *notes) take(verb, resource, namespace string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if refused := apierrors.IsForbidden(err); refused && !n.refused {
		n.refused = true
		n.logger.Warn("no instance leads for certificates, because a permission is missing; it is retried",
			"reason", "may not "+verb+" "+resource, "namespace", namespace)
	} else if n.refused && err == nil && !errors.Is(err, context.Canceled) {
		n.refused = false
		n.logger.Info("the Lease for certificates may be written now", "namespace", namespace)
	}
}
