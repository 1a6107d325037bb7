package entrypoint_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/static"
)

// TestForwardedHeaders sends each managed header in several spellings from peers that are trusted and not.
func TestForwardedHeaders(t *testing.T) {
	t.Parallel()
	received := make(chan http.Header, 1)
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { received <- r.Header })
	trust := map[string]*served{
		"untrusted": start(t, handler, nil),
		"trusted": start(t, handler, func(c *static.EntryPoint) {
			c.ForwardedHeaders.TrustedIPs = ranges(t, "127.0.0.1/32")
		}),
		"insecure": start(t, handler, func(c *static.EntryPoint) { c.ForwardedHeaders.Insecure = true }),
	}
	// What Sluice itself sets where the client's value does not stay; the others are absent then.
	ours := map[string]string{
		forwarded.XForwardedProto: "http", forwarded.XForwardedHost: "example.com:81", forwarded.XForwardedPort: "81",
		forwarded.XRealIP: "127.0.0.1",
	}
	const forged = "forged"
	for _, name := range forwarded.Managed() {
		alias := strings.ReplaceAll(name, "-", "_")
		for _, spelling := range []struct {
			kind, lines string
			// believed says whether a trusted peer's value stays.
			believed bool
		}{
			{"plain", name + ": " + forged + "\r\n", true},
			{"lower case", strings.ToLower(name) + ": " + forged + "\r\n", true},
			{"alias", alias + ": " + forged + "\r\n", false},
			{"lower-case alias", strings.ToLower(alias) + ": " + forged + "\r\n", false},
			{"in Connection", name + ": " + forged + "\r\nConnection: " + name + "\r\n", true},
		} {
			for peer, s := range trust {
				conn := s.dial()
				say(t, conn, "GET / HTTP/1.1\r\nHost: example.com:81\r\n"+spelling.lines+"\r\n")
				header := receive(t, received, "the request")
				_ = conn.Close()
				where := fmt.Sprintf("%s, %s, %s", name, spelling.kind, peer)
				for other := range header {
					if other != name && forwarded.IsManaged(other) && strings.Contains(other, "_") {
						t.Errorf("%s: the alias %s passed", where, other)
					}
				}
				want := ours[name]
				if (spelling.believed || alias == name) && peer != "untrusted" {
					want = forged
				}
				if name == forwarded.XForwardedServer {
					want, _ = os.Hostname()
				}
				if got := header.Get(name); got != want {
					t.Errorf("%s: got %q, want %q", where, got, want)
				}
			}
		}
	}
}

func TestForwardedHeaderOptions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*static.EntryPoint)
		lines  string
		want   map[string]string
	}{
		{
			"connection", func(c *static.EntryPoint) { c.ForwardedHeaders.Connection = []string{"keep-me"} },
			"Connection: Keep-Me, Drop-Me\r\nKeep-Me: 1\r\nDrop-Me: 1\r\n",
			map[string]string{"Keep-Me": "1", "Drop-Me": ""},
		},
		{
			"addXForwardedSchemeHeaders", func(c *static.EntryPoint) { c.ForwardedHeaders.AddXForwardedSchemeHeaders = true },
			"",
			map[string]string{"X-Forwarded-Scheme": "http", "X-Scheme": "http"},
		},
		{
			"notAppendXForwardedFor", func(c *static.EntryPoint) { c.ForwardedHeaders.NotAppendXForwardedFor = true },
			"",
			map[string]string{"kept": "true"},
		},
		{
			"forwarded: default", nil, "Forwarded: for=192.0.2.9\r\nforwarded: proto=https\r\n",
			map[string]string{"Forwarded": ""},
		},
		{
			"forwarded: keep", func(c *static.EntryPoint) { c.ForwardedHeaders.Forwarded = "keep" },
			"Forwarded: for=192.0.2.9\r\nConnection: Forwarded\r\n",
			map[string]string{"Forwarded": "for=192.0.2.9"},
		},
		{
			"forwarded: append, untrusted", func(c *static.EntryPoint) { c.ForwardedHeaders.Forwarded = "append" },
			"Forwarded: for=192.0.2.9\r\n",
			map[string]string{"Forwarded": "for=127.0.0.1;host=a;proto=http"},
		},
		{
			"forwarded: append, trusted", func(c *static.EntryPoint) {
				c.ForwardedHeaders = static.ForwardedHeaders{Forwarded: "append", TrustedIPs: ranges(t, "127.0.0.1")}
			},
			"Forwarded: for=192.0.2.9\r\nForwarded: for=192.0.2.8\r\n",
			map[string]string{"Forwarded": "for=192.0.2.9, for=192.0.2.8, for=127.0.0.1;host=a;proto=http"},
		},
		{"websocket", nil, "Connection: upgrade\r\nUpgrade: websocket\r\n", map[string]string{
			"X-Forwarded-Proto": "ws",
			"kept":              "",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				maps.Copy(w.Header(), r.Header)
				w.Header().Del("Connection")
				w.Header().Del("Upgrade")
				if forwarded.KeepsForwardedFor(r.Context()) {
					w.Header().Set("Kept", "true")
				}
			}), test.change)
			response, _ := do(t, &http.Client{Transport: rawTransport{s, test.lines}}, http.MethodGet, "http://a", nil)
			for name, want := range test.want {
				if got := response.Header.Get(name); got != want {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestUnderscoreHeaders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		strategy string
		status   int
		passed   bool
	}{{"keep", 200, true}, {"delete", 200, false}, {"reject", 400, false}} {
		t.Run(test.strategy, func(t *testing.T) {
			t.Parallel()
			names := make(chan []string, 1)
			s := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				names <- slices.Collect(maps.Keys(r.Header))
			}), func(c *static.EntryPoint) { c.HTTP.UnderscoreHeadersStrategy = test.strategy })
			response, _ := do(t, &http.Client{Transport: rawTransport{s, "User_Id: 1\r\n"}}, http.MethodGet, "http://a", nil)
			if response.StatusCode != test.status {
				t.Errorf("status %d", response.StatusCode)
			}
			if test.status == 200 && slices.Contains(<-names, "User_id") != test.passed {
				t.Error("the header passed or not, against the option")
			}
		})
	}
}
