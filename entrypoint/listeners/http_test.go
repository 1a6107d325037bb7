package listeners_test

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

func TestHostSelectsTheListener(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	address := freeAddress(t, "tcp")
	r.listener("any", address, dynamic.ListenerHTTP, "")
	r.listener("wild", address, dynamic.ListenerHTTP, "*.Example.com")
	r.listener("deeper", address, dynamic.ListenerHTTP, "*.deep.example.com")
	r.listener("exact", address, dynamic.ListenerHTTP, "a.example.com")
	r.listener("empty", address, dynamic.ListenerHTTP, "empty.example.com")
	r.route("any", "a", "any@gw")
	r.route("wild", "b", "wild@gw")
	r.route("exact", "c", "exact@gw", "deeper@gw")
	r.accepted()
	for _, http2 := range []bool{false, true} {
		c := client(t, address, "", http2)
		for _, test := range []struct {
			host   string
			status int
			body   string
		}{
			{"a.example.com", 200, "c"},
			{"A.example.com.:8080", 200, "c"},
			{"b.example.com", 200, "b"},
			{"x.y.example.com", 200, "b"},
			{"x.deep.example.com", 200, "c"},
			{"deep.example.com", 200, "b"},
			{"example.com", 200, "a"},
			{"127.0.0.1", 200, "a"},
			{"empty.example.com", 404, ""}, // No other listener's routers are tried.
		} {
			want(t, c, "http://"+address, test.host, test.status, test.body)
		}
	}
	r.records.mu.Lock()
	defer r.records.mu.Unlock()
	var seen []string
	for i := range r.records.all {
		seen = append(seen, r.records.all[i].Entrypoint)
	}
	for _, name := range []string{"any@gw", "wild@gw", "deeper@gw", "exact@gw", "empty@gw"} {
		if !slices.Contains(seen, name) {
			t.Errorf("no record is of %s: %q", name, seen)
		}
	}
}

func TestNoListenerHasTheHost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	address := freeAddress(t, "tcp")
	r.listener("one", address, dynamic.ListenerHTTP, "a.example.com")
	r.route("one", "a", "one@gw")
	r.accepted()
	c := client(t, address, "", false)
	want(t, c, "http://"+address, "a.example.com", http.StatusOK, "a")
	want(t, c, "http://"+address, "b.example.com", http.StatusNotFound, "")
}

// A router with a section tls serves the requests of an HTTP listener without TLS, and one without it those of an HTTPS
// listener with TLS.
func TestProtocolDecidesAboutTLS(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	plain, secure := freeAddress(t, "tcp"), freeAddress(t, "tcp")
	r.listener("plain", plain, dynamic.ListenerHTTP, "")
	r.listener("secure", secure, dynamic.ListenerHTTPS, "")
	r.put(dynamic.KindRouter, "tls@gw", &dynamic.Router{
		EntryPoints: []string{"plain@gw", "secure@gw"}, Rule: "Path(`/tls`)", Service: "a@internal",
		TLS: &dynamic.RouterTLS{},
	})
	r.put(dynamic.KindRouter, "none@gw", &dynamic.Router{
		EntryPoints: []string{"plain@gw", "secure@gw"}, Rule: "Path(`/none`)", Service: "b@internal",
	})
	r.accepted()
	for _, http2 := range []bool{false, true} {
		c := client(t, plain, "", http2)
		want(t, c, "http://"+plain+"/tls", "x.test", http.StatusOK, "a")
		want(t, c, "http://"+plain+"/none", "x.test", http.StatusOK, "b")
		c = client(t, secure, "x.test", http2)
		want(t, c, "https://"+secure+"/tls", "x.test", http.StatusOK, "a")
		want(t, c, "https://"+secure+"/none", "x.test", http.StatusOK, "b")
	}
	want(t, client(t, secure, "", false), "http://"+secure+"/none", "x.test", http.StatusNotFound, "")
}

