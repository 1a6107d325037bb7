package redact_test

import (
	"testing"

	"github.com/sluiceproxy/sluice/redact"
)

func TestQueries(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "",
		"is it so? no: a://b":  "is it so? no: a://b",
		"https://x.test/?k=s":  "https://x.test/?xxxx",
		"https://x.test/a b?c": "https://x.test/a b?c",
		`Get "https://x.test/p?token=s&d=y": dial tcp: refused`:     `Get "https://x.test/p?xxxx": dial tcp: refused`,
		"first http://a/?x=1 and then 'http://b/c?y' failed, twice": "first http://a/?xxxx and then 'http://b/c?xxxx' failed, twice",
	} {
		if got := redact.Queries(text); got != want {
			t.Errorf("Queries(%q) = %q, want %q", text, got, want)
		}
	}
}
