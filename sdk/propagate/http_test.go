package propagate_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/sdk/propagate"
)

// upstream starts a server that records the header of its last request.
func upstream(t *testing.T) (address string, last func() http.Header) {
	t.Helper()
	seen := make(chan http.Header, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header }))
	t.Cleanup(server.Close)
	return server.URL, func() http.Header {
		select {
		case header := <-seen:
			return header
		default:
			t.Fatal("no request arrived")
			return nil
		}
	}
}

// send sends a request with these header fields through a client, and closes the response.
func send(ctx context.Context, t *testing.T, client *http.Client, target string, header http.Header) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return request
}

// application starts a server that calls the target with the context of each request it gets.
func application(t *testing.T, p propagate.Propagator, target string) string {
	t.Helper()
	client := &http.Client{Transport: p.Transport(&http.Transport{DisableKeepAlives: true})}
	server := httptest.NewServer(p.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		send(r.Context(), t, client, target, http.Header{})
	})))
	t.Cleanup(server.Close)
	return server.URL
}

func TestTagIsHandedOn(t *testing.T) {
	long := strings.Repeat("a", propagate.MaxHeaderLength)
	for _, test := range []struct {
		name       string
		propagator propagate.Propagator
		incoming   http.Header
		want       string // in the header of the outgoing request
	}{
		{"none", propagate.Propagator{}, http.Header{}, ""},
		{"header", propagate.Propagator{}, http.Header{"X-Virtual-Env": {"dev.proj1"}}, "dev.proj1"},
		{"header of another name", propagate.Propagator{Header: "X-Env"}, http.Header{"X-Env": {"dev"}}, ""},
		{"no label value", propagate.Propagator{}, http.Header{"X-Virtual-Env": {"*, what/else \xe9"}}, "*, what/else \xe9"},
		{"the first counts", propagate.Propagator{}, http.Header{"X-Virtual-Env": {"one", "two"}}, "one"},
		{"as long as allowed", propagate.Propagator{}, http.Header{"X-Virtual-Env": {long}}, long},
		{"too long", propagate.Propagator{}, http.Header{"X-Virtual-Env": {long + "a"}}, ""},
		{"empty", propagate.Propagator{}, http.Header{"X-Virtual-Env": {""}, "Baggage": {"virtual-env=b"}}, "b"},
		{"baggage", propagate.Propagator{}, http.Header{"Baggage": {"a=1,virtual-env=dev"}}, "dev"},
		{"baggage of another key", propagate.Propagator{BaggageKey: "env"}, http.Header{"Baggage": {"env=dev"}}, "dev"},
		{
			"header before baggage",
			propagate.Propagator{},
			http.Header{"X-Virtual-Env": {"h"}, "Baggage": {"virtual-env=b"}},
			"h",
		},
		{"default", propagate.Propagator{DefaultTag: "pod"}, http.Header{}, "pod"},
		{"no need of the default", propagate.Propagator{DefaultTag: "pod"}, http.Header{"X-Virtual-Env": {"dev"}}, "dev"},
		{"default that is no field value", propagate.Propagator{DefaultTag: "a\nb"}, http.Header{}, ""},
		{
			"foreign host",
			propagate.Propagator{AllowHost: func(string) bool { return false }},
			http.Header{"X-Virtual-Env": {"dev"}},
			"",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			target, last := upstream(t)
			send(context.Background(), t, http.DefaultClient, //nolint:forbidigo // A client that adds nothing.
				application(t, test.propagator, target), test.incoming)
			header := last()
			if got := header.Get(propagate.DefaultHeader); test.propagator.Header == "" && got != test.want {
				t.Errorf("the outgoing request has %q, want %q", got, test.want)
			}
			if name := test.propagator.Header; name != "" && header.Get(name) != "dev" {
				t.Errorf("the outgoing request lacks the field %s: %v", name, header)
			}
		})
	}
}

