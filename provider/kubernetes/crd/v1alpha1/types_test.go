package v1alpha1_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// decoder reads objects as a client does, by their apiVersion and kind.
func decoder(t *testing.T) runtime.Decoder {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return serializer.NewCodecFactory(scheme).UniversalDeserializer()
}

func encoded(t *testing.T, object any) string {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEveryFieldTravels demands that an object with every field set comes back the same, in every group.
func TestEveryFieldTravels(t *testing.T) {
	decoder := decoder(t)
	for _, group := range v1alpha1.Groups() {
		for resource, object := range filled(t) {
			kind := reflect.TypeOf(object).Elem().Name()
			object.GetObjectKind().SetGroupVersionKind(v1alpha1.GroupVersion(group).WithKind(kind))
			text := encoded(t, object)
			back, _, err := decoder.Decode([]byte(text), nil, nil)
			if err != nil {
				t.Errorf("%s.%s: %v", resource, group, err)
				continue
			}
			if diff := cmp.Diff(object, back); diff != "" {
				t.Errorf("%s.%s (-sent +received):\n%s", resource, group, diff)
			}
		}
	}
}

// TestCopiesAreIndependent changes everything in a copy and demands that the original stays as it is.
func TestCopiesAreIndependent(t *testing.T) {
	for resource, object := range filled(t) {
		before := encoded(t, object)
		duplicate := object.DeepCopyObject()
		if got := encoded(t, duplicate); got != before {
			t.Errorf("%s: the copy is %s\nof %s", resource, got, before)
		}
		scramble(reflect.ValueOf(duplicate).Elem())
		if after := encoded(t, object); after != before {
			t.Errorf("%s: changing the copy made %s\nof %s", resource, after, before)
		}
		if got := encoded(t, duplicate); got == before {
			t.Errorf("%s: the copy was not changed", resource)
		}
	}
}

// scramble changes all values below one, in place.
func scramble(value reflect.Value) {
	if number, ok := reflect.TypeAssert[intstr.IntOrString](value); ok {
		number.StrVal += "!"
		value.Set(reflect.ValueOf(number))
		return
	}
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			if value.Field(i).CanSet() {
				scramble(value.Field(i))
			}
		}
	case reflect.Pointer, reflect.Interface:
		if !value.IsNil() {
			scramble(value.Elem())
		}
	case reflect.Slice:
		for i := range value.Len() {
			scramble(value.Index(i))
		}
	case reflect.Map:
		for _, key := range value.MapKeys() {
			item := reflect.New(value.Type().Elem()).Elem()
			item.Set(value.MapIndex(key))
			scramble(item)
			value.SetMapIndex(key, reflect.Zero(value.Type().Elem()))
		}
	case reflect.String:
		value.SetString(value.String() + "!")
	case reflect.Bool:
		value.SetBool(!value.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		value.SetInt(value.Int() + 1)
	case reflect.Float64:
		value.SetFloat(value.Float() + 1)
	case reflect.Uint8:
		value.SetUint('2')
	default:
	}
}

// TestZeroIsNotAbsent demands that an option that is written as its zero value does not vanish where that differs
// from its default.
func TestZeroIsNotAbsent(t *testing.T) {
	tests := map[string]string{
		"weight":             `{"routes":[{"match":"x","services":[{"name":"a","weight":0}]}]}`,
		"passHostHeader":     `{"routes":[{"match":"x","services":[{"name":"a","passHostHeader":false}]}]}`,
		"nativeLB":           `{"routes":[{"match":"x","services":[{"name":"a","nativeLB":false}]}]}`,
		"flushInterval":      `{"routes":[{"match":"x","services":[{"name":"a","responseForwarding":{"flushInterval":0}}]}]}`,
		"path of the cookie": `{"routes":[{"match":"x","services":[{"name":"a","sticky":{"cookie":{"path":""}}}]}]}`,
		"maxFailedAttempts":  `{"routes":[{"match":"x","services":[{"name":"a","passiveHealthCheck":{"maxFailedAttempts":0}}]}]}`,
		"followRedirects":    `{"routes":[{"match":"x","services":[{"name":"a","healthCheck":{"interval":0,"followRedirects":false}}]}]}`,
		"accessLogs":         `{"routes":[{"match":"x","observability":{"accessLogs":false}}]}`,
		"an empty tls":       `{"routes":[{"match":"x"}],"tls":{}}`,
	}
	for name, text := range tests {
		var spec v1alpha1.IngressRouteSpec
		if err := json.Unmarshal([]byte(text), &spec); err != nil || spec.Malformed != "" {
			t.Errorf("%s: %v %s", name, err, spec.Malformed)
		}
		if got := encoded(t, spec); got != text {
			t.Errorf("%s: %s came back as %s", name, text, got)
		}
	}
	for _, text := range []string{
		`{"rateLimit":{"average":0,"period":0,"burst":0}}`,
		`{"circuitBreaker":{"expression":"x","checkPeriod":"0s","responseCode":0}}`,
		`{"forwardAuth":{"address":"x","maxBodySize":0,"maxResponseBodySize":0}}`,
		`{"retry":{"attempts":1,"maxRequestBodyBytes":0}}`,
		`{"compress":{}}`,
		`{"compress":{"minResponseBodyBytes":0,"defaultEncoding":""}}`,
		`{"errors":{"service":{"name":"a","port":80},"errorRequestHeaders":[]}}`,
		`{"contentType":{}}`,
		`{"plugin":{"mine":{"a":[1,{"b":null}]}}}`,
	} {
		var spec v1alpha1.MiddlewareSpec
		if err := json.Unmarshal([]byte(text), &spec); err != nil || spec.Malformed != "" {
			t.Errorf("%s: %v %s", text, err, spec.Malformed)
		}
		if got := encoded(t, spec); got != text {
			t.Errorf("%s came back as %s", text, got)
		}
	}
}

