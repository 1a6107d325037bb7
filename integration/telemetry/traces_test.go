package telemetry

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// text writes the value of an attribute.
func text(value *commonpb.AnyValue) string {
	switch value := value.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return value.StringValue
	case *commonpb.AnyValue_IntValue:
		return fmt.Sprint(value.IntValue)
	case *commonpb.AnyValue_DoubleValue:
		return fmt.Sprint(value.DoubleValue)
	case *commonpb.AnyValue_BoolValue:
		return fmt.Sprint(value.BoolValue)
	case *commonpb.AnyValue_ArrayValue:
		var all []string
		for _, one := range value.ArrayValue.GetValues() {
			all = append(all, text(one))
		}
		return strings.Join(all, ",")
	}
	return ""
}

// observed is a Sluice that sends everything to one collector.
type observed struct {
	*world
	collector *collector
}

// sending returns the options of a Sluice that exports everything to a collector, with a sampling rate for requests
// without a decision.
func sending(collector string, rate float64) string {
	return fmt.Sprintf(`
log: {level: DEBUG, otlp: {serviceName: own, %[1]s}}
accessLog: {format: json, otlp: {serviceName: access, %[1]s}}
metrics: {otlp: {serviceName: edge, addRoutersLabels: true, pushInterval: 200ms, %[1]s}}
tracing: {serviceName: edge, sampleRate: %[2]v, capturedRequestHeaders: [X-Kept], capturedResponseHeaders: [X-Backend],
  safeQueryParams: [page], otlp: {%[1]s}}
`, collector, rate)
}

// TestCollectors has a collector for each transport look at what arrives.
func TestCollectors(t *testing.T) {
	t.Parallel()
	for transport, rate := range map[string]float64{"grpc": 1, "http": 0} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			c := newCollector()
			o := observed{start(t, sending(c.listen(t, transport), rate), nil), c}
			sent := map[string]func(*testing.T) func(*testing.T){
				"decisions": func(t *testing.T) func(*testing.T) { return o.decisions(t, rate == 1) },
				"failures":  o.failures, "retries": o.retries, "detailed": o.detailed, "not traced": o.untraced,
				"metrics": o.pushed, "access log": o.access,
			}
			for i, protocol := range harness.Protocols() {
				sent["spans of "+string(protocol)] = func(t *testing.T) func(*testing.T) { return o.spans(t, protocol, i+1) }
			}
			arrived := map[string]func(*testing.T){}
			for name, send := range sent {
				arrived[name] = send(t) // Spans are on their way for up to five seconds.
			}
			o.marker(t) // What has not come by now will not.
			for name, look := range arrived {
				t.Run(name, look)
			}
			o.sluice.Stop() // The last lines come with the end.
			o.own(t)
		})
	}
}

// traceparent returns what a client sends that has decided.
func traceparent(n int, flags string) (id, value string) {
	id = fmt.Sprintf("%032x", 0xabc000+n)
	return id, "00-" + id + "-00000000000000aa-" + flags
}

// sampled sends a request that is marked as sampled. It returns the identity of the trace, and the headers of the
// endpoint.
func (o observed) sampled(t *testing.T, client *harness.Client, request *http.Request, n int) (string,
	harness.Response,
) {
	t.Helper()
	id, value := traceparent(n, "01")
	return id, client.Send(with(request, "Traceparent: "+value))
}

// await waits for so many spans of a trace.
func (o observed) await(t *testing.T, id string, n int) []*tracepb.Span {
	t.Helper()
	var found []*tracepb.Span
	harness.Until(t, fmt.Sprintf("%d spans of %s", n, id), func() bool {
		found = o.collector.trace(id)
		return len(found) >= n
	})
	if len(found) != n {
		t.Fatalf("%d spans, want %d: %v", len(found), n, found)
	}
	return found
}

// decisions looks at what endpoints receive: whose decision counts.
func (o observed) decisions(t *testing.T, all bool) func(*testing.T) {
	client := o.client(t, harness.H1, "shop.test")
	got := client.Get("/").Echo(t).Header.Get("Traceparent")
	if flags := map[bool]string{true: "-01", false: "-00"}[all]; len(got) != 55 || !strings.HasSuffix(got, flags) {
		t.Errorf("without a decision the endpoint gets traceparent %q, want flags %s", got, flags)
	}
	id, value := traceparent(1000, "00")
	request := with(client.Request(http.MethodGet, "/", nil), "Traceparent: "+value, "Tracestate: a=b")
	if echo := client.Send(request).Echo(t); echo.Header.Get("Traceparent") != value ||
		echo.Header.Get("Tracestate") != "a=b" {
		t.Errorf("the client has decided against it: the endpoint gets %q", echo.Header)
	}
	_, malformed := traceparent(1001, "01")
	malformed = strings.ToUpper(malformed)
	if got := client.Send(with(client.Request(http.MethodGet, "/", nil), "Traceparent: "+
		malformed)).Echo(t).Header.Get("Traceparent"); strings.EqualFold(got[:35], malformed[:35]) {
		t.Errorf("a malformed traceparent goes on as %q", got)
	}
	return func(t *testing.T) {
		if all {
			o.await(t, got[3:35], 2)
		}
		if spans := o.collector.trace(id); len(spans) > 0 {
			t.Errorf("the client has decided against it: %v", spans)
		}
	}
}

