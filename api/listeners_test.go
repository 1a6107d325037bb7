package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestListeners(t *testing.T) {
	of, handler := published(t), New(withListeners())
	for name, target := range map[string]string{
		"listeners":          "/api/listeners",
		"listener":           "/api/listeners/gateway%2Fshop%2Fdns@kubernetesgateway",
		"listeners-overview": "/api/overview",
		"listeners-router":   "/api/http/routers/gate@kubernetesgateway",
		"listeners-udp":      "/api/udp/routers/dns@kubernetesgateway",
	} {
		t.Run(name, func(t *testing.T) {
			answer := ask(t, handler, http.MethodGet, target)
			if answer.Code != http.StatusOK {
				t.Fatalf("status = %d %s", answer.Code, answer.Body)
			}
			path := target
			if of.Paths.Value(path) == nil {
				path = path[:strings.LastIndexByte(path, '/')] + "/{id}"
			}
			fits(t, schemaOf(t, of, path, http.StatusOK), answer.Body.Bytes())
			golden(t, name, answer.Body.Bytes())
		})
	}
}

func TestListsOfListeners(t *testing.T) {
	handler := New(withListeners())
	const dns, web = "gateway/shop/dns@kubernetesgateway", "gateway/shop/http@kubernetesgateway"
	for _, test := range []struct{ query, want, next, total string }{
		{"", dns + " " + web, "1", "2"},
		{"?per_page=1", dns, "2", "2"},
		{"?per_page=1&page=2", web, "1", "2"},
		{"?status=disabled", dns, "1", "1"},
		{"?search=SHOP.TEST", web, "1", "1"},
		{"?search=10053", dns, "1", "1"},
		{"?sortBy=address&direction=desc", web + " " + dns, "1", "2"},
		{"?sortBy=address", dns + " " + web, "1", "2"},
		{"?sortBy=hostname", dns + " " + web, "1", "2"},
		{"?sortBy=protocol", web + " " + dns, "1", "2"},
		{"?sortBy=routers", dns + " " + web, "1", "2"},
	} {
		t.Run(test.query, func(t *testing.T) {
			found, header := names(t, handler, "/api/listeners"+test.query)
			got := []string{strings.Join(found, " "), header.Get("X-Next-Page"), header.Get("X-Total-Count")}
			if diff := cmp.Diff([]string{test.want, test.next, test.total}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestEntryPointsHaveNoListeners demands that the paths of Traefik's API list what is static alone.
func TestEntryPointsHaveNoListeners(t *testing.T) {
	golden(t, "entrypoints", ask(t, New(withListeners()), http.MethodGet, "/api/entrypoints").Body.Bytes())
	var overview map[string]json.RawMessage
	answer := ask(t, New(sampleOptions()), http.MethodGet, "/api/overview")
	if err := json.Unmarshal(answer.Body.Bytes(), &overview); err != nil {
		t.Fatal(err)
	}
	if overview["listeners"] != nil {
		t.Errorf("there are listeners without one: %s", overview["listeners"])
	}
}
