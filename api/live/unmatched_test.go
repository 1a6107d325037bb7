package live

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/telemetry"
)

// missed are the unmatched requests of a test.
type missed struct{}

func (missed) Requests() telemetry.UnmatchedRequests {
	return telemetry.UnmatchedRequests{Total: 9, Dropped: 2, Requests: []telemetry.UnmatchedRequest{
		{EntryPoint: "web", Host: "shop.test", Path: "/Cart", Requests: 4},
		{EntryPoint: "web", Host: "blog.test", Path: "/", Requests: 2},
		{EntryPoint: "websecure", Host: "shop.test", Path: "/", TLS: true, Requests: 1},
	}}
}

func TestUnmatchedRequests(t *testing.T) {
	_, handler := mounted(Options{State: newStates(&pipeline.State{}), Unmatched: missed{}})
	for target, want := range map[string][]string{
		"": {"shop.test/Cart", "blog.test/", "shop.test/"}, "?search=TEST/c": {"shop.test/Cart"}, "?search=none": {},
		"?entryPoint=websecure": {"shop.test/"}, "?page=2&per_page=2": {"shop.test/"},
	} {
		answer := ask(t, handler, "/api/traffic/unmatched"+target)
		var got telemetry.UnmatchedRequests
		if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || answer.Code != http.StatusOK {
			t.Fatalf("%s: %d %v", target, answer.Code, err)
		}
		found := []string{}
		for _, one := range got.Requests {
			found = append(found, one.Host+one.Path)
		}
		if diff := cmp.Diff(want, found); diff != "" || got.Total != 9 || got.Dropped != 2 {
			t.Errorf("%s: total %d, dropped %d (-want +got):\n%s", target, got.Total, got.Dropped, diff)
		}
	}
	for _, bad := range []string{"?page=9", "?search=%zz"} {
		if answer := ask(t, handler, "/api/traffic/unmatched"+bad); answer.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, answer.Code)
		}
	}
}
