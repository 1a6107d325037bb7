package authrequest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
)

// TestOnTheWire sends requests with a body over every pair of protocols: one that passes, and one that does not.
func TestOnTheWire(t *testing.T) {
	address := serve(t, answers)
	rig.Matrix(t, func(t *testing.T, client, upstream string) {
		g := rig.New(t, rig.Setup{
			Wrap: build(t, dynamic.AuthRequest{URL: address, ResponseHeaders: []string{"X-User"}}).Wrap, Upstream: upstream,
			Endpoint: func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				_, _ = io.WriteString(w, r.Header.Get("X-User")+" "+string(body))
			},
		})
		response, body, err := g.Do(client, g.Request(http.MethodPost, "/x", strings.NewReader("sent"), "X-Answer", "200"))
		if err != nil || response.StatusCode != http.StatusOK || body != "ann sent" ||
			len(response.Header["Set-Cookie"]) != 2 {
			t.Fatalf("%v %v %q", response, err, body)
		}
		if record := g.Record(); !record.Authenticated {
			t.Error("the request is not recorded as authenticated")
		}
		response, body, err = g.Do(client, g.Request(http.MethodPost, "/x", strings.NewReader("sent"), "X-Answer", "403"))
		if err != nil || response.StatusCode != http.StatusForbidden || body != "Forbidden\n" {
			t.Fatalf("%v %v %q", response, err, body)
		}
		if record := g.Record(); record.Authenticated || record.Tries != 0 {
			t.Errorf("%+v", record)
		}
	})
}

// TestForgedTrailers sends a header of the answer behind the body.
func TestForgedTrailers(t *testing.T) {
	address := serve(t, answers)
	g := rig.New(t, rig.Setup{
		Wrap: build(t, dynamic.AuthRequest{URL: address, ResponseHeaders: []string{"X-User", "X-Role"}}).Wrap, Upstream: "h1",
		Endpoint: func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for _, header := range []http.Header{r.Header, r.Trailer} {
				for name, values := range header {
					name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
					if name == "x-user" || name == "x-role" {
						_, _ = io.WriteString(w, name+"="+strings.Join(values, ",")+";")
					}
				}
			}
		},
	})
	_, from := g.Raw("POST / HTTP/1.1\r\nHost: h\r\nX-Answer: 200\r\nX-Role: admin\r\nx_user: root\r\nConnection: X-User, close\r\n" +
		"Trailer: X-Role\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Role: admin\r\nX-User: root\r\n\r\n")
	response, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != "x-user=ann;" {
		t.Errorf("%q, %v", body, err)
	}
	_ = response.Body.Close()
}
