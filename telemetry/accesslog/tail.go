package accesslog

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// maxViewers is the maximum number of viewers of a Tail.
	maxViewers = 8
	// viewerLines is how many lines may wait for a viewer, and viewerRate how many it gets a second at most. Further
	// ones are dropped and counted.
	viewerLines, viewerRate = 256, 200
	// viewerBytes is how many bytes may wait for a viewer: the head of a single request may have a megabyte.
	viewerBytes = 1 << 20
)

// ErrTooManyViewers is returned by Tail.Watch at the limit of eight viewers.
var ErrTooManyViewers = errors.New("the limit of 8 viewers of requests is reached")

// Tail shows finished requests, connections and sessions to viewers as they happen (api.liveRequests), as lines of the
// access log in the format json. Values of query parameters are redacted, and headers are left out. Without a viewer a
// request costs one atomic load.
type Tail struct {
	encoder  *encoder
	requests atomic.Uint64
	// viewers is replaced, and not changed; nil without viewers. mu guards replacing it.
	viewers atomic.Pointer[[]*Viewer]
	mu      sync.Mutex
}

// NewTail returns a Tail without viewers.
func NewTail() *Tail {
	encoder, _, err := newEncoder(static.AccessLog{Format: "json", Fields: &static.AccessLogFields{
		DefaultMode: "keep", Headers: &static.FieldHeaders{DefaultMode: "drop"},
		QueryParameters: &static.FieldQuery{DefaultMode: "redact"},
	}}, time.Local)
	if err != nil {
		panic(err) // The configuration is a constant.
	}
	return &Tail{encoder: encoder}
}

// Finished shows a record to the viewers whose filters select it. It does not block.
func (t *Tail) Finished(record *telemetry.Record) {
	viewers := t.viewers.Load()
	if viewers == nil {
		return
	}
	var text []byte
	for _, viewer := range *viewers {
		if !viewer.filter.selects(record) || !viewer.admits() {
			continue
		}
		if text == nil {
			made := line{}
			count := uint64(0)
			if record.IsRequest() {
				count = t.requests.Add(1)
			}
			made.request = t.encoder.about(record, count)
			text = t.encoder.appendObject(nil, &made, t.encoder.stamps.of(record.Start),
				t.encoder.stamps.of(record.Start.Add(record.Duration)))
		}
		viewer.leave(text)
	}
}

// Watch returns a viewer of the requests that a filter selects, or ErrTooManyViewers. It must be closed.
func (t *Tail) Watch(filter TailFilter) (*Viewer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var viewers []*Viewer
	if known := t.viewers.Load(); known != nil {
		viewers = slices.Clone(*known)
	}
	if len(viewers) >= maxViewers {
		return nil, ErrTooManyViewers
	}
	viewer := &Viewer{tail: t, filter: filter, lines: make(chan []byte, viewerLines)}
	viewers = append(viewers, viewer)
	t.viewers.Store(&viewers)
	return viewer, nil
}

// Viewer gets the requests that a filter selects.
type Viewer struct {
	tail   *Tail
	filter TailFilter
	lines  chan []byte
	lost   atomic.Uint64
	// waiting is the size of the lines that wait, in bytes.
	waiting atomic.Int64
	// second is the second of Unix time that admitted counts in. A race between two requests may admit a few more.
	second, admitted atomic.Int64
}

// Lines yields a line for each request: an object of JSON without line breaks. The channel is never closed. Each line
// must be released.
func (v *Viewer) Lines() <-chan []byte { return v.lines }

// Release makes room for further lines in place of one that was received from Lines.
func (v *Viewer) Release(line []byte) { v.waiting.Add(-int64(len(line))) }

// Lost returns how many selected requests were left out since the last call.
func (v *Viewer) Lost() uint64 {
	if v.lost.Load() == 0 {
		return 0
	}
	return v.lost.Swap(0)
}

// Close ends the viewer. It may be called more than once.
func (v *Viewer) Close() {
	v.tail.mu.Lock()
	defer v.tail.mu.Unlock()
	known := v.tail.viewers.Load()
	if known == nil {
		return
	}
	viewers := slices.DeleteFunc(slices.Clone(*known), func(other *Viewer) bool { return other == v })
	if len(viewers) == 0 {
		v.tail.viewers.Store(nil)
		return
	}
	v.tail.viewers.Store(&viewers)
}

// admits reports whether a line may be made for the viewer now, and otherwise counts a lost request.
func (v *Viewer) admits() bool {
	now := time.Now().Unix()
	if last := v.second.Load(); last != now && v.second.CompareAndSwap(last, now) {
		v.admitted.Store(0)
	}
	if len(v.lines) == cap(v.lines) || v.waiting.Load() >= viewerBytes || v.admitted.Add(1) > viewerRate {
		v.lost.Add(1)
		return false
	}
	return true
}

func (v *Viewer) leave(text []byte) {
	size := int64(len(text))
	if v.waiting.Add(size) <= viewerBytes {
		select {
		case v.lines <- text:
			return
		default:
		}
	}
	v.waiting.Add(-size)
	v.lost.Add(1)
}

// TailFilter selects requests, connections and sessions. An empty field selects all, and each field must match. Those
// of requests alone (method, path, status) match no connection.
type TailFilter struct {
	// Protocol is http, websocket, sse, tcp or udp. Router and Service are qualified names.
	Protocol, Router, Service string
	// Host is the host of the request without its port, or the server name of a connection; Method is the request's.
	Host, Method string
	// Path is a part of the path.
	Path string
	// From and To are the range of status codes, both ends included.
	From, To int
}

// ParseTailFilter reads protocol, router, service, host, method, path and status of a query. A status is a code, a
// class like 4xx, or a range like 500-504.
func ParseTailFilter(query url.Values) (TailFilter, error) {
	filter := TailFilter{
		Protocol: strings.ToLower(query.Get("protocol")), Router: query.Get("router"), Service: query.Get("service"),
		Host: strings.ToLower(query.Get("host")), Method: strings.ToUpper(query.Get("method")), Path: query.Get("path"),
	}
	text := query.Get("status")
	if text == "" {
		return filter, nil
	}
	if len(text) == 3 && text[0] >= '1' && text[0] <= '9' && strings.EqualFold(text[1:], "xx") {
		filter.From = int(text[0]-'0') * 100
		filter.To = filter.From + 99
		return filter, nil
	}
	parsed, err := parseStatuses(text)
	if err != nil {
		return filter, fmt.Errorf("status %q: neither a status code, nor a class such as 4xx, nor a range such as 500-504",
			text)
	}
	filter.From, filter.To = parsed.from, parsed.to
	return filter, nil
}

// selects reports whether a record matches. Requests that the access log leaves out do not: those of routers and
// entrypoints with observability.accessLogs false, and those to Sluice's own services.
func (f *TailFilter) selects(record *telemetry.Record) bool {
	if !record.Observe.Has(telemetry.ObserveAccess) {
		return false
	}
	host, _ := splitHost(record.Host)
	if !record.IsRequest() {
		host = record.ServerName
	}
	return (f.Protocol == "" || f.Protocol == record.Protocol) &&
		(f.Router == "" || f.Router == record.Router) && (f.Service == "" || f.Service == record.Service) &&
		(f.Host == "" || strings.EqualFold(f.Host, host)) && (f.Method == "" || f.Method == record.Method) &&
		strings.Contains(record.Path, f.Path) && (f.To == 0 || f.From <= record.Status && record.Status <= f.To)
}
