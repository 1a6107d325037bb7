package telemetry

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// unmatchedLimit is how many combinations of entrypoint, host and path are counted separately.
	unmatchedLimit = 512
	// unmatchedQueue is how many requests may wait to be counted by host and path, and unmatchedTick the interval at
	// which they are: together they bound the work and the memory that a flood of random paths can cause.
	unmatchedQueue = 512
	unmatchedTick  = 100 * time.Millisecond
	// unmatchedText is the maximum length of a shown host or path, in bytes.
	unmatchedText = 160
)

// UnmatchedRequests are the requests that no router matched, since the start.
type UnmatchedRequests struct {
	// Total counts all of them. Dropped counts those that were not counted by host and path, because too many came
	// at once.
	Total   uint64 `json:"total"`
	Dropped uint64 `json:"dropped"`
	// Requests lists the most frequent combinations of entrypoint, host and path, at most 512, by descending count.
	Requests []UnmatchedRequest `json:"requests"`
}

// UnmatchedRequest is one combination of entrypoint, host and path that no router matches.
type UnmatchedRequest struct {
	// EntryPoint is the name of the entrypoint; TLS reports whether the requests came over TLS.
	EntryPoint string `json:"entryPoint"`
	TLS        bool   `json:"tls"`
	// Host and Path are at most 160 bytes long; a longer one ends with an ellipsis. Control and formatting characters
	// are escaped. The query is not kept.
	Host string `json:"host"`
	Path string `json:"path"`
	// Method is that of the last request: a registered one, or _OTHER.
	Method string `json:"method"`
	// Requests counts them. Once the list has been full it may be too high by at most Overcount (Space-Saving).
	Requests  uint64 `json:"requests"`
	Overcount uint64 `json:"overcount"`
	// Last is the time of the last one.
	Last time.Time `json:"last"`
}

// Unmatched is a sink that counts the requests that no router matches (CodeNoRouter). Of other requests it reads one
// field. The memory that it needs is bounded.
type Unmatched struct {
	queue          chan UnmatchedRequest
	total, dropped atomic.Uint64

	// mu guards known; no request takes it.
	mu    sync.Mutex
	known map[unmatchedKey]*UnmatchedRequest
}

// unmatchedKey is what requests are counted by.
type unmatchedKey struct {
	entryPoint, host, path string
	tls                    bool
}

// NewUnmatched returns a sink without counts. Run counts by host and path.
func NewUnmatched() *Unmatched {
	return &Unmatched{queue: make(chan UnmatchedRequest, unmatchedQueue), known: map[unmatchedKey]*UnmatchedRequest{}}
}

// Finished counts a request with CodeNoRouter. It does not block.
func (u *Unmatched) Finished(record *Record) {
	if record.Code != CodeNoRouter || !record.IsRequest() {
		return
	}
	u.total.Add(1)
	if len(u.queue) == cap(u.queue) { // Before anything is copied.
		u.dropped.Add(1)
		return
	}
	method, _ := RegisteredMethod(record.Method)
	request := UnmatchedRequest{
		EntryPoint: record.Entrypoint, TLS: record.TLS != nil, Method: method, Last: record.Start,
		Host: strings.Clone(record.Host[:min(len(record.Host), unmatchedText+1)]),
		Path: strings.Clone(record.Path[:min(len(record.Path), unmatchedText+1)]),
	}
	select {
	case u.queue <- request:
	default:
		u.dropped.Add(1)
	}
}

// Run counts queued requests by host and path until ctx ends.
func (u *Unmatched) Run(ctx context.Context) {
	ticker := time.NewTicker(unmatchedTick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			u.drain()
		case <-ctx.Done():
			return
		}
	}
}

// drain counts what waits in the queue.
func (u *Unmatched) drain() {
	waiting := len(u.queue)
	if waiting == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for range waiting {
		u.count(<-u.queue)
	}
}

// count counts a request. In a full list it replaces the one with the lowest count and inherits its count, so that
// frequent requests stay however many others there are (Space-Saving). The caller holds the lock.
func (u *Unmatched) count(request UnmatchedRequest) {
	request.Host, request.Path = displayed(request.Host), displayed(request.Path)
	key := unmatchedKey{request.EntryPoint, request.Host, request.Path, request.TLS}
	if known := u.known[key]; known != nil {
		known.Requests++
		known.Method, known.Last = request.Method, request.Last
		return
	}
	request.Requests = 1
	if len(u.known) >= unmatchedLimit {
		lowest, count := u.lowest()
		delete(u.known, lowest)
		request.Requests, request.Overcount = count+1, count
	}
	u.known[key] = &request
}

// lowest returns the key with the lowest count, and of several the one whose last request is the oldest.
func (u *Unmatched) lowest() (lowest unmatchedKey, count uint64) {
	var least *UnmatchedRequest
	for key, known := range u.known {
		if least == nil || known.Requests < least.Requests ||
			known.Requests == least.Requests && known.Last.Before(least.Last) {
			lowest, least = key, known
		}
	}
	return lowest, least.Requests
}

// Requests returns what has been counted. Any goroutine may call it.
func (u *Unmatched) Requests() UnmatchedRequests {
	u.mu.Lock()
	list := make([]UnmatchedRequest, 0, len(u.known))
	for _, known := range u.known {
		list = append(list, *known)
	}
	u.mu.Unlock()
	slices.SortFunc(list, func(a, b UnmatchedRequest) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), b.Last.Compare(a.Last), cmp.Compare(a.Host, b.Host),
			cmp.Compare(a.Path, b.Path))
	})
	return UnmatchedRequests{Total: u.total.Load(), Dropped: u.dropped.Load(), Requests: list}
}

// displayed returns a text that a client chose in the form in which it may be shown: bounded, and with control and
// formatting characters escaped.
func displayed(text string) string {
	var shown strings.Builder
	for at, r := range text {
		escaped := string(r)
		if r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			escaped = escapedRune(text[at:], r)
		}
		if shown.Len()+len(escaped) > unmatchedText {
			return shown.String() + "…"
		}
		shown.WriteString(escaped)
	}
	return shown.String()
}

// escapedRune returns a character at the beginning of a text as \uXXXX, and a byte that is no UTF-8 as \xXX.
func escapedRune(text string, r rune) string {
	const digits = "0123456789abcdef"
	if _, size := utf8.DecodeRuneInString(text); r == utf8.RuneError && size == 1 {
		return `\x` + string(digits[text[0]>>4]) + string(digits[text[0]&15])
	}
	shown := ""
	for shift := 12; shift >= 0; shift -= 4 {
		shown += string(digits[r>>shift&15])
	}
	if r > 0xffff {
		shown = string(digits[r>>20&15]) + string(digits[r>>16&15]) + shown
	}
	return `\u` + shown
}
