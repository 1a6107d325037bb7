package dynamic

import (
	"os"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/traefik/paerser/parser"
)

// TestBalancingIsTheSameInBothLanguages demands that YAML and TOML say the same.
func TestBalancingIsTheSameInBothLanguages(t *testing.T) {
	var said []*Service
	for _, name := range []string{"balancing.yaml", "balancing.toml"} {
		text, err := os.ReadFile("testdata/decode/" + name)
		if err != nil {
			t.Fatal(err)
		}
		out := decodeText(t, new(Decoder), name, string(text))
		if len(out.Verdicts) > 0 {
			t.Errorf("%s: %v", name, out.Verdicts)
		}
		said = append(said, out.HTTP.Services.Get("everything"))
	}
	if diff := cmp.Diff(said[0], said[1]); diff != "" {
		t.Errorf("-yaml +toml:\n%s", diff)
	}
	everySet(t, reflect.ValueOf(said[0].LoadBalancer), "loadBalancer", "Sticky", "ServersTransport", "EndpointSet",
		"Scheme",
		"HealthCheck", "Servers")
}

// everySet demands that no option of a struct is missing, but for those.
func everySet(t *testing.T, value reflect.Value, path string, but ...string) {
	t.Helper()
	for value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	if value.Kind() != reflect.Struct {
		return
	}
	for i := range value.NumField() {
		name := value.Type().Field(i).Name
		skipped := false
		for _, one := range but {
			skipped = skipped || one == name
		}
		if skipped {
			continue
		}
		if value.Field(i).IsZero() {
			t.Errorf("%s.%s is not given", path, name)
			continue
		}
		everySet(t, value.Field(i), path+"."+name)
	}
}

// TestBalancingByLabels demands that labels say what files say, with the same defaults.
func TestBalancingByLabels(t *testing.T) {
	const service = "traefik.http.services.s.loadbalancer."
	labels := map[string]string{
		service + "strategy":                             "hash",
		service + "hash.source":                          "query",
		service + "hash.name":                            "user",
		service + "healthcheck.rise":                     "2",
		service + "outlierdetection.consecutivefailures": "0",
		service + "outlierdetection.status":              "502,5xx",
		service + "panicthreshold":                       "40",
		service + "slowstart":                            "30s",
		service + "zoneaware":                            "true",
		service + "draintimeout":                         "60",
		service + "retry.attempts":                       "0",
		service + "limits.maxpending":                    "5",
	}
	var got paerserSections
	if err := parser.Decode(labels, &got, "traefik"); err != nil {
		t.Fatal(err)
	}
	out := decodeText(t, new(Decoder), "a.yaml", `
http:
  services:
    s:
      loadBalancer:
        strategy: hash
        hash: {source: query, name: user}
        healthCheck: {rise: 2}
        outlierDetection: {consecutiveFailures: 0, status: [502, 5xx]}
        panicThreshold: 40
        slowStart: 30s
        zoneAware: true
        drainTimeout: 60
        retry: {attempts: 0}
        limits: {maxPending: 5}
`)
	if diff := cmp.Diff(out.HTTP.Services.Get("s"), got.HTTP.Services["s"]); diff != "" || len(out.Verdicts) > 0 {
		t.Errorf("-file +labels:\n%s%v", diff, out.Verdicts)
	}
}

