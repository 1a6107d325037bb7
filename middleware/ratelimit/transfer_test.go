package ratelimit

import (
	"testing"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
)

// TestTransfer has the rateLimit of another process go on with the counts of a source, where it has the same rate.
func TestTransfer(t *testing.T) {
	config := dynamic.RateLimit{Average: 1, Period: ptypes.Duration(3600e9), Burst: 3}
	before, _ := limiter(t, config)
	from := before.For("router a@file").(*step)
	if data, sources := from.Export(10); data != nil || sources != 0 {
		t.Errorf("without requests: %s, %d", data, sources)
	}
	wrapped := from.Wrap(next())
	send(t, wrapped, 2)
	data, sources := from.Export(10)
	if sources != 1 {
		t.Errorf("%d sources", sources)
	}
	if _, sources := from.Export(0); sources != 0 {
		t.Errorf("%d sources beyond the limit", sources)
	}
	after, now := limiter(t, config)
	*now = 1e9
	to := after.For("router a@file").(*step)
	if err := to.Import(data); err != nil {
		t.Fatal(err)
	}
	if passed := send(t, to.Wrap(next()), 3); passed != 1 {
		t.Errorf("%d requests pass, want 1", passed)
	}
	config.Burst = 4
	other, _ := limiter(t, config)
	changed := other.For("router a@file").(*step)
	if err := changed.Import(data); err != nil {
		t.Error(err)
	}
	if passed := send(t, changed.Wrap(next()), 4); passed != 4 {
		t.Errorf("with another rate %d requests pass, want 4", passed)
	}
	none, _ := limiter(t, dynamic.RateLimit{})
	if err := none.For("").(*step).Import(data); err != nil {
		t.Error(err)
	}
	for _, damaged := range []string{"", "[]", `{"rate":"` + before.rate.String() + `","buckets":"AAAA"}`} {
		if err := from.Import([]byte(damaged)); err == nil {
			t.Errorf("%q: no error", damaged)
		}
	}
	if passed := send(t, wrapped, 3); passed != 1 {
		t.Errorf("after damaged counts %d requests pass, want 1", passed)
	}
}
