package secret

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/storagetest"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The conformance of the store is tested in integration/certificates, where an API server is.

// secretOf returns the Secret of a value in a namespace.
func secretOf(t *testing.T, key storage.Key, value []byte) *corev1.Secret {
	t.Helper()
	made, err := encode(key, value)
	if err != nil {
		t.Fatal(err)
	}
	made.Namespace = "edge"
	return made
}

func open(t *testing.T, server *clienttest.Server) *Store {
	t.Helper()
	store, err := Open(t.Context(), "edge", Options{
		Cluster: client.Options{Endpoint: server.URL()}, Logger: telemetry.Discard{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestSecretsAreValuesAndBack(t *testing.T) {
	certificateKey, certificate := storagetest.Certificate(t, "le", "x", "*.a.example", "b.example")
	odd := storage.Key{Kind: storage.KindDemand, Resolver: "ü/:\xff", ID: strings.Repeat("*? \x00", 2000)}
	for key, value := range map[storage.Key][]byte{
		certificateKey: certificate, odd: []byte("x"), {Kind: storage.KindTickets}: {},
	} {
		made := secretOf(t, key, value)
		if wrong := validation.IsDNS1123Subdomain(made.Name); len(wrong) > 0 {
			t.Errorf("%s: %v", made.Name, wrong)
		}
		for _, text := range made.Annotations {
			if strings.ToValidUTF8(text, "") != text {
				t.Errorf("%s: an annotation is not UTF-8", made.Name)
			}
		}
		back, found, err := decode(made)
		if err != nil || back != key || !storagetest.Equal(key.Kind, found, value) {
			t.Errorf("%s became %.100q with %q, %v", made.Name, storage.EncodeKey(back), found, err)
		}
	}
}

func TestWrongSecretsAreLeftOut(t *testing.T) {
	key, value := storagetest.Certificate(t, "le", "x", "a.example")
	for name, spoil := range map[string]func(made *corev1.Secret){
		"no annotation":   func(made *corev1.Secret) { made.Annotations = nil },
		"another name":    func(made *corev1.Secret) { made.Name += "x" },
		"names of others": func(made *corev1.Secret) { made.Annotations[annotationNames] = "b.example" },
	} {
		made := secretOf(t, key, value)
		spoil(made)
		if _, _, err := decode(made); err == nil || strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, put := range map[string]struct {
		key   storage.Key
		value string
	}{
		"another ID": {storage.Key{Kind: storage.KindCertificate, ID: "x"}, string(value)},
		"no JSON":    {key, "private"},
	} {
		if _, err := encode(put.key, []byte(put.value)); err == nil || strings.Contains(err.Error(), "private") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWatchFollowsTheSecrets(t *testing.T) {
	server := clienttest.New(t)
	secrets := corev1.SchemeGroupVersion.WithResource(resource)
	order, other := storage.Key{Kind: storage.KindOrder, ID: "1"}, storage.Key{Kind: storage.KindOrder, ID: "2"}
	server.Put(secrets, secretOf(t, order, []byte("x")), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "edge", Name: "damaged", Labels: map[string]string{label: "order"},
	}})
	store := open(t, server)
	watcher := storagetest.Watch(t, store)
	watcher.Await(order, []byte("x"))
	server.Put(secrets, secretOf(t, other, []byte("y")))
	watcher.Await(other, []byte("y"))
	server.Stop()
	server.Start()
	server.Delete(secrets, "edge", nameOf(order))
	watcher.AwaitLong(order, nil)
}

func TestWatchNamesTheMissingRight(t *testing.T) {
	server := clienttest.New(t)
	server.Refuse("list", resource)
	server.Refuse("watch", resource)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err := open(t, server).Watch(ctx, func([]storage.Change) { t.Error("something was received") })
	if err == nil || !strings.Contains(err.Error(), "may not list and watch secrets in namespace edge") {
		t.Errorf("Watch: %v", err)
	}
}