// marker returns when the span of a request has arrived that is sent now, and with it all before.
func (o observed) marker(t *testing.T) {
	t.Helper()
	client := o.client(t, harness.H1, "lost.test")
	id, _ := o.sampled(t, client, client.Request(http.MethodGet, "/", nil), 2000)
	o.await(t, id, 1)
}

// spans compares the two spans of a request with what was sent.
func (o observed) spans(t *testing.T, protocol harness.Protocol, n int) func(*testing.T) {
	client := o.client(t, protocol, "shop.test")
	request := with(client.Request(http.MethodPost, "/cart/items?page=2&token=s3cret", strings.NewReader("four")),
		"User-Agent: tester/1", "X-Kept: one")
	id, answer := o.sampled(t, client, request, n)
	return func(t *testing.T) { o.arrivedSpans(t, protocol, id, answer) }
}

func (o observed) arrivedSpans(t *testing.T, protocol harness.Protocol, id string, answer harness.Response) {
	t.Helper()
	echo := answer.Echo(t)
	both := o.await(t, id, 2)
	server, asked := both[0], both[1]
	if server.GetKind() != tracepb.Span_SPAN_KIND_SERVER || asked.GetKind() != tracepb.Span_SPAN_KIND_CLIENT {
		t.Fatalf("kinds %s and %s", server.GetKind(), asked.GetKind())
	}
	if hex.EncodeToString(server.GetParentSpanId()) != "00000000000000aa" ||
		string(asked.GetParentSpanId()) != string(server.GetSpanId()) {
		t.Errorf("the spans are not one below the other: %v", both)
	}
	if got, want := echo.Header.Get("Traceparent"), "00-"+id+"-"+hex.EncodeToString(asked.GetSpanId())+"-01"; got != want {
		t.Errorf("the endpoint gets traceparent %s, want %s", got, want)
	}
	got := values(server.GetAttributes())
	for _, changing := range []string{"client.port", "network.peer.port", "sluice.generation"} {
		if got[changing] == "" || got[changing] == "0" {
			t.Errorf("%s is %q", changing, got[changing])
		}
		delete(got, changing)
	}
	want := map[string]string{
		"entry_point": entrypoint(protocol), "http.request.method": "POST", "http.request.body.size": "4",
		"http.response.status_code": "200",
		"http.response.body.size":   fmt.Sprint(len(answer.Text)), "url.scheme": protocol.Scheme(), "url.path": "/cart/items",
		"url.query":      "page=2&token=REDACTED",
		"server.address": "shop.test", "client.address": "127.0.0.1", "network.peer.address": "127.0.0.1",
		"network.protocol.version": map[bool]string{true: "2", false: "1.1"}[protocol.HTTP2()],
		"user_agent.original":      "tester/1", "traefik.router.name": "shop@file", "traefik.service.name": "shop@file",
		"http.request.header.x-kept": "one", "http.response.header.x-backend": "shop",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the server span (-want +got):\n%s", diff)
	}
	if attributes := values(asked.GetAttributes()); attributes["url.full"] != "http://"+o.backend.H1+"/cart/items" ||
		attributes["http.response.status_code"] != "200" {
		t.Errorf("the client span has %v", attributes)
	}
	if begin, end := server.GetStartTimeUnixNano(), server.GetEndTimeUnixNano(); begin > asked.GetStartTimeUnixNano() ||
		end < asked.GetEndTimeUnixNano() || asked.GetEndTimeUnixNano() <= asked.GetStartTimeUnixNano() {
		t.Errorf("the client span is not within the server span: %v", both)
	}
	if server.GetName() != "POST" || server.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
		t.Errorf("the server span is %s with status %s", server.GetName(), server.GetStatus())
	}
}

// failure is a request that Sluice answers itself, with its span.
type failure struct {
	host, status, code string
	spans              int
	fault              bool
}