// TestDurationsAndPorts demands that both may be numbers and strings.
func TestDurationsAndPorts(t *testing.T) {
	const text = `{"routes":[{"match":"x","services":[
		{"name":"a","port":80,"passiveHealthCheck":{"failureWindow":5}},
		{"name":"b","port":"web","passiveHealthCheck":{"failureWindow":"5s"}}]}]}`
	var spec v1alpha1.IngressRouteSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil || spec.Malformed != "" {
		t.Fatal(err, spec.Malformed)
	}
	got := []intstr.IntOrString{}
	for _, service := range spec.Routes[0].Services {
		got = append(got, service.Port, *service.PassiveHealthCheck.FailureWindow)
	}
	want := []intstr.IntOrString{
		intstr.FromInt32(80), intstr.FromInt32(5), intstr.FromString("web"),
		intstr.FromString("5s"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestMalformedCostsOneObject demands that an object that does not fit leaves the others of its list alone, stays as
// far as it fits, and says what does not.
func TestMalformedCostsOneObject(t *testing.T) {
	tests := []struct{ spec, malformed string }{
		{`{"routes":[{"match":"a"}]}`, ""},
		{`{"routes":[{"match":"a","priority":"10","kind":"Rule"}]}`, "routes.priority: expected a whole number, got string"},
		{
			`{"routes":[{"match":"a","services":[{"name":"x","weight":1.5}]}]}`,
			"routes.services.weight: expected a whole number, got number 1.5",
		},
		{`{"routes":{"match":"a"}}`, "routes: expected a list, got object"},
		{`{"entryPoints":"web","routes":[{"match":"a"}]}`, "entryPoints: expected a list, got string"},
		{`{"routes":[{"match":["a"]}]}`, "routes.match: expected a string, got array"},
		{`{"routes":[{"match":"a"}],"tls":true}`, "tls: expected a map, got bool"},
		{`"routes"`, "expected a map, got string"},
		{
			`{"routes":[{"match":"a","services":[{"name":"x","port":true}]}]}`,
			"routes.services.port: expected a whole number, got bool",
		},
		{`null`, ""},
		{`{"routes":[{"match":"b"}],"unknown":{"a":1},"Routes":[{"match":"c"}]}`, ""},
	}
	var items []string
	for _, test := range tests {
		items = append(items, `{"apiVersion":"traefik.io/v1alpha1","kind":"IngressRoute","metadata":{"name":"web"},"spec":`+
			test.spec+`,"status":"odd"}`)
	}
	list, _, err := decoder(t).Decode([]byte(`{"apiVersion":"traefik.io/v1alpha1","kind":"IngressRouteList",
		"metadata":{"resourceVersion":"1"},"items":[`+
		strings.Join(items, ",")+`]}`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	routes, ok := list.(*v1alpha1.IngressRouteList)
	if !ok || len(routes.Items) != len(tests) {
		t.Fatalf("%T with %d items", list, len(routes.Items))
	}
	for i, test := range tests {
		if got := routes.Items[i].Spec.Malformed; got != test.malformed {
			t.Errorf("%s: %q, expected %q", test.spec, got, test.malformed)
		}
	}
	if got := routes.Items[1].Spec.Routes[0]; got.Match != "a" || got.Kind != "Rule" {
		t.Errorf("what came beside the mistake was lost: %+v", got)
	}
	if got := routes.Items[len(tests)-1].Spec.Routes[0].Match; got != "b" {
		t.Errorf("another spelling of routes was taken: %s", got)
	}
}

// TestEverySpecSaysWhatIsMalformed demands that no kind is left out.
func TestEverySpecSaysWhatIsMalformed(t *testing.T) {
	for resource, object := range kinds() {
		if err := json.Unmarshal([]byte(`{"spec":"odd"}`), object); err != nil {
			t.Errorf("%s: %v", resource, err)
		}
		spec := reflect.ValueOf(object).Elem().FieldByName("Spec")
		if got := spec.FieldByName("Malformed").String(); got != "expected a map, got string" {
			t.Errorf("%s: %q", resource, got)
		}
	}
}
