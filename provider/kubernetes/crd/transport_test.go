package crd

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// trusting are manifests that trust the authorities of the Secret %q.
func trusting() map[string]string {
	return map[string]string{
		"clients":       `"kind":"TLSOption","spec":{"clientAuth":{"secretNames":[%q],"clientAuthType":"RequireAndVerifyClientCert"}}`,
		"servers":       `"kind":"ServersTransport","spec":{"rootCAs":[{"secret":%q}]}`,
		"servers, old":  `"kind":"ServersTransport","spec":{"rootCAsSecrets":[%q]}`,
		"a server":      `"kind":"Middleware","spec":{"forwardAuth":{"address":"https://auth","tls":{"caSecret":%q}}}`,
		"another place": `"kind":"Middleware","spec":{"rateLimit":{"average":1,"redis":{"tls":{"caSecret":%q}}}}`,
	}
}

// TestAuthoritiesFailClosed proves that nothing trusts others than it should because a Secret is absent or wrong, and
// that no Secret makes Sluice read a file.
func TestAuthoritiesFailClosed(t *testing.T) {
	secrets := map[string]map[string]string{
		"good":     {"ca.crt": testCertificate()["$CERT"]},
		"old":      {"tls.ca": testCertificate()["$CERT"], "ca.crt": "is not read"},
		"only key": {"root.pem": testCertificate()["$CERT"]},
		"empty":    {},
		"blank":    {"ca.crt": ""},
		"path":     {"ca.crt": "/etc/ssl/certs/ca-certificates.crt"},
		"keys":     {"ca.crt": testCertificate()["$KEY"]},
		"two keys": {"a": testCertificate()["$CERT"], "b": testCertificate()["$CERT"]},
	}
	good := map[string]bool{"good": true, "old": true, "only key": true}
	for what, manifest := range trusting() {
		for name := range secrets {
			t.Run(what+"/"+name, func(t *testing.T) {
				set := newManifestSet()
				set.secrets["shop/"+name] = &corev1.Secret{Data: map[string][]byte{}}
				for key, value := range secrets[name] {
					set.secrets["shop/"+name].Data[key] = []byte(value)
				}
				set.add(t, fmt.Appendf(nil, `{"apiVersion":"traefik.io/v1alpha1","metadata":{"namespace":"shop","name":"a"},`+
					manifest+"}", name), nil)
				result := set.convert(t, 0)
				if accepted := len(result.Verdicts) == 0; accepted != good[name] {
					t.Errorf("accepted is %t, with the verdicts %v", accepted, result.Verdicts)
				}
				for _, verdict := range result.Verdicts {
					if verdict.Status != dynamic.Quarantined || verdict.Missing {
						t.Errorf("the verdict %+v lets traffic through", verdict)
					}
				}
			})
		}
	}
}

// TestAbsentAuthoritiesAreMissing proves that a Secret that is not there is distinguished from one that is wrong, since
// it may only be late.
func TestAbsentAuthoritiesAreMissing(t *testing.T) {
	for what, manifest := range trusting() {
		set := newManifestSet()
		set.add(t, fmt.Appendf(nil, `{"apiVersion":"traefik.io/v1alpha1","metadata":{"namespace":"shop","name":"a"},`+
			manifest+"}", "late"), nil)
		result := set.convert(t, 0)
		if len(result.Verdicts) != 1 || !result.Verdicts[0].Missing || result.Verdicts[0].Status != dynamic.Quarantined {
			t.Errorf("%s: verdicts %v", what, result.Verdicts)
		}
		if len(result.Needs) != 1 || result.Needs[0].Name != "late" {
			t.Errorf("%s: needs %v", what, result.Needs)
		}
	}
}

// TestUnusedStoresReadNothing proves that a store that is not used needs no Secrets.
func TestUnusedStoresReadNothing(t *testing.T) {
	for name, needs := range map[string]int{dynamic.DefaultTLSName: 2, "other": 0} {
		set := newManifestSet()
		set.add(t, fmt.Appendf(nil, `{"apiVersion":"traefik.io/v1alpha1","kind":%q,"metadata":{"namespace":"shop","name":%q},
			"spec":{"defaultCertificate":{"secretName":"a"},"certificates":[{"secretName":"b"}]}}`, v1alpha1.KindTLSStore, name),
			nil)
		if got := set.convert(t, 0).Needs; len(got) != needs {
			t.Errorf("the store %s needs %v, want %d", name, got, needs)
		}
	}
}
