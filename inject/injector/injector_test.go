package injector_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/sluiceproxy/sluice/inject/authority"
	"github.com/sluiceproxy/sluice/inject/injector"
	"github.com/sluiceproxy/sluice/inject/webhook"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// name is that of the Service and of the MutatingWebhookConfiguration, in the namespace "sluice".
const name = "sluice-injector"

var (
	webhooks = admissionv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations")
	leases   = coordinationv1.SchemeGroupVersion.WithResource("leases")
)

type meter struct{}

func (meter) Reviewed(string, time.Duration) {}
func (meter) Skipped(string)                 {}
func (meter) Refused(int)                    {}
func (meter) DropEvent()                     {}
func (meter) Repaired()                      {}
func (meter) Patched(bool)                   {}
func (meter) Reloaded(bool)                  {}

// api is an API server: it injects every pod, and keeps Leases and the policy of one webhook.
type api struct {
	*clienttest.Server
	next   http.RoundTripper
	codecs serializer.CodecFactory

	mu       sync.Mutex
	policies []string
	replicas map[string]bool // the names of the Leases
	proven   chan struct{}   // receives when the policy is Fail
	behind   bool            // whether watches do not see what is written; set before start
}

func newAPI(t *testing.T) *api {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, coordinationv1.AddToScheme} {
		if err := add(types); err != nil {
			t.Fatal(err)
		}
	}
	a := &api{
		Server: clienttest.New(t), next: transport, codecs: serializer.NewCodecFactory(types),
		replicas: map[string]bool{}, proven: make(chan struct{}, 1),
	}
	a.Serve(webhooks, "MutatingWebhookConfiguration")
	a.Serve(leases, "Lease")
	a.set(admissionv1.Ignore)
	return a
}

// set replaces the policy.
func (a *api) set(policy admissionv1.FailurePolicyType) {
	a.Put(webhooks, &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u-1"},
		Webhooks: []admissionv1.MutatingWebhook{{
			Name: "a.sluice.dev", FailurePolicy: &policy, ClientConfig: admissionv1.WebhookClientConfig{
				Service: &admissionv1.ServiceReference{Namespace: "sluice", Name: name},
			},
		}},
	})
}

// lease puts a Lease that was renewed just now.
func (a *api) lease(of string) {
	a.mu.Lock()
	a.replicas[of] = true
	a.mu.Unlock()
	now, seconds := metav1.NowMicro(), int32(60)
	a.Put(leases, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "sluice", Name: of, Labels: map[string]string{"inject.sluice.dev/replica-of": name},
		},
		Spec: coordinationv1.LeaseSpec{RenewTime: &now, LeaseDurationSeconds: &seconds},
	})
}

// hasLease reports whether there is a Lease, and remove removes it.
func (a *api) hasLease(of string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.replicas[of]
}

func (a *api) remove(of string) {
	a.mu.Lock()
	delete(a.replicas, of)
	a.mu.Unlock()
	a.Delete(leases, "sluice", of)
}

// written returns the policies that were written, in their order.
func (a *api) written() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.policies, " ")
}

// RoundTrip answers a request.
func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		server, err := url.Parse(a.URL())
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host = server.Scheme, server.Host
		return a.next.RoundTrip(r)
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
	}
	recorder := httptest.NewRecorder()
	recorder.Header().Set("Content-Type", "application/json")
	if err := a.write(recorder, r.Method, r.URL.Path, body); err != nil {
		return nil, err
	}
	return recorder.Result(), nil
}

// write does what is written.
func (a *api) write(w http.ResponseWriter, method, at string, body []byte) error {
	of := path.Base(at)
	switch {
	case method == http.MethodPost && of == "pods":
		object, _, err := a.codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			return err
		}
		pod := object.(*corev1.Pod) //nolint:forcetypeassert // Nothing else is posted there.
		pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		pod.Annotations[webhook.CanaryResultAnnotation] = pod.Annotations[webhook.CanaryAnnotation]
		return json.NewEncoder(w).Encode(pod)
	case method == http.MethodPatch && strings.Contains(at, "/leases/"):
		if !a.hasLease(of) {
			w.WriteHeader(http.StatusNotFound)
			return json.NewEncoder(w).Encode(metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
				Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound,
			})
		}
		a.lease(of)
	case method == http.MethodPost && of == "leases":
		object, _, err := a.codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			return err
		}
		a.lease(object.(*coordinationv1.Lease).Name) //nolint:forcetypeassert // Nothing else is posted there.
	case method == http.MethodDelete && strings.Contains(at, "/leases/"):
		a.remove(of)
	case method == http.MethodPatch && of == name:
		var patch admissionv1.MutatingWebhookConfiguration
		if err := json.Unmarshal(body, &patch); err != nil {
			return err
		}
		policy := *patch.Webhooks[0].FailurePolicy
		a.mu.Lock()
		a.policies = append(a.policies, string(policy))
		a.mu.Unlock()
		if !a.behind {
			a.set(policy)
		}
		if policy == admissionv1.Fail {
			a.proven <- struct{}{}
		}
	default:
		return fmt.Errorf("%s %s is not expected", method, at)
	}
	_, err := w.Write([]byte("{}"))
	return err
}

