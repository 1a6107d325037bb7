package accesslog_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/accesslog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is when the requests of tests begin.
var start = time.Date(2026, time.November, 21, 23, 19, 28, 120_450_000, time.UTC)

// zone is where the logs of tests are written.
func zone() *time.Location { return time.FixedZone("", -(3*60+30)*60) }

// config returns a configuration as the static configuration would be decoded.
func config(format string, change func(*static.AccessLog)) static.AccessLog {
	var c static.AccessLog
	c.SetDefaults()
	c.Format = format
	c.Fields = &static.AccessLogFields{Headers: &static.FieldHeaders{}, QueryParameters: &static.FieldQuery{}}
	c.Fields.SetDefaults()
	c.Fields.Headers.SetDefaults()
	c.Fields.QueryParameters.SetDefaults()
	if change != nil {
		change(&c)
	}
	return c
}

// answered returns the record of a request that an endpoint has answered.
func answered() *telemetry.Record {
	return &telemetry.Record{
		Start: start, Method: "GET", Host: "shop.example.com:8443", Path: "/cart/items", Query: "id=7&token=s3cret",
		Client: "192.0.2.7", ClientPort: "51234",
		Protocol: "http", Version: "HTTP/1.1", Entrypoint: "websecure", Router: "shop@file", Service: "carts@file",
		Endpoint:    "198.51.100.4:8080",
		EndpointURL: "http://198.51.100.4:8080", Username: "ada", Status: 200, BytesSent: 512, BytesReceived: 17,
		Duration:        12_345_678,
		ServiceDuration: 12_000_000, OriginStatus: 200, OriginBytes: 2048, Tries: 2, Generation: 41, RequestID: "req-1",
		Observe: telemetry.ObserveAccess | telemetry.ObserveHeaders,
		TLS: &tls.ConnectionState{
			Version: tls.VersionTLS13, CipherSuite: tls.TLS_AES_128_GCM_SHA256,
			PeerCertificates: []*x509.Certificate{
				{Subject: pkix.Name{CommonName: "ada", Organization: []string{"Example"}}},
			},
		},
		Trace: telemetry.TraceContext{TraceID: [16]byte{1, 2, 15: 0xff}, SpanID: [8]byte{7: 9}, Sampled: true},
	}
}

// request returns the request that a record is of, as the entrypoint passes it on.
func request(header http.Header) *http.Request {
	return &http.Request{Method: http.MethodGet, Header: header}
}

// sink is a writer that keeps what it gets.
type sink struct {
	mu   sync.Mutex
	text []byte
}

// Write keeps p.
func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, p...)
	return len(p), nil
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}

// running runs a log until stop is called, which returns what Run does.
func running(t *testing.T, c static.AccessLog, options accesslog.Options) (log *accesslog.Log, stop func() error) {
	t.Helper()
	log, err := accesslog.New(c, options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- log.Run(ctx) }()
	stopped := sync.OnceValue(func() error {
		cancel()
		return <-result
	})
	t.Cleanup(func() { _ = stopped() })
	return log, stopped
}

// written returns what a log with that configuration makes of requests. It ends in a bubble, for its end may take a
// second, which a busy machine may lose.
func written(t *testing.T, c static.AccessLog, header http.Header, records ...*telemetry.Record) string {
	t.Helper()
	var out sink
	synctest.Test(t, func(t *testing.T) {
		log, stop := running(t, c, accesslog.Options{Stdout: &out, Location: zone()})
		for _, record := range records {
			sent := record.RequestID
			log.Began(record, request(header.Clone()))
			if sent != "" {
				record.RequestID = sent
			}
			log.Finished(record)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
	return out.String()
}

// object reads a line of JSON.
func object(t *testing.T, line string) map[string]any {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(line), &members); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return members
}

// recorder is a logger that keeps the lines.
type recorder struct {
	telemetry.Discard
	lines chan string
}

// Warn keeps the line.
func (l recorder) Warn(message string, _ ...any) { l.lines <- message }

// Info keeps the line.
func (l recorder) Info(message string, _ ...any) { l.lines <- message }

// Error keeps the line.
func (l recorder) Error(message string, _ ...any) { l.lines <- message }

// writer is a function that writes.
type writer func([]byte) (int, error)

// Write calls it.
func (w writer) Write(p []byte) (int, error) { return w(p) }

var _ io.Writer = writer(nil)