// TestBalancingDefaultsAreMaterialised demands that an option which is absent and one that is given with its default
// compare as equal, and have one fingerprint.
func TestBalancingDefaultsAreMaterialised(t *testing.T) {
	out := decodeText(t, new(Decoder), "a.yaml", `
http:
  services:
    short: {loadBalancer: {hash: {}, healthCheck: {}, outlierDetection: {}, retry: {}, limits: {}}}
    long:
      loadBalancer:
        strategy: wrr
        hash: {source: clientIP, boundedLoad: 125}
        healthCheck: {mode: http, interval: 30s, timeout: 5s, followRedirects: true, rise: 1, fall: 1, jitter: 10}
        outlierDetection: {consecutiveFailures: 5, baseEjectionTime: 2s, maxEjectionTime: 60s, maxEjectedPercent: 50}
        panicThreshold: 0
        slowStart: 0
        drainTimeout: 0s
        retry: {attempts: 2, perTryTimeout: 0, retryNonIdempotentMethod: false, maxRequestBodyBytes: 65536,
          budgetPercent: 20, initialInterval: 0, sameServer: false, disableRetryOnNetworkError: false}
        limits: {maxConnections: 0, maxPoolConnections: 0, maxPending: 0, pendingTimeout: 5s}
        passHostHeader: true
        responseForwarding: {flushInterval: 100ms}
`)
	short, long := out.HTTP.Services.Get("short"), out.HTTP.Services.Get("long")
	if diff := cmp.Diff(short, long); diff != "" || !Equal(short, long) {
		t.Errorf("-absent +given:\n%s", diff)
	}
	first, err := Fingerprint(short)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := Fingerprint(long); err != nil || first != second {
		t.Errorf("fingerprints %x and %x, %v", first, second, err)
	}
}

// TestFingerprintsDiffer changes each option of how a pool balances alone, in every place where it may be
// nil, zero or more: Equal distinguishes all of them, and the fingerprint all that hashing can.
func TestFingerprintsDiffer(t *testing.T) {
	for _, of := range []any{
		HashStrategy{}, OutlierDetection{}, ServerRetry{}, ServerLimits{}, ServerHealthCheck{}, ServersLoadBalancer{},
	} {
		typ := reflect.TypeOf(of)
		zero := reflect.New(typ).Interface()
		base, err := Fingerprint(zero)
		if err != nil {
			t.Fatal(err)
		}
		for i := range typ.NumField() {
			field := typ.Field(i)
			seen := map[uint64]bool{base: true}
			for at, value := range values(t, field.Type) {
				object := reflect.New(typ)
				object.Elem().Field(i).Set(value)
				sum, err := Fingerprint(object.Interface())
				if err != nil {
					t.Fatal(err)
				}
				if Equal(zero, object.Interface()) {
					t.Errorf("%s.%s: value %d is equal to none", typ.Name(), field.Name, at)
				}
				empty := at == 0 && field.Type.Kind() != reflect.Struct && !filled(value)
				if seen[sum] && !empty {
					t.Errorf("%s.%s: value %d has the fingerprint of another one", typ.Name(), field.Name, at)
				}
				seen[sum] = true
			}
		}
	}
}

// filled reports whether a value holds more than a zero.
func filled(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.Pointer:
		return !value.Elem().IsZero()
	case reflect.Slice, reflect.Map:
		return value.Len() > 0
	default:
		return true
	}
}

// values returns values of a type that differ from its zero and from each other; of what may be nil, the first one is
// empty.
func values(t *testing.T, typ reflect.Type) []reflect.Value {
	t.Helper()
	one := reflect.New(typ).Elem()
	switch {
	case typ.Kind() == reflect.Pointer:
		all := []reflect.Value{reflect.New(typ.Elem())}
		for _, inner := range values(t, typ.Elem()) {
			pointer := reflect.New(typ.Elem())
			pointer.Elem().Set(inner)
			all = append(all, pointer)
		}
		return all
	case typ.Kind() == reflect.Struct:
		var all []reflect.Value
		for i := range typ.NumField() {
			for _, inner := range values(t, typ.Field(i).Type) {
				if filled(inner) {
					whole := reflect.New(typ).Elem()
					whole.Field(i).Set(inner)
					all = append(all, whole)
				}
			}
		}
		return all
	case typ.Kind() == reflect.Slice:
		return []reflect.Value{reflect.MakeSlice(typ, 0, 0), reflect.MakeSlice(typ, 1, 1)}
	case typ.Kind() == reflect.Map:
		full := reflect.MakeMap(typ)
		full.SetMapIndex(reflect.Zero(typ.Key()), reflect.Zero(typ.Elem()))
		return []reflect.Value{reflect.MakeMap(typ), full}
	case one.CanInt():
		one.SetInt(7)
	case typ.Kind() == reflect.String:
		one.SetString("x")
	case typ.Kind() == reflect.Bool:
		one.SetBool(true)
	default:
		t.Fatalf("no value of %s", typ)
	}
	return []reflect.Value{one}
}
