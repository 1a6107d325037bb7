package environment_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
	"github.com/sluiceproxy/sluice/static"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// show answers with the fields of the request, trailers included, and its target.
func show(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	all := r.Header.Clone()
	for name, values := range r.Trailer {
		all[name] = append(all[name], values...)
	}
	all["Target"] = []string{r.RequestURI}
	_ = json.NewEncoder(w).Encode(all)
}

// TestWire has clients choose through an entrypoint and a service, over every pair of protocols. The address that is
// trusted is one that peers can only claim.
func TestWire(t *testing.T) {
	t.Parallel()
	trust := dynamic.EnvironmentTrust{
		SourceRange: []string{"192.0.2.0/24"}, IPStrategy: &dynamic.IPStrategy{Depth: 1},
		Signed: &dynamic.EnvironmentSigning{Key: secret},
	}
	step := build(t, trusting(trust))
	strict := build(t, forbidding(trusting(trust)))
	claim := []string{"X-Forwarded-For", "192.0.2.1", "X-Real-Ip", "192.0.2.1", "Forwarded", "for=192.0.2.1"}
	rig.Matrix(t, func(t *testing.T, client, upstream string) {
		wary := rig.New(t, rig.Setup{Wrap: step.Wrap, Upstream: upstream, Endpoint: show})
		closed := rig.New(t, rig.Setup{Wrap: strict.Wrap, Upstream: upstream, Endpoint: show})
		open := rig.New(t, rig.Setup{
			Wrap: step.Wrap, Upstream: upstream, Endpoint: show,
			Change: func(e *static.EntryPoint) {
				e.ForwardedHeaders.TrustedIPs, _ = forwarded.ParseRanges("127.0.0.0/8")
			},
		})
		choices := [][]string{
			{header, "dev"},
			{"x_virtual_env", "dev"},
			{"Cookie", "env=dev; a=b"},
			{"Baggage", "env=dev"},
			{"X-Env", "dev"},
			{"Host", "dev--shop.example.com"},
			{},
		}
		for i, choice := range choices {
			path := "/a?x=1"
			if len(choice) == 0 {
				path = "/env/dev/a?env=dev&x=1"
			}
			got := exchange(t, wary, client, path, append(choice, claim...))
			if got.status != http.StatusOK || left(got.header) != "" || got.header.Get("Target") != "/a?x=1" {
				t.Errorf("%q: the service gets %+v", choice, got)
			}
			refuses := i != 1 && i != 3 && i != 4
			got = exchange(t, closed, client, path, append(choice, claim...))
			if (got.status == http.StatusForbidden) != refuses {
				t.Errorf("%q is answered with %+v", choice, got)
			}
			got = exchange(t, open, client, path, append(choice, claim...))
			if chosen := got.header.Get(header) == "dev"; chosen != refuses || got.status != http.StatusOK {
				t.Errorf("%q of a trusted client: the service gets %+v", choice, got)
			}
		}
	})
}

// exchange sends a body with trailers that choose, and returns what the service got.
func exchange(t *testing.T, g *rig.Rig, protocol, path string, headers []string) (got served) {
	t.Helper()
	r := g.Request(http.MethodPost, path, io.MultiReader(strings.NewReader("body")))
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header[headers[i]] = []string{headers[i+1]}
	}
	r.Trailer = http.Header{"X-Virtual-Env": {"trailer"}, "X-Env": {"trailer"}}
	response, body, err := g.Do(protocol, r)
	if err != nil {
		t.Fatal(err)
	}
	got.status = response.StatusCode
	if got.status != http.StatusOK {
		return got
	}
	if err := json.Unmarshal([]byte(body), &got.header); err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	if strings.Contains(strings.Join(got.header[header], ","), "trailer") {
		t.Errorf("%q: a trailer chooses: %v", headers, got.header)
	}
	return got
}
