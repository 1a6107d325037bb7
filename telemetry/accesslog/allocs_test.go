//go:build !race

package accesslog_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry/accesslog"
)

// TestLinesCostNoAllocation leaves out the race detector, under which a sync.Pool drops items at random.
func TestLinesCostNoAllocation(t *testing.T) {
	for _, format := range []string{"json", "common", "genericCLF"} {
		c := config(format, func(c *static.AccessLog) {
			c.BufferingSize = 64 // More lines that wait are more memory, which is no cost of a line.
			c.Fields.Headers.Names = map[string]string{"User-Agent": "keep", "Cookie": "redact", "Referer": "keep"}
		})
		log, err := accesslog.New(c, accesslog.Options{Stdout: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- log.Run(ctx) }()
		record, r := answered(), request(browser())
		record.TLS.PeerCertificates = nil // The name of a certificate is put together anew each time.
		record.ResponseHeader, record.OriginHeader = http.Header{"Cookie": {"x"}}, http.Header{"User-Agent": {"y"}}
		average := testing.AllocsPerRun(2000, func() {
			record.RequestID = ""
			log.Began(record, r)
			log.Finished(record)
		})
		if average > 0.5 {
			t.Errorf("%s: a line costs %.2f allocations", format, average)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestLinesOfConnectionsCostNoAllocation counts what a connection costs beside its record.
func TestLinesOfConnectionsCostNoAllocation(t *testing.T) {
	c := config("json", func(c *static.AccessLog) { c.BufferingSize = 64 })
	log, stop := running(t, c, accesslog.Options{Stdout: io.Discard})
	record := connected()
	record.TLS.PeerCertificates = nil
	if average := testing.AllocsPerRun(2000, func() { log.Finished(record) }); average > 0.5 {
		t.Errorf("a line costs %.2f allocations", average)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
