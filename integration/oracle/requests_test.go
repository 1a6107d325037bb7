package oracle

import (
	"cmp"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestOracles sends every request and response through Sluice and the peers.
func TestOracles(t *testing.T) {
	stacks, missing := startStacks(t, scripts())
	t.Run("requests", func(t *testing.T) { proveRequests(t, stacks, missing) })
	t.Run("responses", func(t *testing.T) { proveResponses(t, stacks, missing) })
	t.Run("streams", func(t *testing.T) { proveStreams(t, stacks[0]) })
}

// TestNames demands that a row of a table means one case.
func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	see := func(class, name string) {
		if name = class + " " + name; seen[name] {
			t.Errorf("twice: %s", name)
		}
		seen[name] = true
	}
	for _, one := range requests() {
		see("request", one.name)
	}
	for _, one := range responses() {
		see("response", one.name)
	}
	for _, one := range streams() {
		see("stream", one.name)
	}
}

func proveRequests(t *testing.T, stacks []stack, missing []string) {
	cases := requests()
	sendings := make([]sending, len(cases))
	for i, one := range cases {
		sendings[i] = sending{bytes: one.bytes, cut: one.cut}
	}
	got := observe(t.Context(), stacks, sendings)
	for i, one := range cases {
		t.Run(one.name, func(t *testing.T) { one.prove(t, got[ours][i]) })
	}
	t.Run("peers", func(t *testing.T) {
		if len(missing) > 0 {
			t.Skipf("missing tool: %s", strings.Join(missing, ", "))
		}
		table, forwarded := differences(), rewritten()
		for i, one := range cases {
			outcomes := map[string]outcome{}
			for name, all := range got {
				outcomes[name] = all[i]
			}
			row, named := table[one.name]
			row.check(t, one.name, named, known(stacks), outcomes)
			compareForwarded(t, one.name, known(stacks), forwarded[one.name], outcomes)
			delete(table, one.name)
			delete(forwarded, one.name)
		}
		for name := range table {
			t.Errorf("differences: there is no case %q", name)
		}
		for name := range forwarded {
			t.Errorf("rewritten: there is no case %q", name)
		}
	})
}

// prove holds what came of a request through Sluice against the strict reading of its bytes.
func (r request) prove(t *testing.T, o outcome) {
	strict := readAll(r.bytes)
	if len(o.seen) > len(strict) {
		t.Errorf("the backend saw %d requests; there are %d", len(o.seen), len(strict))
	}
	for i, seen := range o.seen {
		seen.proveSent(t)
		if i < len(strict) && (seen.method != strict[i].method || seen.body != strict[i].body) {
			t.Errorf("the backend saw %s %q, sent was %s %q", seen.method, seen.body, strict[i].method, strict[i].body)
		}
	}
	if len(o.broken)+len(o.pending) > 0 {
		t.Errorf("the backend got what is no request: %q, and waits behind %q", o.broken, o.pending)
	}
	if o.next != answerTo("GET", "/next") {
		t.Errorf("the next client got: %s", o.next)
	}
	r.proveAnswers(t, o)
}

// proveAnswers expects the response to each request that the backend received, in order, and after them at most a
// refusal.
func (r request) proveAnswers(t *testing.T, o outcome) {
	for i, got := range o.answers {
		if got.cut != nil {
			t.Errorf("answer %d breaks off: %v", i, got.cut)
		}
		if i >= len(o.seen) {
			if got.status < 400 || i != len(o.seen) {
				t.Errorf("answer %d has status %d, and the backend saw %d requests", i, got.status, len(o.seen))
			}
			continue
		}
		want := answerTo(o.seen[i].method, o.seen[i].target)
		if o.seen[i].method == http.MethodHead {
			want = ""
		}
		if got.status != http.StatusOK || got.body != want {
			t.Errorf("answer %d: status %d, body %q, want %q", i, got.status, got.body, want)
		}
	}
	if len(o.answers) < len(o.seen) {
		t.Errorf("%d answers, and the backend saw %d requests", len(o.answers), len(o.seen))
	}
	if o.odd != "" && !strings.HasPrefix(o.odd, "\x15\x03") { // TLS has its own way to refuse.
		t.Errorf("the client got what is no response: %q", o.odd)
	}
	if refused := len(o.answers) > len(o.seen); refused && o.kept && !slices.Contains(refusedAndKept(), r.name) {
		t.Error("the request was refused and the connection goes on")
	}
}

// refusedAndKept are requests that are as they should be and that no router takes: the connection is of use (RFC 9112
// section 9.3).
func refusedAndKept() []string {
	return []string{"OPTIONS *"}
}

// proveSent looks at a request as the backend got it from Sluice.
func (m message) proveSent(t *testing.T) {
	if len(m.faults) > 0 {
		t.Errorf("the backend got a malformed request: %q", m.faults)
	}
	// A query belongs to the backend, and is passed on as it came.
	if path, _, _ := strings.Cut(m.target, "?"); m.version != "HTTP/1.1" || !uri.MatchString(path) || path[0] != '/' {
		t.Errorf("the backend got a request line with %q and %s", m.target, m.version)
	}
	for _, one := range m.trailers {
		switch strings.ToLower(one.name) {
		case "content-length", "transfer-encoding", "host", "authorization":
			t.Errorf("the backend got the trailer %s", one.name)
		}
	}
	for _, name := range []string{"Upgrade", "HTTP2-Settings", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization"} {
		if values := m.values(name); len(values) > 0 && !slices.Equal(values, []string{"websocket"}) {
			t.Errorf("the backend got %s: %q", name, values)
		}
	}
}

