package ipdenylist_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/ipdenylist"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask returns the status of a request, and the reason in its record.
func ask(t testing.TB, list *ipdenylist.IPDenyList, r *http.Request) (status int, reason string) {
	t.Helper()
	record := new(telemetry.Record)
	w := httptest.NewRecorder()
	list.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	})).ServeHTTP(w, r.WithContext(telemetry.WithRecord(r.Context(), record)))
	return w.Code, record.Reason
}

func TestRefuses(t *testing.T) {
	subnet := 64
	sources := []string{"192.0.2.0/24", "2001:db8:1:2::"}
	for name, test := range map[string]struct {
		strategy  *dynamic.IPStrategy
		remote    string
		forwarded string
		status    int
		reason    string
	}{
		"listed":               {nil, "192.0.2.200:1", "", 403, "the client 192.0.2.200 is in sourceRange"},
		"mapped":               {nil, "[::ffff:192.0.2.1]:1", "", 403, "the client 192.0.2.1 is in sourceRange"},
		"listed IPv6":          {nil, "[2001:db8:1:2::]:1", "", 403, "the client 2001:db8:1:2:: is in sourceRange"},
		"beside":               {nil, "192.0.3.0:1", "", 418, ""},
		"another IPv6":         {nil, "[2001:db8:1:2::1]:1", "", 418, ""},
		"not by the header":    {nil, "198.51.100.1:1", "192.0.2.1", 418, ""},
		"unknown":              {nil, "@", "", 403, "the address of the client is unknown"},
		"subnet":               {&dynamic.IPStrategy{IPv6Subnet: &subnet}, "[2001:db8:1:2::9]:1", "", 403, "in sourceRange"},
		"depth, listed":        {&dynamic.IPStrategy{Depth: 1}, "198.51.100.1:1", "192.0.2.1", 403, "in sourceRange"},
		"depth, not listed":    {&dynamic.IPStrategy{Depth: 1}, "192.0.2.1:1", "192.0.2.1, 198.51.100.1", 418, ""},
		"depth, unknown":       {&dynamic.IPStrategy{Depth: 2}, "198.51.100.1:1", "192.0.2.1", 403, "is unknown"},
		"excluded, then it is": {&dynamic.IPStrategy{ExcludedIPs: []string{"10.0.0.0/8"}}, "10.0.0.1:1", "192.0.2.1, 10.0.0.2", 403, "in"},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := ipdenylist.New("list@file", dynamic.IPDenyList{SourceRange: sources, IPStrategy: test.strategy})
			if err != nil {
				t.Fatal(err)
			}
			r := middlewaretest.Request(t, "GET /")
			r.RemoteAddr = test.remote
			if test.forwarded != "" {
				r.Header["X-Forwarded-For"] = []string{test.forwarded}
			}
			status, reason := ask(t, list, r)
			if status != test.status || !strings.Contains(reason, test.reason) || test.reason == "" && reason != "" {
				t.Errorf("status %d, reason %q", status, reason)
			}
			want := map[string]uint64{"refused": 0}
			if test.status == http.StatusForbidden {
				want["refused"] = 1
			}
			if diff := cmp.Diff(want, list.Counts()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRefusesDefinitions(t *testing.T) {
	for want, config := range map[string]dynamic.IPDenyList{
		"ipDenyList.sourceRange is empty: no client would be refused": {},
		`ipDenyList.sourceRange: "everybody" is neither`:              {SourceRange: []string{"everybody"}},
		"ipDenyList.ipStrategy.depth -1 is negative": {
			SourceRange: []string{"192.0.2.1"}, IPStrategy: &dynamic.IPStrategy{Depth: -1},
		},
	} {
		list, err := ipdenylist.New("list@file", config)
		if list != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestWarnings(t *testing.T) {
	subnet := 64
	list, err := ipdenylist.New("list@file", dynamic.IPDenyList{
		SourceRange: []string{"2001:db8::1", "192.0.2.1"}, IPStrategy: &dynamic.IPStrategy{IPv6Subnet: &subnet},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"ipDenyList.sourceRange 2001:db8::1 is narrower than ipv6Subnet 64: every client counts as the first " +
		"address of its subnet, so that it refuses all of a subnet or none"}
	if diff := cmp.Diff(want, list.Warnings()); diff != "" {
		t.Error(diff)
	}
}

func TestReadme(t *testing.T) {
	for name, definition := range middlewaretest.Examples(t, "README.md") {
		list, err := ipdenylist.New(name, *definition.IPDenyList)
		if err != nil {
			t.Fatal(err)
		}
		r := middlewaretest.Request(t, "GET /")
		r.RemoteAddr = "198.51.100.9:1"
		r.Header["X-Forwarded-For"] = []string{"198.51.100.9, 203.0.113.1"}
		if status, _ := ask(t, list, r); status != http.StatusForbidden {
			t.Errorf("%s: status %d", name, status)
		}
	}
}

func TestLettingPassDoesNotAllocate(t *testing.T) {
	list, err := ipdenylist.New("list@file", dynamic.IPDenyList{SourceRange: []string{"198.51.100.0/24"}})
	if err != nil {
		t.Fatal(err)
	}
	handler := list.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r, w := middlewaretest.Request(t, "GET /"), new(middlewaretest.Writer)
	if allocations := testing.AllocsPerRun(100, func() { handler.ServeHTTP(w, r) }); allocations != 0 || w.Status != 0 {
		t.Errorf("%v allocations, status %d", allocations, w.Status)
	}
}
