package accesslog_test

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry/accesslog"
)

// browser is the header of a request as a browser sends it.
func browser() http.Header {
	return http.Header{
		"User-Agent":      {"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"},
		"Accept":          {"text/html,application/xhtml+xml;q=0.9"},
		"Accept-Language": {"en-US,en;q=0.5"}, "Accept-Encoding": {"gzip, deflate, br, zstd"},
		"Cookie":  {"session=0123456789abcdef"},
		"Referer": {"https://shop.example.com/"}, "X-Forwarded-For": {"203.0.113.9"},
	}
}

// BenchmarkFinished measures what a line costs the request that it is about.
func BenchmarkFinished(b *testing.B) {
	headers := func(c *static.AccessLog) { c.Fields.Headers.DefaultMode = "keep" }
	for _, row := range []struct {
		name   string
		config static.AccessLog
	}{
		{"json", config("json", nil)},
		{"json-headers", config("json", headers)},
		{"common", config("common", nil)},
		{"genericCLF", config("genericCLF", nil)},
	} {
		b.Run(row.name, func(b *testing.B) {
			row.config.BufferingSize = 256 // As many as wait in practice; what is dropped has been encoded all the same.
			row.config.FilePath = filepath.Join(b.TempDir(), "access.log")
			log, err := accesslog.New(row.config, accesslog.Options{Stdout: io.Discard})
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan error, 1)
			go func() { done <- log.Run(ctx) }()
			record, r := answered(), request(browser())
			record.TLS = nil
			b.ReportAllocs()
			for b.Loop() {
				log.Began(record, r)
				log.Finished(record)
			}
			b.ReportMetric(float64(log.Dropped())/float64(b.N), "dropped/op")
			cancel()
			if err := <-done; err != nil {
				b.Error(err)
			}
		})
	}
}
