package accesslog_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// A field that is kept by its name is there alone, and one that is dropped by its name is all that is missing.
func TestEachFieldIsChosenByItsName(t *testing.T) {
	record := func() *telemetry.Record {
		r := answered()
		r.Code, r.Reason = telemetry.CodeTimeout, "the endpoint took too long"
		r.Ingress = &telemetry.Ingress{Namespace: "shop", Name: "front", Service: "web", Port: "http"}
		return r
	}
	whole := object(t, written(t, config("json", nil), http.Header{}, record()))
	chosen := 0
	for _, name := range slices.Sorted(maps.Keys(whole)) {
		if name == "level" || name == "msg" || name == "time" {
			continue
		}
		chosen++
		alone := object(t, written(t, config("json", func(c *static.AccessLog) {
			c.Fields.DefaultMode, c.Fields.Names = "drop", map[string]string{name: "keep"}
		}), http.Header{}, record()))
		want := map[string]any{"level": "info", "msg": "", "time": whole["time"], name: whole[name]}
		if diff := cmp.Diff(want, alone); diff != "" {
			t.Errorf("%s alone (-want +got):\n%s", name, diff)
		}
		rest := object(t, written(t, config("json", func(c *static.AccessLog) {
			c.Fields.Names = map[string]string{name: "drop"}
		}), http.Header{}, record()))
		want = maps.Clone(whole)
		delete(want, name)
		if diff := cmp.Diff(want, rest); diff != "" {
			t.Errorf("without %s (-want +got):\n%s", name, diff)
		}
	}
	if chosen != 44 {
		t.Errorf("%d fields, want 44", chosen)
	}
}
