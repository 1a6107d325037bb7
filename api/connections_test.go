package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/entrypoint"
)

// open are the open connections.
type open []entrypoint.ConnectionStatus

// Connections selects by entrypoint.
func (o open) Connections(selection entrypoint.Selection, most int) ([]entrypoint.ConnectionStatus, int) {
	var list []entrypoint.ConnectionStatus
	for _, one := range o {
		if selection.Entrypoint == "" || selection.Entrypoint == one.Entrypoint {
			list = append(list, one)
		}
	}
	return list[:min(most, len(list))], len(list)
}

func TestConnectionsAreSelected(t *testing.T) {
	handler := New(sampleOptions())
	for query, want := range map[string][]uint64{
		"": {3, 5}, "?entryPoint=web": {5}, "?entryPoint=none": {}, "?client=192.0.2.0/24": {3, 5}, "?per_page=1&page=2": {5},
	} {
		answer := ask(t, handler, http.MethodGet, "/api/connections"+query)
		var list []Connection
		if err := json.Unmarshal(answer.Body.Bytes(), &list); err != nil {
			t.Fatal(err)
		}
		ids := []uint64{}
		for _, one := range list {
			ids = append(ids, one.ID)
		}
		if !slices.Equal(ids, want) {
			t.Errorf("%s: %v, want %v", query, ids, want)
		}
	}
	for _, query := range []string{"?client=shop.test", "?client=192.0.2.1:80", "?page=9", "?page=%zz"} {
		if answer := ask(t, handler, http.MethodGet, "/api/connections"+query); answer.Code != http.StatusBadRequest {
			t.Errorf("%s: status %d", query, answer.Code)
		}
	}
}

// What is not listed is counted.
func TestManyConnections(t *testing.T) {
	options := sampleOptions()
	options.Connections = open(make([]entrypoint.ConnectionStatus, maxConnections+5))
	answer := ask(t, New(options), http.MethodGet, "/api/connections?page=101")
	if got := answer.Header().Get(totalCount); answer.Code != http.StatusBadRequest || got != "" {
		t.Errorf("the page behind the last has status %d, total %q", answer.Code, got)
	}
	answer = ask(t, New(options), http.MethodGet, "/api/connections?page=100")
	if got := answer.Header().Get(totalCount); got != "10005" || answer.Header().Get(nextPage) != "1" {
		t.Errorf("header %v", answer.Header())
	}
}

func TestConnectionSelection(t *testing.T) {
	for client, want := range map[string]string{
		"192.0.2.1": "192.0.2.1/32", "::ffff:192.0.2.1": "192.0.2.1/32", "192.0.2.0/24": "192.0.2.0/24",
		"2001:db8::1": "2001:db8::1/128", "fe80::1%eth0": "fe80::1/128", "": "invalid Prefix",
		"a.test": "neither an IP address nor a prefix", "192.0.2.1/33": "neither an IP address nor a prefix",
	} {
		selection, err := ConnectionSelection(client, "web")
		got := selection.Client.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, want) || selection.Entrypoint != "web" {
			t.Errorf("%q: %s, want %s", client, got, want)
		}
	}
}
