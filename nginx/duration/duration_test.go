package duration_test

import (
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/nginx/duration"
)

func TestParse(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0": 0, "30": 30 * time.Second, "30s": 30 * time.Second,
		"1h30m": 90 * time.Minute, "1h30": time.Hour + 30*time.Second,
		"1M": 30 * day, "1y2w": 379 * day, "100y": duration.Longest,
	} {
		if got, ok := duration.Parse(text); !ok || got != want {
			t.Errorf("%s: %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{
		"", "s", "m", "-1s", "1.5s", "1m1h", "1s1s", "1ms", "1q", "1 s", "101y", "100y1s", "99999999999999999999", "1h-",
	} {
		if got, ok := duration.Parse(text); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}