func TestAddressesAreIsolated(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first, second := freeAddress(t, "tcp"), freeAddress(t, "tcp")
	r.listener("one", first, dynamic.ListenerHTTP, "")
	r.listener("two", second, dynamic.ListenerHTTP, "")
	r.route("one", "a", "one@gw")
	r.route("two", "b", "two@gw")
	r.accepted()
	want(t, client(t, first, "", false), "http://"+first, "x.test", http.StatusOK, "a")
	want(t, client(t, second, "", false), "http://"+second, "x.test", http.StatusOK, "b")
}

// Listeners come, change and go without a failed request on another one, and without a connection of it being closed.
func TestListenersChangeUnderTraffic(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stable, other := freeAddress(t, "tcp"), freeAddress(t, "tcp")
	r.listener("stable", stable, dynamic.ListenerHTTP, "")
	r.route("stable", "a", "stable@gw")
	r.accepted()
	stop := make(chan struct{})
	var traffic sync.WaitGroup
	end := sync.OnceFunc(func() {
		close(stop)
		traffic.Wait()
	})
	defer end()
	for range 4 {
		c := client(t, stable, "", false)
		traffic.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					want(t, c, "http://"+stable, "x.test", http.StatusOK, "a")
				}
			}
		})
	}
	for range 20 {
		r.listener("other", other, dynamic.ListenerHTTP, "")
		r.route("other", "b", "other@gw")
		r.accepted()
		c := client(t, other, "", false)
		want(t, c, "http://"+other, "x.test", http.StatusOK, "b")
		r.listener("other", other, dynamic.ListenerHTTP, "y.test")
		r.listener("beside", stable, dynamic.ListenerHTTP, "y.test")
		r.accepted()
		want(t, c, "http://"+other, "x.test", http.StatusNotFound, "")
		want(t, c, "http://"+other, "y.test", http.StatusOK, "b")
		want(t, client(t, stable, "", false), "http://"+stable, "y.test", http.StatusNotFound, "")
		r.put(dynamic.KindListener, "other@gw", nil)
		r.put(dynamic.KindListener, "beside@gw", nil)
		r.put(dynamic.KindRouter, "other@gw", nil)
		r.accepted()
		want(t, client(t, stable, "", false), "http://"+stable, "y.test", http.StatusOK, "a")
	}
	end()
}

// With another template the socket stays, so that no connection is refused, and new connections have its options.
func TestTemplateChangesUnderTraffic(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	address := freeAddress(t, "tcp")
	declare := func(template string) {
		r.put(dynamic.KindListener, "one@gw", &dynamic.Listener{
			Address: address, Protocol: dynamic.ListenerHTTP, Template: template,
		})
		r.accepted()
	}
	r.route("one", "a", "one@gw")
	for _, template := range []string{"", "closing", "edge", "closing", ""} {
		declare(template)
		for range 5 {
			want(t, client(t, address, "", false), "http://"+address, "x.test", http.StatusOK, "a")
		}
	}
	declare("closing")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for closing := false; !closing; { // The server before accepts connections as well until its queue is empty.
		response, err := client(t, address, "", false).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		closing = response.Close
	}
}