func TestRequestsWithATagKeepIt(t *testing.T) {
	target, last := upstream(t)
	p := propagate.Propagator{DefaultTag: "pod", SetBaggage: true}
	client := &http.Client{Transport: p.Transport(&http.Transport{DisableKeepAlives: true})}
	ctx := propagate.WithTag(context.Background(), "context")
	for _, test := range []struct {
		name                    string
		header                  http.Header
		wantHeader, wantBaggage string
	}{
		{"none", http.Header{}, "context", "virtual-env=context"},
		{"no header at all", nil, "context", "virtual-env=context"},
		{"header", http.Header{"X-Virtual-Env": {"own"}}, "own", "virtual-env=own"},
		{"header twice", http.Header{"X-Virtual-Env": {"own", "two"}}, "own|two", "virtual-env=own"},
		{"member", http.Header{"Baggage": {"virtual-env=own;p=1"}}, "context", "virtual-env=own;p=1"},
		{"empty header", http.Header{"X-Virtual-Env": {""}}, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			send(ctx, t, client, target, test.header)
			got := last()
			header := strings.Join(got.Values("X-Virtual-Env"), "|")
			if header != test.wantHeader || got.Get("Baggage") != test.wantBaggage {
				t.Errorf("got %v, want %q and %q", got, test.wantHeader, test.wantBaggage)
			}
		})
	}
	t.Run("member without a tag in the context", func(t *testing.T) {
		send(context.Background(), t, client, target, http.Header{"Baggage": {"virtual-env=own"}})
		if got := last().Get("X-Virtual-Env"); got != "own" {
			t.Errorf("the header is %q", got)
		}
	})
}

func TestTheRequestOfTheCallerStaysAsItIs(t *testing.T) {
	target, last := upstream(t)
	transport := propagate.Propagator{SetBaggage: true}.Transport(&http.Transport{DisableKeepAlives: true})
	ctx := propagate.WithTag(context.Background(), "dev")
	request := send(ctx, t, &http.Client{Transport: transport}, target, http.Header{"Baggage": {"a=1"}})
	if got := last().Get("Baggage"); got != "a=1,virtual-env=dev" {
		t.Errorf("sent %q", got)
	}
	if len(request.Header) != 1 || request.Header.Get("Baggage") != "a=1" {
		t.Errorf("the header of the caller is now %v", request.Header)
	}
}

// TestRedirect follows a redirect from an allowed host to one that is not, and back.
func TestRedirect(t *testing.T) {
	seen := map[string][]string{}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	foreign := strings.Replace(server.URL, "127.0.0.1", "foreign.example", 1)
	record := func(next string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			seen[r.URL.Path] = append(r.Header.Values("X-Virtual-Env"), r.Header.Values("Baggage")...)
			if next != "" {
				http.Redirect(w, r, next, http.StatusTemporaryRedirect)
			}
		}
	}
	mux.HandleFunc("/first", record(foreign+"/foreign"))
	mux.HandleFunc("/foreign", record(server.URL+"/last"))
	mux.HandleFunc("/last", record(""))

	// A proxy, so that the foreign name needs no resolver.
	proxy := func(*http.Request) (*url.URL, error) { return url.Parse(server.URL) }
	p := propagate.Propagator{SetBaggage: true}
	client := &http.Client{Transport: p.Transport(&http.Transport{DisableKeepAlives: true, Proxy: proxy})}
	for name, header := range map[string]http.Header{
		"from the context": {},
		"of the caller":    {"X-Virtual-Env": {"dev"}},
	} {
		t.Run(name, func(t *testing.T) {
			clear(seen)
			send(propagate.WithTag(context.Background(), "dev"), t, client, server.URL+"/first", header)
			for path, want := range map[string]string{
				"/first": "dev virtual-env=dev", "/foreign": "", "/last": "dev virtual-env=dev",
			} {
				if values, arrived := seen[path]; !arrived || strings.Join(values, " ") != want {
					t.Errorf("%s got %q (%v), want %q", path, values, arrived, want)
				}
			}
		})
	}
}

func TestCloseIdleConnections(t *testing.T) {
	base := &closer{}
	client := &http.Client{Transport: propagate.Propagator{}.Transport(base)}
	client.CloseIdleConnections()
	if !base.closed {
		t.Error("the base was not told to close its idle connections")
	}
}

// closer is a base that records whether its idle connections were closed.
type closer struct {
	http.RoundTripper
	closed bool
}

// CloseIdleConnections records the call.
func (c *closer) CloseIdleConnections() { c.closed = true }

func TestARequestWithoutURLIsLeftToTheBase(t *testing.T) {
	transport := propagate.Propagator{}.Transport(nil)
	response, err := transport.RoundTrip(&http.Request{Header: http.Header{}})
	if err == nil {
		_ = response.Body.Close()
		t.Error("a request without a URL was sent")
	}
}
