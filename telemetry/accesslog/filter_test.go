package accesslog_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/accesslog"
)

func TestFilters(t *testing.T) {
	record := func(status, tries int, duration time.Duration) *telemetry.Record {
		return &telemetry.Record{Status: status, Tries: tries, Duration: duration, Observe: telemetry.ObserveAccess}
	}
	for _, row := range []struct {
		name    string
		filters static.AccessLogFilters
		record  *telemetry.Record
		want    bool
	}{
		{"no condition", static.AccessLogFilters{}, record(200, 1, 0), true},
		{"a status", static.AccessLogFilters{StatusCodes: []string{"404"}}, record(404, 1, 0), true},
		{"another status", static.AccessLogFilters{StatusCodes: []string{"404"}}, record(200, 1, 0), false},
		{"the ends of a range", static.AccessLogFilters{StatusCodes: []string{"200", "500-503"}}, record(503, 1, 0), true},
		{"beyond a range", static.AccessLogFilters{StatusCodes: []string{"200", "500-503"}}, record(504, 1, 0), false},
		{"a client that left", static.AccessLogFilters{StatusCodes: []string{"400-499"}}, record(499, 1, 0), true},
		{"a retry", static.AccessLogFilters{RetryAttempts: true}, record(200, 2, 0), true},
		{"no retry", static.AccessLogFilters{RetryAttempts: true}, record(200, 1, 0), false},
		{"long", static.AccessLogFilters{MinDuration: static.Duration(time.Second)}, record(200, 1, time.Second), true},
		{"short", static.AccessLogFilters{MinDuration: static.Duration(time.Second)}, record(200, 1, time.Second-1), false},
		{
			"one of two",
			static.AccessLogFilters{StatusCodes: []string{"500"}, MinDuration: static.Duration(time.Second)},
			record(200, 1, 2*time.Second), true,
		},
		{"none of three", static.AccessLogFilters{
			StatusCodes: []string{"500"}, MinDuration: static.Duration(time.Second),
			RetryAttempts: true,
		}, record(200, 1, 1), false},
	} {
		c := config("common", func(c *static.AccessLog) { c.Filters = &row.filters })
		if got := written(t, c, http.Header{}, row.record) != ""; got != row.want {
			t.Errorf("%s: logged is %t, want %t", row.name, got, row.want)
		}
	}
}

func TestWhichRequestsAreLogged(t *testing.T) {
	unobserved, internal := answered(), answered()
	unobserved.Observe = telemetry.ObserveMetrics
	internal.Service = "api@internal"
	if got := written(t, config("common", nil), http.Header{}, unobserved, internal); got != "" {
		t.Errorf("requests are logged that are filtered out: %s", got)
	}
	internals := config("common", func(c *static.AccessLog) { c.AddInternals = true })
	if got := written(t, internals, http.Header{}, internal); strings.Count(got, "\n") != 1 {
		t.Errorf("accessLog.addInternals has no effect: %q", got)
	}
}

func TestWrongConfigurations(t *testing.T) {
	for _, row := range []struct {
		want   string
		change func(*static.AccessLog)
	}{
		{`accessLog.format "xml": `, func(c *static.AccessLog) { c.Format = "xml" }},
		{`accessLog.bufferingSize -1: `, func(c *static.AccessLog) { c.BufferingSize = -1 }},
		{`accessLog.filters.statusCodes "5xx": `, func(c *static.AccessLog) {
			c.Filters = &static.AccessLogFilters{StatusCodes: []string{"5xx"}}
		}},
		{
			`accessLog.filters.statusCodes "503-500": `,
			func(c *static.AccessLog) { c.Filters = &static.AccessLogFilters{StatusCodes: []string{"503-500"}} },
		},
		{`accessLog.filters.minDuration -1s: `, func(c *static.AccessLog) {
			c.Filters = &static.AccessLogFilters{MinDuration: -static.Duration(time.Second)}
		}},
		{`accessLog.fields.defaultMode "redact": `, func(c *static.AccessLog) { c.Fields.DefaultMode = "redact" }},
		{
			`accessLog.fields.names.Duration "hide": `,
			func(c *static.AccessLog) { c.Fields.Names = map[string]string{"Duration": "hide"} },
		},
		{`accessLog.fields.headers.defaultMode "all": `, func(c *static.AccessLog) { c.Fields.Headers.DefaultMode = "all" }},
		{
			`accessLog.fields.headers.names.Cookie "redcat": `,
			func(c *static.AccessLog) { c.Fields.Headers.Names = map[string]string{"Cookie": "redcat"} },
		},
		{
			`accessLog.fields.queryParameters.defaultMode "some": `,
			func(c *static.AccessLog) { c.Fields.QueryParameters.DefaultMode = "some" },
		},
		{`accessLog.filePath: `, func(c *static.AccessLog) { c.FilePath = "/dev/null/access.log" }},
		{`accessLog.otlp: `, func(c *static.AccessLog) { c.OTLP = &static.OTLP{} }},
	} {
		_, err := accesslog.New(config("json", row.change), accesslog.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), row.want) {
			t.Errorf("the error is %v, want one that begins with %q", err, row.want)
		}
	}
}

func TestUnknownFieldsAreReported(t *testing.T) {
	c := config("json", func(c *static.AccessLog) {
		c.Fields.Names = map[string]string{"RouterNmae": "drop", "routername": "drop"}
	})
	logger := recorder{lines: make(chan string, 1)}
	if _, err := accesslog.New(c, accesslog.Options{Logger: logger}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-logger.lines:
	default:
		t.Error("no warning about a field that does not exist")
	}
}
