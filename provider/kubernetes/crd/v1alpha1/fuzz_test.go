package v1alpha1_test

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzSpec demands of any spec in JSON that it affects nothing else: it is read without an error, and what was
// read of it is read again the same.
func FuzzSpec(f *testing.F) {
	for _, seed := range []string{
		`{"routes":[{"match":"a","priority":"10","services":[{"name":"x","port":true,"weight":1.5}]}],"tls":{}}`,
		`{"rateLimit":{"period":10,"average":1e3},"plugin":{"a":{"b":[null]},"c":null}}`,
		`{"errors":{"status":["404"],"statusRewrites":{"a":1e99},"service":[]},"chain":{"middlewares":null}}`,
		`{"mirroring":{"name":"a","mirrors":[{"percent":-1}]},"weighted":{"services":[{}]}}`,
		`{"forwardingTimeouts":{"dialTimeout":"1s","pingTimeout":-5},"rootCAs":[{"secret":null}]}`,
		`{"clientAuth":{"secretNames":["a"]},"defaultGeneratedCert":{"domain":{"sans":[""]}}}`,
		`[]`, `null`, `"a"`, `1`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return
		}
		for resource, object := range kinds() {
			spec := reflect.ValueOf(object).Elem().FieldByName("Spec")
			if err := json.Unmarshal(data, spec.Addr().Interface()); err != nil {
				t.Fatalf("%s: %v", resource, err)
			}
			// An empty list is not written, which may leave an empty map around it that then is not written either.
			first := reread(t, encoded(t, spec.Interface()), spec.Type())
			if second := reread(t, first, spec.Type()); second != first {
				t.Errorf("%s: %s came back as %s", resource, first, second)
			}
		}
	})
}

// reread decodes a spec and encodes it again.
func reread(t *testing.T, text string, of reflect.Type) string {
	t.Helper()
	spec := reflect.New(of)
	if err := json.Unmarshal([]byte(text), spec.Interface()); err != nil {
		t.Fatal(err)
	}
	if malformed := spec.Elem().FieldByName("Malformed").String(); malformed != "" {
		t.Errorf("what was read does not fit: %s: %s", malformed, text)
	}
	return encoded(t, spec.Interface())
}