func TestFaultsOfListeners(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		listeners []dynamic.Listener // named 1, 2 and so on
		verdicts  map[string]string  // parts of reasons by the name of the listener
		code      dynamic.Code
	}{
		{
			"protocol", []dynamic.Listener{{Protocol: "SCTP"}}, map[string]string{"1": "protocol"}, dynamic.CodeInvalidOption,
		},
		{
			"port",
			[]dynamic.Listener{{Address: "127.0.0.1:0", Protocol: "HTTP"}},
			map[string]string{"1": "the port of"},
			dynamic.CodeInvalidOption,
		},
		{
			"host",
			[]dynamic.Listener{{Address: "example.com:1", Protocol: "TCP"}},
			map[string]string{"1": "not an IP address"},
			dynamic.CodeInvalidOption,
		},
		{
			"form",
			[]dynamic.Listener{{Address: "8080", Protocol: "UDP"}},
			map[string]string{"1": "HOST"},
			dynamic.CodeInvalidOption,
		},
		{
			"hostname",
			[]dynamic.Listener{{Protocol: "HTTP", Hostname: "a.*.example.com"}},
			map[string]string{"1": "hostname"},
			dynamic.CodeInvalidOption,
		},
		{
			"address as hostname",
			[]dynamic.Listener{{Protocol: "HTTP", Hostname: "192.0.2.1"}},
			map[string]string{"1": "hostname"},
			dynamic.CodeInvalidOption,
		},
		{
			"template",
			[]dynamic.Listener{{Protocol: "HTTP", Template: "edgy"}},
			map[string]string{"1": "did you mean \"edge\""},
			dynamic.CodeMissingEntryPoint,
		},
		{
			"same hostname",
			[]dynamic.Listener{
				{Protocol: "HTTP", Hostname: "a.test"}, {Protocol: "HTTP", Hostname: "A.test"},
			},
			map[string]string{"2": "conflicts with the listener \"1@gw\""},
			dynamic.CodeConflictingListener,
		},
		{
			"HTTPS and TLS",
			[]dynamic.Listener{{Protocol: "HTTPS"}, {Protocol: "TLS"}},
			map[string]string{"2": "1@gw"},
			dynamic.CodeConflictingListener,
		},
		{
			"TCP first",
			[]dynamic.Listener{{Protocol: "TCP"}, {Protocol: "HTTP", Hostname: "a.test"}},
			map[string]string{"2": "takes all connections"},
			dynamic.CodeConflictingListener,
		},
		{
			"TCP later",
			[]dynamic.Listener{{Protocol: "HTTP", Hostname: "a.test"}, {Protocol: "TCP"}},
			map[string]string{"2": "has the address already"},
			dynamic.CodeConflictingListener,
		},
		{
			"no conflict",
			[]dynamic.Listener{
				{Protocol: "HTTP"},
				{Protocol: "HTTPS"},
				{Protocol: "UDP"},
				{Protocol: "TLS", Hostname: "*.test"},
			},
			nil, "",
		},
	} {
		r, address := newRig(t), freeAddress(t, "tcp")
		for i := range test.listeners {
			test.listeners[i].Address = cmp.Or(test.listeners[i].Address, address)
			r.put(dynamic.KindListener, string(rune('1'+i))+"@gw", &test.listeners[i])
		}
		verdicts := r.apply()
		if len(verdicts) != len(test.verdicts) {
			t.Errorf("%s: %v", test.name, verdicts)
		}
		for name, reason := range test.verdicts {
			verdict := verdicts["listener "+name+"@gw"]
			if !strings.Contains(verdict.Reason, reason) || verdict.Code != test.code || verdict.Status != dynamic.Quarantined {
				t.Errorf("%s: verdict %+v", test.name, verdict)
			}
		}
	}
}

// A listener that lost against another serves when that is gone, with the routers that named it all the while.
func TestConflictEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	address := freeAddress(t, "tcp")
	r.listener("1", address, dynamic.ListenerHTTP, "")
	r.listener("2", address, dynamic.ListenerHTTP, "")
	r.route("one", "a", "1@gw")
	r.route("two", "b", "2@gw")
	verdicts := r.apply()
	if code := verdicts["router two@gw"].Code; code != dynamic.CodeMissingEntryPoint {
		t.Errorf("verdicts: %v", verdicts)
	}
	want(t, client(t, address, "", false), "http://"+address, "x.test", http.StatusOK, "a")
	r.put(dynamic.KindListener, "1@gw", nil)
	r.put(dynamic.KindRouter, "one@gw", nil)
	r.accepted()
	want(t, client(t, address, "", false), "http://"+address, "x.test", http.StatusOK, "b")
}
