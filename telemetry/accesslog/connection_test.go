package accesslog_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/accesslog"
)

// connected returns the record of a connection whose TLS ended at Sluice.
func connected() *telemetry.Record {
	return &telemetry.Record{
		Start: start, Protocol: telemetry.ProtocolTCP, Client: "192.0.2.7", ClientPort: "51234",
		ServerName: "db.example.com", Entrypoint: "postgres", Router: "db@file", Service: "db-servers@file",
		Endpoint: "198.51.100.4:5432", Tries: 2, BytesReceived: 1234, BytesSent: 56_789, End: "client_eof",
		Duration: 12_345_678, Generation: 41, TLS: answered().TLS,
		Observe: telemetry.ObserveAccess | telemetry.ObserveTrace,
	}
}

// session returns the record of a session of a UDP router.
func session() *telemetry.Record {
	return &telemetry.Record{
		Start: start, Protocol: telemetry.ProtocolUDP, Client: "2001:db8::9", ClientPort: "40000", Entrypoint: "dns",
		Router: "dns@file", Service: "dns-servers@file", Endpoint: "198.51.100.4:53", Tries: 1, BytesReceived: 64,
		BytesSent: 512, DatagramsReceived: 2, DatagramsSent: 1, End: "responses", Duration: 1_500_000, Generation: 41,
		Observe: telemetry.ObserveAccess,
	}
}

// connections are records for the golden files of each format.
func connections() []*telemetry.Record {
	refused := &telemetry.Record{
		Start: start, Protocol: telemetry.ProtocolTCP, Client: "192.0.2.7", ClientPort: "51234", Entrypoint: "postgres",
		Router: "db@file", Code: telemetry.CodeForbidden, Reason: "middleware office@file: 192.0.2.7 is not allowed",
		Duration: 1, Generation: 42, Observe: telemetry.ObserveAccess,
	}
	hostile := connected()
	hostile.TLS, hostile.ServerName = nil, "a\" [x]\r\n1.2.3.4 - root\x1b[31m\u2028\u202e\xff\\"
	return []*telemetry.Record{connected(), session(), refused, hostile}
}

func TestLinesOfConnections(t *testing.T) {
	some := func(c *static.AccessLog) {
		c.Fields.DefaultMode = "drop"
		c.Fields.Names = map[string]string{"tlsservername": "keep", "BytesSent": "keep", "ConnectionEnd": "keep"}
	}
	for name, c := range map[string]static.AccessLog{
		"json": config("json", nil), "json-some": config("json", some), "common": config("common", nil),
		"common-some": config("common", some), "genericCLF": config("genericCLF", nil),
	} {
		t.Run(name, func(t *testing.T) {
			got := writtenWithoutRequests(t, c, accesslog.Options{}, connections()...)
			if lines := strings.Count(got, "\n"); lines != len(connections()) {
				t.Errorf("%d lines, want %d", lines, len(connections()))
			}
			golden(t, filepath.Join("testdata", "connections-"+name+".golden"), got)
		})
	}
}

