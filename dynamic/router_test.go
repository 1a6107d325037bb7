package dynamic_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// undeclared are the fields of a router that only providers set, with a value for each as a file would have it.
func undeclared() map[string]string {
	return map[string]string{"precedence": "[1]", "created": "2020-01-01T00:00:00Z", "match": "{name: Path, args: [/x]}"}
}

// TestFieldsOfProvidersCannotBeDeclared writes them in a file and in labels.
func TestFieldsOfProvidersCannotBeDeclared(t *testing.T) {
	for key, value := range undeclared() {
		node, err := document.Parse("a.yaml", []byte("rule: Path(`/`)\n"+key+": "+value))
		if err != nil {
			t.Fatal(err)
		}
		want := &dynamic.Router{Rule: "Path(`/`)"}
		router, problems := dynamic.DecodeObject[dynamic.Router](new(document.Decoder), node)
		if diff := cmp.Diff(want, router); diff != "" || len(problems) != 1 {
			t.Errorf("a file with %s makes, with %v:\n%s", key, problems, diff)
		}
		var labels dynamic.LabelDecoder
		got := labels.Decode(map[string]string{
			"traefik.http.routers.r.rule": "Path(`/`)", "traefik.http.routers.r." + key: value,
		}).Configuration
		if len(got.Verdicts) != 1 {
			t.Errorf("a label with %s has verdicts %v", key, got.Verdicts)
		}
		for _, router := range got.HTTP.Routers.All() {
			if diff := cmp.Diff(want, router); diff != "" {
				t.Errorf("a label with %s makes:\n%s", key, diff)
			}
		}
	}
}

// TestFieldsOfProvidersArePartOfARouter demands that a change of them is seen, and that copies have them.
func TestFieldsOfProvidersArePartOfARouter(t *testing.T) {
	routers := []*dynamic.Router{
		{},
		{Precedence: []int64{1}},
		{Precedence: []int64{1, 1}},
		{Created: time.Unix(1, 0)},
		{Created: time.Unix(2, 0)},
		{Match: &dynamic.Match{Name: "Path", Args: []string{"/x"}}},
		{Match: &dynamic.Match{Name: "Path", Args: []string{"/y"}}},
		{Match: &dynamic.Match{Not: &dynamic.Match{Name: "Path", Args: []string{"/y"}}}},
		{Match: &dynamic.Match{All: []dynamic.Match{{Name: "Path", Args: []string{"/y"}}}}},
		{Match: &dynamic.Match{Any: []dynamic.Match{{Name: "Path", Args: []string{"/y"}}}}},
	}
	seen := map[uint64]int{}
	for i, router := range routers {
		sum, err := dynamic.Fingerprint(router)
		if err != nil {
			t.Fatal(err)
		}
		if first, twice := seen[sum]; twice || i > 0 && dynamic.Equal(router, routers[i-1]) {
			t.Errorf("%+v and %+v are taken for the same", routers[first], router)
		}
		seen[sum] = i
		if diff := cmp.Diff(router, dynamic.Redacted(router)); diff != "" {
			t.Errorf("a copy differs:\n%s", diff)
		}
	}
}