// difference is something that Sluice does, and neither nginx nor haproxy.
type difference struct {
	// does is what Sluice does: accepts or refuses more than both, answers with another status than both when all refuse,
	// or keeps or ends the connection.
	does string
	// why names the RFC's section, or a CVE.
	why string
}

// sometimes is how a reason ends when a peer does the same as Sluice in some runs and not in others.
const sometimes = "agrees in some runs"

func (d difference) check(t *testing.T, name string, named, known bool, outcomes map[string]outcome) {
	found := compareOutcomes(outcomes[ours], outcomes[nginx], outcomes[haproxy])
	if found == "" && strings.HasSuffix(d.why, sometimes) {
		return
	}
	if found == d.does && named == (found != "") && (!named || strings.Contains(d.why, "RFC") ||
		strings.Contains(d.why, "CVE")) {
		return
	}
	complaint(t, known,
		found)("%s: Sluice differs by %q, the table says %q because of %q; sluice %d seen, %s; nginx %d seen, %s; "+
		"haproxy %d seen, %s", name, found, d.does, d.why,
		len(outcomes[ours].seen), outcomes[ours], len(outcomes[nginx].seen), outcomes[nginx], len(outcomes[haproxy].seen),
		outcomes[haproxy])
}

// compareOutcomes returns a difference of Sluice from both peers, if any.
func compareOutcomes(own, first, second outcome) string {
	switch a, b, c := len(own.seen), len(first.seen), len(second.seen); {
	case a > max(b, c):
		return "accepts"
	case a < min(b, c):
		return "refuses"
	case a != b || a != c:
		return ""
	}
	if a, b, c := own.refusal(), first.refusal(), second.refusal(); b == c && a != b && b != 0 {
		return fmt.Sprintf("answers %d for %d", a, b)
	}
	switch {
	case own.kept && !first.kept && !second.kept:
		return "keeps"
	case !own.kept && first.kept && second.kept:
		return "closes"
	}
	return ""
}

// refusal is the status with which the stack refused the request behind the accepted ones; 0 is none.
func (o outcome) refusal() int {
	if len(o.answers) <= len(o.seen) {
		return 0
	}
	return o.answers[len(o.seen)].status
}

// compareForwarded expects that the backend gets the same from every stack that accepts. The row lists exceptions with
// reasons.
func compareForwarded(t *testing.T, name string, known bool, row rewrite, outcomes map[string]outcome) {
	var differ []string
	var diffs []string
	for _, peer := range []string{nginx, haproxy, theirs} {
		for i, seen := range outcomes[peer].seen {
			if i >= len(outcomes[ours].seen) {
				break
			}
			if diff := gocmp.Diff(outcomes[ours].seen[i].essence(), seen.essence()); diff != "" {
				differ, diffs = append(differ, peer), append(diffs, diff)
				break
			}
		}
	}
	if found := strings.Join(differ, " "); found != row.against || (found != "") != strings.Contains(row.why, "RFC") {
		complaint(t, known,
			"")("%s: the backend gets something else from %q, the table says %q because of %q (-sluice +peer): %s", name, found,
			row.against, row.why, strings.Join(diffs, "\n"))
	}
}

// rewrite is a request of which the backend gets something else from Sluice than from peers.
type rewrite struct{ against, why string }

// essence is what must be the same whichever proxy sent it.
func (m message) essence() []string {
	all := []string{m.method + " " + m.target, "body " + m.body}
	var fields []string
	for _, one := range m.fields {
		name := textproto.CanonicalMIMEHeaderKey(one.name)
		if _, own := ownFields()[name]; !own && !strings.HasPrefix(name, "X-Forwarded-") {
			value := one.value
			if name == "Host" && strings.HasPrefix(value, "127.0.0.1:") {
				value = "the backend's"
			}
			fields = append(fields, name+": "+value)
		}
	}
	slices.SortStableFunc(fields, func(a, b string) int {
		first, _, _ := strings.Cut(a, ":")
		second, _, _ := strings.Cut(b, ":")
		return cmp.Compare(first, second)
	})
	return append(all, fields...)
}

// ownFields are the fields in which proxies differ on every request, with the reason. All X-Forwarded ones are, too.
func ownFields() map[string]string {
	return map[string]string{
		"Connection":        "each hop has its own",
		"Content-Length":    "a body that has been read may have another framing; the body itself is compared",
		"Transfer-Encoding": "as Content-Length",
		"Trailer":           "nginx reads trailers and drops them, as RFC 9112 section 7.1.2 allows",
		"Expect":            "nginx answers it itself, as RFC 9110 section 10.1.1 allows",
		"X-Real-Ip":         "Sluice sends the client's address",
		"Accept-Encoding":   "net/http may ask for compression of its own",
		"User-Agent":        "net/http sends one of its own",
	}
}
