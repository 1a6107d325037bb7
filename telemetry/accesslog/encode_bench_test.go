package accesslog

import (
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// BenchmarkLine measures how long the writer takes to make a line of a small GET.
func BenchmarkLine(b *testing.B) {
	for _, format := range []string{"json", "common"} {
		b.Run(format, func(b *testing.B) {
			e, _, err := newEncoder(static.AccessLog{Format: format}, time.UTC)
			if err != nil {
				b.Fatal(err)
			}
			record := &telemetry.Record{
				Start: time.Now(), Duration: 629_766, ServiceDuration: 578_621, Client: "203.0.113.9", ClientPort: "53140",
				Method: "GET",
				Host:   "shop.example.com", Path: "/small", Version: "HTTP/1.1", Status: 200, BytesSent: 130, OriginStatus: 200,
				OriginBytes: 130,
				Generation:  1, Tries: 1, Router: "shop@file", Service: "shop@file", Endpoint: "10.1.2.3:8080",
				EndpointURL: "http://10.1.2.3:8080",
				Entrypoint:  "web",
			}
			l := &line{request: e.about(record, 1_234_567)}
			text := make([]byte, 0, lineRoom)
			for b.Loop() {
				text = e.appendLine(text[:0], l, false)
			}
			b.ReportMetric(float64(len(text)), "bytes")
		})
	}
}
