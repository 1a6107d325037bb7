package crd

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// FuzzConvert asserts for any spec that nothing panics, that the same manifest always gives the same result, that every
// finding says something and nothing of a Secret, and that every protection that was configured is there, or
// no request passes.
func FuzzConvert(f *testing.F) {
	kinds := []string{
		v1alpha1.KindMiddleware, v1alpha1.KindServersTransport, v1alpha1.KindTLSOption, v1alpha1.KindTLSStore,
		v1alpha1.KindIngressRouteTCP, v1alpha1.KindIngressRouteUDP, v1alpha1.KindMiddlewareTCP,
		v1alpha1.KindServersTransportTCP,
	}
	issued := testCertificate()
	seed(f, kinds, issued)
	cluster := secretCluster(issued)
	f.Fuzz(func(t *testing.T, kind uint8, spec string) {
		name := kinds[int(kind)%len(kinds)]
		object := fmt.Sprintf(`{"apiVersion":"traefik.io/v1alpha1","kind":%q,"metadata":{"namespace":"shop","name":"a"},"spec":%s}`, name, spec)
		if !json.Valid([]byte(object)) {
			return // No API server takes it.
		}
		set := *cluster
		set.add(t, []byte(object), nil)
		if len(set.custom) != 1 || set.custom[0].Kind != name {
			return // The spec closed the object and opened another one.
		}
		result := set.convert(t, 0)
		if again := set.convert(t, 0); !reflect.DeepEqual(result, again) {
			t.Errorf("twice the same, and two results:\n%s", gocmp.Diff(result, again))
		}
		for _, verdict := range result.Verdicts {
			if verdict.Reason == "" || verdict.Ref.Name == "" || strings.Contains(verdict.Reason, "line 0") {
				t.Errorf("the verdict %+v says nothing", verdict)
			}
		}
		set.keepsSecrets(t, result)
		protects(t, []byte(object), result)
	})
}

// seed gives the specs of all test data.
func seed(f *testing.F, kinds []string, issued map[string]string) {
	f.Helper()
	files, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		set := readManifests(f, file, issued)
		for place, meta := range set.custom {
			var object struct {
				Spec json.RawMessage `json:"spec"`
			}
			if err := json.Unmarshal(set.texts[place], &object); err != nil {
				f.Fatal(err)
			}
			for i, kind := range kinds {
				if kind == meta.Kind && len(object.Spec) > 0 {
					f.Add(uint8(i), string(object.Spec))
				}
			}
		}
	}
}

// secretCluster has a Secret of each sort, all named in the test data.
func secretCluster(issued map[string]string) *manifestSet {
	set := newManifestSet()
	for name, data := range map[string]map[string]string{
		"users":     {"users": "ann:secretsecret\n"},
		"digests":   {"users": "ann:realm:secretsecret\n"},
		"login":     {"username": "secretann", "password": "open-sesame"},
		"authority": {"ca.crt": issued["$CERT"]},
		"pair":      {"tls.crt": issued["$CERT"], "tls.key": issued["$KEY"]},
		"mixed":     {"tls.crt": issued["$CERT"], "tls.key": issued["$OTHERKEY"]},
	} {
		secret := &corev1.Secret{Data: map[string][]byte{}}
		secret.Namespace, secret.Name = "shop", name
		for key, value := range data {
			secret.Data[key] = []byte(value)
		}
		set.secrets["shop/"+name] = secret
	}
	return set
}

// protects fails when a protection of a manifest is neither there nor reported missing.
func protects(t *testing.T, text []byte, result translation.Result) {
	t.Helper()
	refused := map[dynamic.Ref]bool{}
	for _, verdict := range result.Verdicts {
		refused[verdict.Ref] = verdict.Status == dynamic.Quarantined
	}
	for name, middleware := range declared[dynamic.Middleware](result) {
		if refused[dynamic.Ref{Kind: dynamic.KindMiddleware, Name: name}] {
			continue
		}
		spec := read[v1alpha1.Middleware](t, text).Spec
		if len(middleware.Kinds()) != 1 {
			t.Errorf("has the kinds %q", middleware.Kinds())
		}
		if auth := middleware.BasicAuth; auth != nil && len(auth.Users) == 0 {
			t.Error("basicAuth admits no request, without a verdict")
		}
		if auth := middleware.DigestAuth; auth != nil && len(auth.Users) == 0 {
			t.Error("digestAuth admits no request, without a verdict")
		}
		if auth := spec.ForwardAuth; auth != nil && auth.TLS != nil {
			if auth.TLS.CASecret != "" && middleware.ForwardAuth.TLS.CA == "" {
				t.Error("forwardAuth trusts others than it should")
			}
			if auth.TLS.CertSecret != "" && middleware.ForwardAuth.TLS.Key == "" {
				t.Error("forwardAuth has no certificate to show")
			}
		}
	}
	for name, transport := range declared[dynamic.ServersTransport](result) {
		spec := read[v1alpha1.ServersTransport](t, text).Spec
		asked := len(spec.RootCAs) + len(spec.RootCAsSecrets)
		if !refused[dynamic.Ref{Kind: dynamic.KindServersTransport, Name: name}] && len(transport.RootCAs) != asked {
			t.Errorf("trusts %d authorities of %d", len(transport.RootCAs), asked)
		}
	}
	for name, options := range declared[dynamic.TLSOptions](result) {
		spec := read[v1alpha1.TLSOption](t, text).Spec
		asked := len(spec.ClientAuth.SecretNames)
		if !refused[dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: name}] && len(options.ClientAuth.CAFiles) != asked {
			t.Errorf("trusts %d authorities of %d", len(options.ClientAuth.CAFiles), asked)
		}
	}
}

// FuzzTree asserts that a document says what encoding/json says of the same spec, empty lists and maps aside.
func FuzzTree(f *testing.F) {
	issued := testCertificate()
	kinds := []string{v1alpha1.KindMiddleware}
	seed(f, kinds, issued)
	f.Fuzz(func(t *testing.T, _ uint8, text string) {
		var spec v1alpha1.MiddlewareSpec
		if !json.Valid([]byte(text)) || json.Unmarshal([]byte(text), &spec) != nil {
			return // No API server takes it.
		}
		want, err := json.Marshal(spec)
		if err != nil {
			return // encoding/json has no answer to compare with.
		}
		node, err := tree(spec)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(native(node))
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(pruned(t, want), pruned(t, got)); diff != "" {
			t.Errorf("differs (-encoding/json +tree):\n%s", diff)
		}
	})
}

func pruned(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return prune(value)
}

// prune takes empty lists and maps out of maps.
func prune(value any) any {
	switch typed := value.(type) {
	case []any:
		for i, item := range typed {
			typed[i] = prune(item)
		}
	case map[string]any:
		for key, item := range typed {
			switch item = prune(item); {
			case reflect.DeepEqual(item, []any{}), reflect.DeepEqual(item, map[string]any{}):
				delete(typed, key)
			default:
				typed[key] = item
			}
		}
	}
	return value
}
