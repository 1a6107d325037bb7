package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/http1/server"
)

// FuzzSameAsNetHTTP shows the same bytes to both servers. Only what a row of the table names may differ.
func FuzzSameAsNetHTTP(f *testing.F) {
	for _, sent := range sameCases() {
		f.Add([]byte(sent + followUp))
	}
	named := map[error]bool{}
	for _, d := range differences() {
		if len(d.sent) < 1<<16 {
			f.Add([]byte(d.sent + followUp))
		}
		if d.reason != nil {
			named[d.reason] = true
		}
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		ours, theirs := serveOurs(sent), serveTheirs(sent)
		if why := compare(sent, ours, theirs, named); why != "" {
			t.Errorf("%s\nsent %q\nhttp1    %q\n         %q %v\nnet/http %q\n         %q", why, sent, ours.requests,
				ours.answers, ours.reasons, theirs.requests, theirs.answers)
		}
	})
}

// closesWithin reports whether a Connection field has "close" within an option that is another.
func closesWithin(sent []byte) bool {
	for line := range bytes.Lines(sent) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		if string(name) != "connection" {
			continue
		}
		for option := range bytes.SplitSeq(value, []byte(",")) {
			if option = bytes.TrimSpace(option); string(option) != "close" && bytes.Contains(option, []byte("close")) {
				return true
			}
		}
	}
	return false
}

// compare returns what differs and has no name.
func compare(sent []byte, ours, theirs *observed, named map[error]bool) string {
	strict := len(ours.reasons) > 0 && named[ours.reasons[len(ours.reasons)-1]]
	lower := bytes.ToLower(sent)
	if bytes.Contains(lower, []byte("pragma")) || bytes.Contains(lower, []byte("\r\n\r\n\r\n")) ||
		bytes.HasPrefix(sent, []byte("\r\n")) ||
		closesWithin(lower) || bytes.Contains(lower, []byte("\n0\r\n")) && bytes.Contains(lower, []byte("chunked")) &&
		!bytes.Contains(lower, []byte("\n0\r\n\r\n")) {
		return "" // Rows "Pragma", "empty lines first", "close within an option", "trailer that frames".
	}
	for i := range max(len(ours.requests), len(theirs.requests)) {
		switch {
		case i < len(ours.requests) && i < len(theirs.requests) && ours.requests[i] == theirs.requests[i]:
		case strict && i >= len(ours.requests)-1:
			return ""
		default:
			return fmt.Sprintf("request %d differs", i)
		}
	}
	if strict || bytes.Contains(sent, []byte("short")) || bytes.Contains(sent, []byte("HEAD")) ||
		bytes.Contains(sent, []byte("HTTP/1.0")) ||
		strings.Contains(strings.Join(ours.requests, ""), "broken=true") {
		return "" // Rows "answer shorter than declared", "HEAD of a large body", "hints for HTTP/1.0", "cut body".
	}
	answers := ours.answers
	if n := len(ours.reasons); n > 0 && errors.Is(ours.reasons[n-1], server.ErrIncomplete) &&
		len(theirs.answers) < len(answers) {
		answers = answers[:len(answers)-1] // Row "a few bytes behind a request".
	}
	// A head with several faults may be refused for any of them.
	refused := func(a, b string) bool {
		if bytes.Contains(sent, []byte("unread")) { // Row "cut body that is not read".
			b = strings.ReplaceAll(b, "close=true", "close=false")
			a = strings.ReplaceAll(a, "close=true", "close=false")
		}
		return a == b || strings.HasPrefix(a, "refused ") && strings.HasPrefix(b, "refused ")
	}
	if !slices.EqualFunc(answers, theirs.answers, refused) {
		return "answers differ"
	}
	return ""
}