// writtenWithoutRequests returns what a log makes of records that had no request.
func writtenWithoutRequests(
	t *testing.T, c static.AccessLog, options accesslog.Options, records ...*telemetry.Record,
) string {
	t.Helper()
	var out sink
	options.Stdout, options.Location = &out, zone()
	log, stop := running(t, c, options)
	for _, record := range records {
		log.Finished(record)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestConnectionsAreNoRequests looks at fields that only requests have, and at their number.
func TestConnectionsAreNoRequests(t *testing.T) {
	got := writtenWithoutRequests(t, config("json", nil), accesslog.Options{}, connected(), session(), answered())
	lines := slices.Collect(strings.Lines(got))
	for _, line := range lines[:2] {
		for name := range object(t, line) {
			for _, of := range []string{"Request", "Downstream", "Origin", "Overhead", "ServiceURL", "Gzip", "Span", "Trace"} {
				if strings.HasPrefix(name, of) {
					t.Errorf("a connection has %s", name)
				}
			}
		}
	}
	request := object(t, lines[2])
	if request["RequestCount"] != 1.0 || request["Protocol"] != nil || request["BytesSent"] != nil {
		t.Errorf("the request after two connections: %v", request)
	}
}

func TestFiltersOfConnections(t *testing.T) {
	second := static.Duration(time.Second)
	for _, row := range []struct {
		name     string
		filters  static.AccessLogFilters
		tries    int
		duration time.Duration
		want     bool
	}{
		{"no condition", static.AccessLogFilters{}, 1, 0, true},
		{"statuses do not count", static.AccessLogFilters{StatusCodes: []string{"500-599"}}, 1, 0, true},
		{"long", static.AccessLogFilters{MinDuration: second}, 1, time.Second, true},
		{"short", static.AccessLogFilters{MinDuration: second}, 1, time.Second - 1, false},
		{"short, beside a status", static.AccessLogFilters{StatusCodes: []string{"200"}, MinDuration: second}, 1, 0, false},
		{"a second endpoint", static.AccessLogFilters{RetryAttempts: true, MinDuration: second}, 2, 0, true},
		{"no second endpoint", static.AccessLogFilters{RetryAttempts: true}, 1, 0, false},
	} {
		for _, record := range []*telemetry.Record{connected(), session()} {
			record.Tries, record.Duration = row.tries, row.duration
			c := config("json", func(c *static.AccessLog) { c.Filters = &row.filters })
			if got := writtenWithoutRequests(t, c, accesslog.Options{}, record) != ""; got != row.want {
				t.Errorf("%s: %s is logged: %t, want %t", row.name, record.Protocol, got, row.want)
			}
		}
	}
	unobserved := connected()
	unobserved.Observe = telemetry.ObserveMetrics
	if got := writtenWithoutRequests(t, config("json", nil), accesslog.Options{}, unobserved); got != "" {
		t.Errorf("a connection is logged whose router is not: %s", got)
	}
}

func TestConnectionsAreSentToCollectors(t *testing.T) {
	e := &exporter{}
	got := writtenWithoutRequests(t, config("common", collected(nil)), accesslog.Options{Exporter: e}, connected())
	if got != "" {
		t.Errorf("a line is written beside the collector: %s", got)
	}
	attributes := e.attributes(t)
	want := map[string]any{
		"Protocol": "tcp", "TLSServerName": "db.example.com", "ConnectionEnd": "client_eof", "BytesReceived": 1234.0,
		"BytesSent": 56789.0, "RouterName": "db@file", "RetryAttempts": 1.0,
	}
	for name, value := range want {
		if diff := cmp.Diff(value, attributes[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTailShowsConnections(t *testing.T) {
	for query, want := range map[string]bool{
		"": true, "protocol=TCP&router=db@file&service=db-servers@file&host=DB.example.com": true,
		"protocol=udp": false, "host=other.example.com": false, "method=GET": false, "path=/": false, "status=2xx": false,
	} {
		tail := accesslog.NewTail()
		viewer := watch(t, tail, query)
		tail.Finished(connected())
		if got := len(viewer.Lines()) == 1; got != want {
			t.Errorf("%q selects the connection: %v", query, got)
			continue
		}
		if want {
			shown := object(t, string(<-viewer.Lines()))
			if shown["TLSServerName"] != "db.example.com" || shown["Protocol"] != "tcp" {
				t.Errorf("%q shows %v", query, shown)
			}
		}
	}
}

// FuzzServerName puts a text that a client chose into a line of each format, and demands one line with its columns.
func FuzzServerName(f *testing.F) {
	for _, text := range hostile() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		record := connected()
		record.ServerName = text
		got := writtenWithoutRequests(t, config("json", nil), accesslog.Options{}, record)
		if strings.Count(got, "\n") != 1 {
			t.Fatalf("not one line: %q", got)
		}
		name, shown := object(t, got)["TLSServerName"].(string)
		if shown != (text != "") || name != valid(text) {
			t.Errorf("the server name is %q, want %q", name, valid(text))
		}
		got = writtenWithoutRequests(t, config("common", nil), accesslog.Options{}, record)
		line, ok := strings.CutSuffix(got, "\n")
		if !ok || strings.Contains(line, "\n") {
			t.Fatalf("not one line: %q", got)
		}
		columns := split(line)
		if len(columns) != 11 || strings.Count(columns[4], " ") != 1 {
			t.Errorf("%d columns, want 11: %.300s", len(columns), line)
		}
	})
}
