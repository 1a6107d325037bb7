package authority

import (
	"context"
	"fmt"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
)

// secrets is the resource of Secrets.
const secrets = "secrets"

// managedBy is the value of the label app.kubernetes.io/managed-by of the Secret.
const managedBy = "sluice-injector"

// SecretStore keeps authorities in a Secret of a cluster. Other keys of the Secret stay as they are.
type SecretStore struct {
	client          rest.Interface
	namespace, name string
	changed         chan struct{}

	mu   sync.Mutex
	last *corev1.Secret // as it was read; nil when there is none
}

// NewSecretStore returns the store of a Secret, which is watched while the cluster runs.
func NewSecretStore(cluster *client.Cluster, namespace, name string) (*SecretStore, error) {
	core, err := cluster.REST(corev1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	s := &SecretStore{client: core, namespace: namespace, name: name, changed: make(chan struct{}, 1)}
	client.Watch(cluster, client.Resource[*corev1.Secret]{
		GroupVersion: corev1.SchemeGroupVersion, Name: secrets, Kind: "Secret", Namespaced: true,
		NewList: func() runtime.Object { return &corev1.SecretList{} }, FieldSelector: "metadata.name=" + name,
	}, client.Scope{Namespaces: []string{namespace}}).Notify(func(*corev1.Secret, *corev1.Secret) { notify(s.changed) })
	return s, nil
}

// Changed receives when the Secret may have changed.
func (s *SecretStore) Changed() <-chan struct{} { return s.changed }

// Read returns the content of the Secret.
func (s *SecretStore) Read(ctx context.Context) (Content, error) {
	secret := &corev1.Secret{}
	err := s.client.Get().Namespace(s.namespace).Resource(secrets).Name(s.name).MaxRetries(0).Do(ctx).Into(secret)
	s.mu.Lock()
	defer s.mu.Unlock()
	if apierrors.IsNotFound(err) {
		s.last = nil
		return Content{}, nil
	}
	if err != nil {
		return Content{}, fmt.Errorf("secret %s/%s: %w", s.namespace, s.name, err)
	}
	s.last = secret
	return Content{Data: secret.Data, Version: secret.ResourceVersion}, nil
}

// Write creates or updates the Secret.
func (s *SecretStore) Write(ctx context.Context, content Content) error {
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	var err error
	if content.Version == "" || last == nil {
		err = s.client.Post().Namespace(s.namespace).Resource(secrets).Body(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: s.namespace, Name: s.name, Labels: map[string]string{"app.kubernetes.io/managed-by": managedBy},
			},
			Type: corev1.SecretTypeOpaque, Data: content.Data,
		}).MaxRetries(0).Do(ctx).Error()
	} else {
		changed := last.DeepCopy()
		changed.ResourceVersion = content.Version
		if changed.Data == nil {
			changed.Data = map[string][]byte{}
		}
		maps.Copy(changed.Data, content.Data)
		err = s.client.Put().Namespace(s.namespace).Resource(secrets).Name(s.name).Body(changed).MaxRetries(0).Do(ctx).Error()
	}
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) && content.Version != "":
		return ErrConflict
	}
	return fmt.Errorf("secret %s/%s: %w", s.namespace, s.name, err)
}
