package otlp_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/otlp"
)

// TestWhatIsTakenInPart demands that a collector which accepts a part of a batch is reported, and no more
// than the part is lost.
func TestWhatIsTakenInPart(t *testing.T) {
	const batch = 10
	tests := map[string]struct {
		partly *partly
		lost   int
		says   string
	}{
		"all of it":           {lost: 0},
		"but for some":        {&partly{3, "too old (2019)"}, 3, "too old (2019)"},
		"with a warning":      {&partly{0, "please (1 of you) use the other port"}, 0, "the other port"},
		"with a text of ours": {&partly{2, "OTLP partial success: none (9 spans rejected)"}, 2, "none"},
		"more than there is":  {&partly{99, "all"}, batch, "all"},
		"less than nothing":   {&partly{-5, "odd"}, 0, "odd"},
	}
	for title, test := range tests {
		for way, options := range map[string]func(c *collector) (*static.OTLPGRPC, *static.OTLPHTTP){
			"grpc": func(c *collector) (*static.OTLPGRPC, *static.OTLPHTTP) {
				return grpcOptions(c.byGRPC(t), true, nil), nil
			},
			"http": func(c *collector) (*static.OTLPGRPC, *static.OTLPHTTP) {
				return nil, httpOptions(c.byHTTP(t, false).URL, nil)
			},
		} {
			for signal, send := range senders() {
				t.Run(title+"/"+way+"/"+signal, func(t *testing.T) {
					c := newCollector()
					c.partly = test.partly
					grpc, http := options(c)
					err := send(t.Context(), grpc, http)
					if lost := telemetry.Unsent(err, batch); lost != test.lost {
						t.Errorf("%d of %d are lost: %v", lost, batch, err)
					}
					if test.partly == nil {
						if err != nil {
							t.Error(err)
						}
						return
					}
					if failure, ok := errors.AsType[*otlp.Failure](err); !ok || failure.Signal != signal ||
						!strings.Contains(failure.Reason, test.says) {
						t.Errorf("error %v", err)
					}
				})
			}
		}
	}
}

// TestSpansAreSentInBinary sets the variable of the environment that has OpenTelemetry's clients send JSON,
// which not every collector reads.
func TestSpansAreSentInBinary(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json")
	c := newCollector()
	made := tracer(t, nil, httpOptions(c.byHTTP(t, false).URL, nil), &lines{})
	request(made, "agent")
	if err := made.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if made.Dropped() != 0 || name(<-c.arrivals) != "GET" {
		t.Errorf("%d spans are dropped", made.Dropped())
	}
}
