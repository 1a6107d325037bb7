package identity

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// tally counts attempts.
type tally struct{ rows, made, refused, passed atomic.Int64 }

// TestIdentitiesAreNotForged makes every attempt against every header on every lane. None passes.
func TestIdentitiesAreNotForged(t *testing.T) {
	w := newWorld(t)
	counts := new(tally)
	t.Run("rows", func(t *testing.T) {
		for i, r := range rows() {
			t.Run(r.kind+" "+r.header, func(t *testing.T) {
				t.Parallel()
				counts.rows.Add(1)
				for j, l := range w.lanes(r) {
					w.try(t, r, l, fmt.Sprintf("%d-%d", i, j), counts)
				}
			})
		}
	})
	counts.passed.Add(int64(w.end(t)))
	made, refused, passed := counts.made.Load(), counts.refused.Load(), counts.passed.Load()
	t.Logf("%d attempts against %d headers: %d pass, and %d are refused", made, len(headers()), passed, refused)
	if passed != 0 || made < 1000*counts.rows.Load() || made-refused < made/2 {
		t.Errorf("%d of %d attempts pass, and %d are refused", passed, made, refused)
	}
}

// try makes all attempts against one header on one lane.
func (w *world) try(t *testing.T, r row, l lane, number string, counts *tally) {
	t.Helper()
	host := r.kind + "-" + l.upstream + ".test"
	client := &wire{lane: l, address: w.sluice.Addr(l.entrypoint), host: host}
	defer client.close()
	credentials := newCredentials(t, l, r.kind)
	for i, a := range attempts(r.header) {
		if a.only != 0 && a.only != l.version {
			continue
		}
		counts.made.Add(1)
		id := fmt.Sprintf("%s-%d", number, i)
		target := "/api/x?attempt=" + id
		m := message{attempt: a, host: host, target: target, credentials: credentials.fields(r.kind, target)}
		status, err := client.send(t.Context(), m)
		check := func(got arrival) string {
			if diff := r.check(got, l, target); diff != "" {
				return fmt.Sprintf("%s: %s: status %d, error %v: %s", l.name(), a.name, status, err, diff)
			}
			return ""
		}
		arrivals := w.take(id, check)
		switch {
		case len(arrivals) > 1:
			counts.passed.Add(1)
			t.Errorf("%s: %s: %d requests arrive", l.name(), a.name, len(arrivals))
		case len(arrivals) == 1:
			if diff := check(arrivals[0]); diff != "" {
				counts.passed.Add(1)
				t.Error(diff)
			}
		case !a.malformed || status == http.StatusOK:
			t.Errorf("%s: %s: status %d, error %v, and nothing arrives", l.name(), a.name, status, err)
		default:
			counts.refused.Add(1)
		}
	}
	w.tryWithout(t, r, l, number, client)
}

// tryWithout makes some attempts without credentials.
func (w *world) tryWithout(t *testing.T, r row, l lane, number string, client *wire) {
	t.Helper()
	if !needed(r.kind) {
		return
	}
	for i, a := range spelt(r.header) {
		id := fmt.Sprintf("%s-without-%d", number, i)
		status, err := client.send(t.Context(), message{attempt: a, host: client.host, target: "/api/x?attempt=" + id})
		if a.trailer != nil {
			client.close() // A server that has answered early may take trailers for an error of the connection.
		}
		if arrivals := w.take(id, nil); len(arrivals) > 0 || err == nil && status != http.StatusUnauthorized || err != nil &&
			a.trailer == nil {
			t.Errorf("%s: %s: without credentials the status is %d, error %v, and %+v arrives", l.name(), a.name, status, err,
				arrivals)
		}
	}
}

// check returns the difference between the received and the required value.
func (r row) check(got arrival, l lane, target string) string {
	head, trailer := got.head, got.trailer
	if r.asked {
		head, trailer = got.asked, nil
	}
	want := map[string][]string{}
	if values := r.want(l, target); values != nil {
		want[r.header] = values
	}
	inHead, inTrailer := alike(head, r.header), alike(trailer, r.header)
	if len(inTrailer) == 0 && maps.EqualFunc(want, inHead, slices.Equal) {
		return ""
	}
	return fmt.Sprintf("the head has %q and the trailer %q, want %q", inHead, inTrailer, want)
}

// alike returns the fields that a service may take for the header.
func alike(fields http.Header, header string) map[string][]string {
	found := make(map[string][]string)
	for name, values := range fields {
		if strings.EqualFold(strings.Map(plain, name), header) {
			found[name] = values
		}
	}
	return found
}

// plain reads as a careless service does: aliases of the hyphen, and nothing of what is no part of a name.
func plain(r rune) rune {
	switch {
	case r == '_':
		return '-'
	case r <= ' ', r == ':', r == 0x7f:
		return -1
	}
	return r
}
