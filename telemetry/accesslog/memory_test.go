package accesslog

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/queue"
)

// TestMemoryHoldsNothingOfARequest demands that memory which is used again keeps no head of a request alive,
// and no long line.
func TestMemoryHoldsNothingOfARequest(t *testing.T) {
	config := static.AccessLog{}
	config.SetDefaults()
	config.Format, config.Fields = "json", &static.AccessLogFields{Headers: &static.FieldHeaders{DefaultMode: "keep"}}
	log, err := New(config, Options{Stdout: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"X-Forwarded-For": {"192.0.2.1"}, "X-Tenant": {"blue"}}
	record := &telemetry.Record{Start: time.Now(), Observe: telemetry.ObserveAccess, ResponseHeader: header}
	log.Began(record, &http.Request{Header: header})
	captured := record.Captured
	if len(captured) < 3 || captured[0] == "" {
		t.Fatalf("%q was captured", captured)
	}
	log.Finished(record)
	for i, text := range captured[:cap(captured)] {
		if text != "" {
			t.Errorf("text %d is still %q", i, text)
		}
	}
	output := log.outputs[0]
	nodes := output.queue.Drain(nil)
	if len(nodes) != 1 {
		t.Fatalf("%d lines wait", len(nodes))
	}
	node := nodes[0]
	if !strings.Contains(string(node.Value.text), `"downstream_X-Tenant":"blue"`) || node.Value.record != nil {
		t.Errorf("the line is %s", node.Value.text)
	}
	for _, name := range node.Value.names[:cap(node.Value.names)] {
		if name != "" {
			t.Errorf("%q is kept", name)
		}
	}
	node.Value.text = make([]byte, 0, largestKept+1)
	output.recycle(node)
	if node.Value.text != nil {
		t.Error("the memory of a long line is kept")
	}
}

// TestLinesThatAreStillToBeMade demands that a line which the writer makes later is that of the request as it
// ended, although the record serves the next one by then, that few such lines wait, and that nothing of a
// request is kept in memory which is used again.
func TestLinesThatAreStillToBeMade(t *testing.T) {
	config := static.AccessLog{}
	config.SetDefaults()
	config.Format = "json"
	var written strings.Builder
	log, err := New(config, Options{Stdout: &written})
	if err != nil {
		t.Fatal(err)
	}
	record := &telemetry.Record{}
	for _, path := range []string{"/first", "/second"} {
		header := http.Header{"X-Forwarded-For": {"192.0.2.1" + path[1:]}}
		*record = telemetry.Record{
			Start: time.Now(), Observe: telemetry.ObserveAccess, Path: path, RequestHeader: header,
			ResponseHeader: header,
		}
		log.Began(record, &http.Request{Header: header})
		log.Finished(record)
	}
	*record = telemetry.Record{}
	output := log.outputs[0]
	batch := output.deliver(t.Context(), nil)
	if lines := strings.Split(written.String(), "\n"); len(lines) != 3 ||
		!strings.Contains(lines[0], `"RequestPath":"/first"`) ||
		!strings.Contains(lines[0], `"ClientHost":"192.0.2.1first"`) || !strings.Contains(lines[1],
		`"RequestPath":"/second"`) {
		t.Errorf("lines are of other requests:\n%s", written.String())
	}
	for range 2 * unmade {
		log.Finished(&telemetry.Record{Observe: telemetry.ObserveAccess, RequestHeader: http.Header{"A": {"b"}}})
	}
	later := 0
	batch = output.queue.Drain(batch[:0])
	for _, node := range batch {
		if node.Value.record != nil {
			later++
			if kept := node.Value.kept; kept.RequestHeader != nil || kept.ResponseHeader != nil || kept.Span != nil {
				t.Fatal("what belongs to a request is kept with its line")
			}
		}
		output.recycle(node)
		if node.Value.record != nil || node.Value.kept.Path != "" || !node.Value.kept.Start.IsZero() {
			t.Fatal("memory that is used again holds a request")
		}
	}
	if later != unmade {
		t.Errorf("%d lines wait to be made, want %d", later, unmade)
	}
}

// torn is a disk that takes so many bytes, and then more after all.
type torn struct{ room int }

func (w *torn) Write(p []byte) (int, error) {
	n := min(len(p), w.room)
	w.room = 1 << 20
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// TestTornLinesAreCountedOnce demands that the end of a torn line is not taken for a line.
func TestTornLinesAreCountedOnce(t *testing.T) {
	lines := func(texts ...string) (nodes []*queue.Node[line]) {
		for _, text := range texts {
			nodes = append(nodes, &queue.Node[line]{Value: line{text: []byte(text)}})
		}
		return nodes
	}
	made := func(b []byte, l *line) []byte { return append(b, l.text...) }
	disk := &torn{room: 6} // One line, and half of the next.
	f := &file{writer: disk}
	if lost, err := f.deliver(t.Context(), lines("one\n", "two\n", "three\n"), made); lost != 2 || err == nil {
		t.Errorf("%d lines are lost: %v", lost, err)
	}
	disk.room = 5 // The end of the torn line, a line, and nothing of the next.
	if lost, err := f.deliver(t.Context(), lines("one\n", "two\n"), made); lost != 1 || err == nil {
		t.Errorf("%d lines are lost after a torn one: %v", lost, err)
	}
}