// failures looks at requests that Sluice answers itself.
func (o observed) failures(t *testing.T) func(*testing.T) {
	tests := []failure{
		{"lost.test", "404", "no_router", 1, false},
		{"empty.test", "503", "no_endpoint", 1, true},
		{"guarded.test", "401", "unauthorized", 1, false},
		{"late.test", "504", "endpoint_timeout", 2, true},
	}
	var traces []string
	for n, test := range tests {
		client := o.client(t, harness.H2, test.host)
		request := client.Request(http.MethodPost, "/", nil)
		if test.host == "late.test" {
			stream := o.backend.Stream("late-trace")
			defer close(stream.Events)
			request = client.Request(http.MethodPost, "/hang?id=late-trace", nil)
		}
		id, _ := o.sampled(t, client, request, 100+n)
		traces = append(traces, id)
	}
	return func(t *testing.T) {
		for n, test := range tests {
			o.arrivedFailure(t, test, o.await(t, traces[n], test.spans)[0])
		}
	}
}

func (o observed) arrivedFailure(t *testing.T, test failure, server *tracepb.Span) {
	t.Helper()
	got := values(server.GetAttributes())
	if got["http.response.status_code"] != test.status || got["sluice.error.code"] != test.code {
		t.Errorf("%s: %v", test.host, got)
	}
	if failed := server.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR; failed != test.fault ||
		(got["error.type"] != "") != test.fault {
		t.Errorf("%s: status %v, error.type %q", test.host, server.GetStatus(), got["error.type"])
	}
}

// retries uses a service of which one server refuses connections, until a request has been retried.
func (o observed) retries(t *testing.T) func(*testing.T) {
	client := o.client(t, harness.H1, "flaky.test")
	answers := map[string]harness.Response{}
	for n := range 4 {
		id, answer := o.sampled(t, client, client.Request(http.MethodGet, "/", nil), 200+n)
		answers[id] = answer
	}
	return func(t *testing.T) { o.arrivedRetries(t, answers) }
}

func (o observed) arrivedRetries(t *testing.T, answers map[string]harness.Response) {
	t.Helper()
	twice := 0
	for id, answer := range answers {
		var tries []*tracepb.Span
		harness.Until(t, "the server span", func() bool {
			spans := o.collector.trace(id)
			if len(spans) > 0 && spans[0].GetKind() == tracepb.Span_SPAN_KIND_SERVER {
				tries = spans[1:]
				return true
			}
			return false
		})
		last := tries[len(tries)-1]
		if got, want := answer.Echo(t).Header.Get("Traceparent"), "00-"+id+"-"+hex.EncodeToString(last.GetSpanId())+
			"-01"; got != want {
			t.Errorf("the endpoint that answers gets traceparent %s, want %s", got, want)
		}
		if len(tries) == 1 {
			continue
		}
		twice++
		first, second := values(tries[0].GetAttributes()), values(tries[1].GetAttributes())
		if len(tries) != 2 || first["url.full"] != "http://"+o.refused+"/" || second["url.full"] != "http://"+o.backend.H1+
			"/" ||
			first["http.request.resend_count"] != "" || second["http.request.resend_count"] != "1" {
			t.Errorf("tried were %v, %v", first, second)
		}
		if tries[0].GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR ||
			tries[1].GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
			t.Errorf("the tries end with %v and %v", tries[0].GetStatus(), tries[1].GetStatus())
		}
	}
	if twice == 0 {
		t.Error("no request has two client spans")
	}
}

// detailed uses a router with detailed spans.
func (o observed) detailed(t *testing.T) func(*testing.T) {
	client := o.client(t, harness.H1TLS, "detailed.test")
	id, _ := o.sampled(t, client, client.Request(http.MethodGet, "/", nil), 300)
	return func(t *testing.T) { o.arrivedDetails(t, id) }
}

func (o observed) arrivedDetails(t *testing.T, id string) {
	t.Helper()
	spans := o.await(t, id, 5)
	var names []string
	for i, span := range spans {
		names = append(names, span.GetName())
		if i > 0 && string(span.GetParentSpanId()) != string(spans[i-1].GetSpanId()) {
			t.Errorf("%s is not below %s", span.GetName(), spans[i-1].GetName())
		}
	}
	if diff := cmp.Diff([]string{"GET", "Router", "mark@file", "Service", "GET"}, names); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	want := map[string]string{
		"traefik.router.name": "detailed@file", "traefik.service.name": "shop@file",
		"http.route": "Host(`detailed.test`)",
	}
	if diff := cmp.Diff(want, values(spans[1].GetAttributes())); diff != "" {
		t.Errorf("the router's span (-want +got):\n%s", diff)
	}
}

// untraced uses a router without tracing: its headers pass unchanged.
func (o observed) untraced(t *testing.T) func(*testing.T) {
	client := o.client(t, harness.H2C, "quiet.test")
	id, answer := o.sampled(t, client, client.Request(http.MethodGet, "/", nil), 400)
	if _, want := traceparent(400, "01"); answer.Echo(t).Header.Get("Traceparent") != want {
		t.Errorf("the endpoint gets %v", answer.Echo(t).Header)
	}
	return func(t *testing.T) {
		if spans := o.collector.trace(id); len(spans) > 0 {
			t.Errorf("spans of a router without tracing: %v", spans)
		}
	}
}
