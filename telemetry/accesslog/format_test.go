package accesslog_test

import (
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

var update = flag.Bool("update", false, "write the golden files of lines anew")

// lines are requests and what they come with, for the golden files of each format.
func lines() []*telemetry.Record {
	refused := &telemetry.Record{
		Start: start, Method: "GET", Host: "[2001:db8::1]", Path: "/", Client: "2001:db8::9", ClientPort: "40000",
		Version:    "HTTP/2.0",
		Entrypoint: "web", Status: 404, Duration: 80_000, Code: telemetry.CodeNoRouter, Reason: "no router matches",
		Generation: 42,
		RequestID:  "req-2", Observe: telemetry.ObserveAccess,
	}
	malformed := &telemetry.Record{
		Start: start, Method: "GET", Client: "192.0.2.7", ClientPort: "51234", Version: "HTTP/1.1", Entrypoint: "web",
		Status:   400,
		Duration: 1, Code: telemetry.CodeBadRequest, Reason: "a header has an underscore in its name", RequestID: "req-3",
		Observe: telemetry.ObserveAccess,
	}
	hostile := answered()
	hostile.RequestID, hostile.TLS, hostile.Trace = "req-4", nil, telemetry.TraceContext{}
	hostile.Username, hostile.Path = "eve\" [x]\r\n1.2.3.4 - root", "/\x1b[31m\u2028\u202e\xff\""
	hostile.Method, hostile.Query = "GET\n", "a=\"\\&b"
	hostile.Ingress = &telemetry.Ingress{Namespace: "shop", Name: "front\",\n", Service: "web", Port: "http"}
	return []*telemetry.Record{answered(), refused, malformed, hostile}
}

func TestLines(t *testing.T) {
	header := http.Header{
		"User-Agent": {`curl "8"` + "\n"}, "Referer": {"https://example.com/\t"}, "Authorization": {"Bearer s3cret"},
		"Cookie": {"session=s3cret"},
		"Accept": {"text/html", "*/*"}, "X-Forwarded-For": {"203.0.113.9, 198.51.100.77"}, "X-Internal": {"s3cret"},
	}
	everything := func(c *static.AccessLog) {
		c.Fields.Headers.DefaultMode = "keep"
		c.Fields.Headers.Names = map[string]string{"x-internal": "redact", "accept-encoding": "drop"}
		c.Fields.QueryParameters.DefaultMode = "redact"
	}
	some := func(c *static.AccessLog) {
		c.Fields.DefaultMode = "drop"
		c.Fields.Names = map[string]string{
			"downstreamstatus": "keep", "StartLocal": "keep", "RequestMethod": "KEEP",
			"RequestPath": "keep",
		}
		c.Fields.Headers.Names = map[string]string{"user-agent": "keep", "Authorization": "redact"}
		c.Fields.QueryParameters.DefaultMode = "drop"
	}
	for name, c := range map[string]static.AccessLog{
		"json": config("json", nil), "json-everything": config("json", everything), "json-some": config("json", some),
		"common": config("common", nil), "common-everything": config("common", everything),
		"common-some": config("common", some),
		"genericCLF":  config("genericCLF", everything),
	} {
		t.Run(name, func(t *testing.T) {
			records := lines()
			for _, record := range records {
				record.OriginHeader = http.Header{"Server": {"carts"}, "Set-Cookie": {"a=s3cret", "b=s3cret"}}
				record.ResponseHeader = http.Header{
					"Content-Type": {"text/html"}, "Set-Cookie": {"a=s3cret"},
					"Vary": {"Accept", "Cookie"},
				}
			}
			got := written(t, c, header, records...)
			if strings.Contains(got, "s3cret") && c.Fields.QueryParameters.DefaultMode != "keep" {
				t.Errorf("a secret is written:\n%s", got)
			}
			golden(t, filepath.Join("testdata", name+".golden"), got)
		})
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestJSONHasTheFieldsOfTraefik compares types and values with what Traefik 3.7 writes for the same request.
func TestJSONHasTheFieldsOfTraefik(t *testing.T) {
	members := object(t, written(t, config("json", nil), http.Header{}, answered()))
	want := map[string]any{
		"ClientAddr": "192.0.2.7:51234", "ClientHost": "192.0.2.7", "ClientPort": "51234", "ClientUsername": "ada",
		"DownstreamContentSize": 512.0, "DownstreamStatus": 200.0, "Duration": 12345678.0, "GzipRatio": 4.0,
		"OriginContentSize": 2048.0, "OriginDuration": 12000000.0, "OriginStatus": 200.0, "Overhead": 345678.0,
		"RequestAddr": "shop.example.com:8443", "RequestContentSize": 17.0, "RequestCount": 1.0,
		"RequestHost":   "shop.example.com",
		"RequestMethod": "GET", "RequestPath": "/cart/items?id=7&token=s3cret", "RequestPort": "8443",
		"RequestProtocol": "HTTP/1.1",
		"RequestScheme":   "https", "RetryAttempts": 1.0, "RouterName": "shop@file", "ServiceAddr": "198.51.100.4:8080",
		"ServiceName": "carts@file", "ServiceURL": "http://198.51.100.4:8080", "StartUTC": "2026-11-21T23:19:28.12045Z",
		"StartLocal": start.In(zone()).Format(time.RFC3339Nano), "TLSCipher": "TLS_AES_128_GCM_SHA256",
		"TLSClientSubject": "CN=ada,O=Example",
		"TLSVersion":       "1.3", "TraceId": "010200000000000000000000000000ff", "SpanId": "0000000000000009",
		"trace_id": "010200000000000000000000000000ff", "span_id": "0000000000000009", "entryPointName": "websecure",
		"level": "info", "msg": "", "time": start.Add(12345678).In(zone()).Format(time.RFC3339),
		"RequestId": "req-1", "ConfigGeneration": 41.0,
	}
	if diff := cmp.Diff(want, members); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A port of a Service is a text also where it is a number, as in Traefik 3.7. What an Ingress does not say is absent.
func TestFieldsOfIngresses(t *testing.T) {
	for _, test := range []struct {
		ingress telemetry.Ingress
		want    map[string]any
	}{
		{
			telemetry.Ingress{Namespace: "shop", Name: "front", Service: "web", Port: "80"},
			map[string]any{
				"KubernetesIngressNamespace": "shop", "KubernetesIngressName": "front", "KubernetesServiceName": "web",
				"KubernetesServicePort": "80",
			},
		},
		{telemetry.Ingress{Namespace: "shop", Name: "bucket"}, map[string]any{
			"KubernetesIngressNamespace": "shop",
			"KubernetesIngressName":      "bucket",
		}},
	} {
		record := answered()
		record.Ingress = &test.ingress
		members := object(t, written(t, config("json", nil), http.Header{}, record))
		maps.DeleteFunc(members, func(name string, _ any) bool { return !strings.HasPrefix(name, "Kubernetes") })
		if diff := cmp.Diff(test.want, members); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// TestTimesAreThoseOfTheStandardLibrary looks at fractions, at zones, and at seconds that share a place in memory.
func TestTimesAreThoseOfTheStandardLibrary(t *testing.T) {
	var records []*telemetry.Record
	for i, fraction := range []time.Duration{0, 1, 10, 100_000_000, 999_999_999, 120_450_000, 5000} {
		record := answered()
		record.Start = start.Truncate(time.Second).Add(fraction + time.Duration(i*4)*time.Second)
		record.Duration = time.Duration(i) * 700 * time.Millisecond
		records = append(records, record, answered())
	}
	got := written(t, config("json", nil), http.Header{}, records...)
	for i, line := range slices.Collect(strings.Lines(got)) {
		var times struct {
			StartUTC   time.Time
			StartLocal time.Time
			Time       string `json:"time"`
		}
		if err := json.Unmarshal([]byte(line), &times); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(line, `"StartUTC":"`+records[i].Start.Format(time.RFC3339Nano)+`"`) {
			t.Errorf("%s does not have StartUTC %s", line, records[i].Start.Format(time.RFC3339Nano))
		}
		if !times.StartLocal.Equal(records[i].Start) {
			t.Errorf("StartLocal is %s, want %s", times.StartLocal, records[i].Start)
		}
		if end := records[i].Start.Add(records[i].Duration).In(zone()).Format(time.RFC3339); times.Time != end {
			t.Errorf("time is %s, want %s", times.Time, end)
		}
	}
}
