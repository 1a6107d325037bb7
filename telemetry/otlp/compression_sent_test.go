package otlp_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
)

// encodings records how each call to a server of gRPC is compressed, which handlers do not learn.
type encodings chan string

func (encodings) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (e encodings) HandleRPC(_ context.Context, of stats.RPCStats) {
	if head, ok := of.(*stats.InHeader); ok {
		e <- head.Compression
	}
}

func (encodings) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (encodings) HandleConn(context.Context, stats.ConnStats) {}

// TestBatchesAreCompressed demands it where they leave the machine, as far as the address shows: 0.0.0.0 does
// not show that it is this one.
func TestBatchesAreCompressed(t *testing.T) {
	for host, want := range map[string]string{"127.0.0.1": "", "0.0.0.0": "gzip"} {
		for signal, send := range senders() {
			t.Run(host+"/"+signal, func(t *testing.T) {
				c := newCollector()
				byHTTP := httpOptions(strings.Replace(c.byHTTP(t, false).URL, "127.0.0.1", host, 1), nil)
				byHTTP.Headers["content-encoding"], byHTTP.Headers["accept-encoding"] = "br", "br" // Neither would be true.
				if err := send(t.Context(), nil, byHTTP); err != nil {
					t.Fatal(err)
				}
				arrived := <-c.arrivals
				if got := arrived.header("content-encoding"); got != want || arrived.header("accept-encoding") != "gzip" {
					t.Errorf("by HTTP the encoding is %q, want %q; accepted is %q", got, want, arrived.header("accept-encoding"))
				}
				seen := make(encodings, 1)
				options := grpcOptions(strings.Replace(c.byGRPC(t, grpc.StatsHandler(seen)), "127.0.0.1", host, 1), true, nil)
				if err := send(t.Context(), options, nil); err != nil {
					t.Fatal(err)
				}
				if got := <-seen; strings.TrimPrefix(got, "identity") != want {
					t.Errorf("by gRPC the encoding is %q, want %q", got, want)
				}
			})
		}
	}
}
