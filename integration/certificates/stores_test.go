package certificates_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/open"
	"github.com/sluiceproxy/sluice/certificate/storage/storagetest"
	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/telemetry"
)

// etcdAddress is where the etcd of the control plane listens.
const etcdAddress = "127.0.0.1:2379"

// account is the ServiceAccount of deploy/kubernetes.
const account = "sluice/sluice"

// prepare starts a cluster with the rights of deploy/kubernetes/certificates.
func prepare(t *testing.T) *cluster.Cluster {
	t.Helper()
	c := cluster.Start(t)
	c.Apply(manifests(t, "kubernetes/base/namespace", "kubernetes/base/serviceaccount", "kubernetes/certificates/role")...)
	return c
}

// manifests returns the texts of files of deploy.
func manifests(t *testing.T, names ...string) []string {
	t.Helper()
	var texts []string
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("../../deploy", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

// openStore opens a store that ends with the test.
func openStore(t *testing.T, location string, cluster client.Options) storage.Store {
	t.Helper()
	store, err := open.Open(t.Context(), location, open.Options{Logger: telemetry.Discard{}, Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// reach says how a cluster is reached at an endpoint, as the ServiceAccount.
func reach(c *cluster.Cluster, endpoint string) client.Options {
	return client.Options{Endpoint: endpoint, Token: c.AccountToken(account), CertAuthFilePath: c.CAFile}
}

func restart(c *cluster.Cluster) {
	c.StopAPI()
	c.StartAPI()
}

func TestSecrets(t *testing.T) {
	c := prepare(t)
	host := strings.TrimPrefix(c.Endpoint, "https://")
	storagetest.Run(t, func(t *testing.T) storagetest.Backend {
		c := c.For(t)
		t.Cleanup(func() {
			if err := c.Kubernetes.CoreV1().Secrets("sluice").DeleteCollection(context.WithoutCancel(t.Context()),
				metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "sluice.dev/certificates"}); err != nil {
				t.Error(err)
			}
		})
		return storagetest.Backend{
			Open: func(t *testing.T) storage.Store { return openStore(t, "kubernetes://sluice", reach(c, c.Endpoint)) },
			OpenFragile: func(t *testing.T) (storage.Store, func()) {
				address, cut := storagetest.Proxy(t, host)
				return openStore(t, "kubernetes://sluice", reach(c, "https://"+address)), cut
			},
			Restart: func(*testing.T) { restart(c) },
		}
	})
}

// TestSecretOfACertificate demands a Secret that others can use, and that one of others with its name stays.
func TestSecretOfACertificate(t *testing.T) {
	c := prepare(t)
	store := openStore(t, "kubernetes://sluice", reach(c, c.Endpoint))
	watcher := storagetest.Watch(t, store)
	key, value := storagetest.Certificate(t, "le", "x", "a.example", "b.example")
	if err := store.Put(t.Context(), key, value); err != nil {
		t.Fatal(err)
	}
	secrets := c.Kubernetes.CoreV1().Secrets("sluice")
	list, err := secrets.List(t.Context(), metav1.ListOptions{LabelSelector: "sluice.dev/certificates=certificate"})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	made := list.Items[0]
	var certificate storage.Certificate
	if err := json.Unmarshal(value, &certificate); err != nil {
		t.Fatal(err)
	}
	if made.Type != corev1.SecretTypeTLS || string(made.Data["tls.crt"]) != certificate.Chain ||
		string(made.Data["tls.key"]) != certificate.Key || made.Annotations["sluice.dev/names"] != "a.example,b.example" ||
		made.Annotations["sluice.dev/resolver"] != "le" || !strings.HasPrefix(made.Name, "sluice-certificate-") {
		t.Errorf("%s of type %s has the annotations %v and %v", made.Name, made.Type, made.Annotations,
			slices.Sorted(maps.Keys(made.Data)))
	}
	made.Labels, made.Annotations["other"] = map[string]string{"theirs": "yes"}, "kept"
	if _, err := secrets.Update(t.Context(), &made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	watcher.Await(key, nil)
	_, got := store.Get(t.Context(), key)
	for name, err := range map[string]error{
		"Get": got, "Put": store.Put(t.Context(), key, value), "Delete": store.Delete(t.Context(), key),
	} {
		if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "not Sluice's") {
			t.Errorf("%s: %v", name, err)
		}
	}
	made.Labels["sluice.dev/certificates"] = "certificate"
	made.ResourceVersion = ""
	if _, err := secrets.Update(t.Context(), &made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	watcher.Await(key, value)
	_, renewed := storagetest.Certificate(t, "le", "y", "a.example", "b.example")
	if err := store.Put(t.Context(), key, renewed); err != nil {
		t.Fatal(err)
	}
	watcher.Await(key, renewed)
	if after, err := secrets.Get(t.Context(), made.Name, metav1.GetOptions{}); err != nil ||
		after.Annotations["other"] != "kept" || after.Labels["theirs"] != "yes" {
		t.Errorf("%v, %v", after, err)
	}
}

// TestSecretsWithoutRights demands an error that names the missing right.
func TestSecretsWithoutRights(t *testing.T) {
	c := prepare(t)
	store := openStore(t, "kubernetes://default", reach(c, c.Endpoint))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err := store.Watch(ctx, func([]storage.Change) { t.Error("something was received") })
	if err == nil || !strings.Contains(err.Error(), "secrets in namespace default") {
		t.Errorf("Watch: %v", err)
	}
	key := storage.Key{Kind: storage.KindTickets}
	if err := store.Put(ctx, key, []byte("private")); err == nil || !strings.Contains(err.Error(), "forbidden") ||
		strings.Contains(err.Error(), "private") {
		t.Errorf("Put: %v", err)
	}
}

func TestEtcd(t *testing.T) {
	c := cluster.Start(t)
	storagetest.Run(t, func(t *testing.T) storagetest.Backend {
		c := c.For(t)
		prefix := "/edge/" + rand.Text()
		return storagetest.Backend{
			Open: func(t *testing.T) storage.Store {
				return openStore(t, "etcd://"+etcdAddress+prefix, client.Options{})
			},
			OpenFragile: func(t *testing.T) (storage.Store, func()) {
				address, cut := storagetest.Proxy(t, etcdAddress)
				return openStore(t, "etcd://"+address+prefix, client.Options{}), cut
			},
			Restart: func(*testing.T) { restart(c) },
		}
	})
}

// TestEtcdForgetsRevisions compacts the history while a watch is cut off from etcd, so that it has to read all values
// again, and must find what was deleted.
func TestEtcdForgetsRevisions(t *testing.T) {
	cluster.Start(t)
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{etcdAddress}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer etcd.Close() //nolint:errcheck // Nothing is lost.
	prefix := "/edge/" + rand.Text()
	address, gate := storagetest.Gate(t, etcdAddress)
	watcher := storagetest.Watch(t, openStore(t, "etcd://"+address+prefix, client.Options{}))
	store := openStore(t, "etcd://"+etcdAddress+prefix, client.Options{})
	deleted, changed := storage.Key{Kind: storage.KindOrder, ID: "1"}, storage.Key{Kind: storage.KindOrder, ID: "2"}
	for _, key := range []storage.Key{deleted, changed} {
		if err := store.Put(t.Context(), key, []byte("x")); err != nil {
			t.Fatal(err)
		}
		watcher.Await(key, []byte("x"))
	}
	gate(false)
	if err := errors.Join(store.Delete(t.Context(), deleted), store.Put(t.Context(), changed, []byte("y"))); err != nil {
		t.Fatal(err)
	}
	now, err := etcd.Get(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := etcd.Compact(t.Context(), now.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	gate(true)
	watcher.AwaitLong(deleted, nil)
	watcher.AwaitLong(changed, []byte("y"))
}
