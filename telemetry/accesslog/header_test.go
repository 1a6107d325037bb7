package accesslog_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/accesslog"
)

// TestCredentialsAreKeptOnlyByName plants a credential in each header that may carry one.
func TestCredentialsAreKeptOnlyByName(t *testing.T) {
	names := []string{
		"Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Api-Key", "X-Auth-Token",
		"X-Csrf-Token", "X-Amz-Security-Token",
	}
	header := http.Header{}
	for _, name := range names {
		header.Set(name, "s3cret-"+name)
	}
	record := func() *telemetry.Record {
		r := answered()
		r.Query, r.ResponseHeader, r.OriginHeader = "", header, header
		return r
	}
	all := func(c *static.AccessLog) { c.Fields.Headers.DefaultMode = "keep" }
	if got := written(t, config("json", all), header, record()); strings.Contains(got, "s3cret") ||
		strings.Count(got, "REDACTED") != 3*len(names) {
		t.Errorf("credentials are not redacted: %s", got)
	}
	one := func(c *static.AccessLog) {
		all(c)
		c.Fields.Headers.Names = map[string]string{"x-api-key": "keep"}
	}
	got := written(t, config("json", one), header, record())
	if strings.Count(got, "s3cret") != 3 || strings.Count(got, "s3cret-X-Api-Key") != 3 {
		t.Errorf("a header that is named is not kept, or others are: %s", got)
	}
	twice := func(c *static.AccessLog) {
		c.Fields.Headers.Names = map[string]string{"cookie": "keep", "Cookie": "redact", "COOKIE": "keep"}
	}
	if got := written(t, config("json", twice), header, record()); strings.Contains(got, "s3cret") {
		t.Errorf("where spellings disagree, the one that shows more is taken: %s", got)
	}
	if got := written(t, config("json", nil), header, record()); strings.Contains(got, "s3cret") ||
		strings.Contains(got, "request_") {
		t.Errorf("headers are logged by default: %s", got)
	}
}

// TestHeadersAreThoseOfTheClient changes the request after it has begun, as middlewares do.
func TestHeadersAreThoseOfTheClient(t *testing.T) {
	for _, mode := range []string{"keep", "drop"} {
		c := config("json", func(c *static.AccessLog) {
			c.Fields.Headers.DefaultMode = mode
			c.Fields.Headers.Names = map[string]string{"X-User": "keep", "X-Forwarded-For": "drop"}
		})
		var out sink
		log, stop := running(t, c, accesslog.Options{Stdout: &out})
		r := request(http.Header{"X-User": {"ada", "bob"}, "X-Forwarded-For": {"203.0.113.9"}})
		record := answered()
		log.Began(record, r)
		r.Header.Set("X-User", "mallory")
		r.Header.Set("X-Forwarded-For", "192.0.2.1")
		log.Finished(record)
		if record.Captured != nil {
			t.Error("the record still has what was captured")
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		members := object(t, out.String())
		if members["request_X-User"] != "ada,bob" || members["ClientHost"] != "203.0.113.9" {
			t.Errorf("%s: the line has %v and %v", mode, members["request_X-User"], members["ClientHost"])
		}
	}
}

// TestRequestsDoNotShareWhatIsCaptured follows a request with many headers by one with few, which gets its memory.
func TestRequestsDoNotShareWhatIsCaptured(t *testing.T) {
	c := config("json", func(c *static.AccessLog) { c.Fields.Headers.DefaultMode = "keep" })
	var out sink
	log, stop := running(t, c, accesslog.Options{Stdout: &out})
	many := http.Header{}
	for i := range 60 {
		many.Set("X-"+string(rune('A'+i%26))+strings.Repeat("x", i), "first")
	}
	for _, header := range []http.Header{many, {"A": {"first"}, "B": {"first"}}, {"A": {"second"}}, {}} {
		record := answered()
		log.Began(record, request(header))
		log.Finished(record)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(out.String(), "\n")
	for i, want := range []int{60, 2, 1, 0} {
		if n := strings.Count(got[i], `"request_`); n != want {
			t.Errorf("line %d has %d headers, want %d: %s", i, n, want, got[i])
		}
	}
}

func TestRequestIDs(t *testing.T) {
	began := func(forward bool, sent ...string) (*telemetry.Record, *http.Request, map[string]any) {
		var out sink
		log, stop := running(t, config("json", func(c *static.AccessLog) { c.ForwardRequestID = forward }),
			accesslog.Options{Stdout: &out})
		record, r := answered(), request(http.Header{})
		if sent != nil {
			r.Header["X-Request-Id"] = sent
		}
		log.Began(record, r)
		log.Finished(record)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		return record, r, object(t, out.String())
	}
	record, r, members := began(true, "abc-1")
	if record.RequestID != "abc-1" || members["RequestId"] != "abc-1" || r.Header.Get("X-Request-Id") != "abc-1" {
		t.Errorf("the id of the client is not used: %v", members["RequestId"])
	}
	for _, sent := range [][]string{
		nil,
		{""},
		{"two", "ids"},
		{strings.Repeat("x", 129)},
		{"with space"},
		{"line\nbreak"},
	} {
		record, r, members = began(true, sent...)
		if id := members["RequestId"].(string); len(id) < 18 || record.RequestID != id ||
			!cmp.Equal(r.Header["X-Request-Id"], []string{id}) {
			t.Errorf("%q: the line has id %q, the record %q, the request %q", sent, id, record.RequestID,
				r.Header["X-Request-Id"])
		}
		_, r, members = began(false, sent...)
		if id := members["RequestId"].(string); len(id) < 18 || !cmp.Equal(r.Header["X-Request-Id"], sent) {
			t.Errorf("%q: the line has id %q, the request %q without accessLog.forwardRequestID", sent, id,
				r.Header["X-Request-Id"])
		}
	}
	record = answered()
	record.RequestID = ""
	other := answered()
	other.RequestID = ""
	got := strings.Split(written(t, config("json", nil), http.Header{}, record, other), "\n")
	if one, two := object(t, got[0])["RequestId"], object(t, got[1])["RequestId"]; one == two {
		t.Errorf("two requests are both called %s", one)
	}
}

func TestObserves(t *testing.T) {
	named := func(c *static.AccessLog) { c.Fields.Headers.Names = map[string]string{"Server": "keep"} }
	for _, row := range []struct {
		config static.AccessLog
		want   telemetry.Observe
	}{
		{config("json", nil), telemetry.ObserveAccess},
		{config("json", named), telemetry.ObserveAccess | telemetry.ObserveHeaders},
		{config("common", named), telemetry.ObserveAccess}, // It has no column for a header of a response.
	} {
		log, err := accesslog.New(row.config, accesslog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := log.Observes(); got != row.want {
			t.Errorf("%s: got %b, want %b", row.config.Format, got, row.want)
		}
	}
}