// start starts an injector with a certificate from files, and waits until it has set Fail.
func (a *api) start(ctx context.Context, t *testing.T) (one *injector.Injector, ended <-chan error) {
	t.Helper()
	directory := t.TempDir()
	put := func(name string, content []byte) string {
		t.Helper()
		file := filepath.Join(directory, name)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	signer, err := authority.New(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := authority.NewLeaf(signer, []string{"127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(leaf.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	config := &static.Injector{}
	config.SetDefaults()
	config.Address, config.Events, config.DrainTimeout = "127.0.0.1:0", false, 0
	config.Config = put("config", []byte("policy: enabled\nbuiltinTemplates: [env-tag]\ndefaultTemplates: [env-tag]\n"))
	config.TLS = &static.InjectorTLS{
		CertFile: put("cert", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Certificate[0]})),
		KeyFile:  put("key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
	}
	config.Enforce = &static.InjectorEnforce{Namespace: "injected"}
	one, err = injector.New(injector.Options{
		Config: config, Cluster: client.Options{Transport: a}, Namespace: "sluice", Meter: meter{},
		Logger: telemetry.Discard{},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := one.Listen(ctx); err != nil {
		t.Fatal(err)
	}
	running := make(chan error, 1)
	go func() { running <- one.Run(ctx) }()
	<-a.proven
	return one, running
}

// TestListenerFailureSetsThePolicyBack wants pods admitted when the injector ends because of an error.
func TestListenerFailureSetsThePolicyBack(t *testing.T) {
	a := newAPI(t)
	one, ended := a.start(t.Context(), t)
	one.CloseListener()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("it ends with %v", err)
	}
	if got := a.written(); got != "Fail Ignore" {
		t.Errorf("the policies are %s", got)
	}
}

// TestPolicyIsSetBackBeforeTheWatchHasSeenIt stops the injector while its cache still has the policy of before.
func TestPolicyIsSetBackBeforeTheWatchHasSeenIt(t *testing.T) {
	a := newAPI(t)
	a.behind = true
	ctx, cancel := context.WithCancel(t.Context())
	_, ended := a.start(ctx, t)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := a.written(); got != "Fail Ignore" {
		t.Errorf("the policies are %s", got)
	}
}

// own is the Lease of the injector of a test.
const own = name + "-web-0-u-1"

// setPod sets what the downward API tells of the pod.
func setPod(t *testing.T) {
	t.Helper()
	t.Setenv("POD_NAME", "web.0")
	t.Setenv("POD_UID", "U-1")
}

// TestLeases has Leases of other processes when the injector stops: that of the same pod before it was started again
// does not count, and that of another pod does, also of one with the same name.
func TestLeases(t *testing.T) {
	setPod(t)
	for of, want := range map[string]string{own: "Fail Ignore", name + "-web-0-u-2": "Fail"} {
		t.Run(of, func(t *testing.T) {
			a := newAPI(t)
			a.lease(of)
			ctx, cancel := context.WithCancel(t.Context())
			_, ended := a.start(ctx, t)
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if got := a.written(); got != want {
				t.Errorf("the policies are %s", got)
			}
			if a.hasLease(own) {
				t.Error("its own Lease is left")
			}
		})
	}
}

// TestLeaseIsCreatedAgain wants a Lease when there is none: at the start, and when something has removed it.
func TestLeaseIsCreatedAgain(t *testing.T) {
	setPod(t)
	a := newAPI(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, ended := a.start(ctx, t)
	for _, when := range []string{"at the start", "after it was removed"} {
		if !a.hasLease(own) {
			t.Errorf("there is no Lease %s", when)
		}
		a.remove(own)
		a.set(admissionv1.Ignore) // The injector sees that, and renews its Lease before it writes the policy.
		<-a.proven
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
