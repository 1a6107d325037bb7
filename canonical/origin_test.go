package canonical

import (
	"net/http"
	"testing"
)

func TestOrigin(t *testing.T) {
	for _, row := range []struct {
		text, scheme, authority string
		ok                      bool
	}{
		{"https://a.example", "https", "a.example", true},
		{"HTTP://A:80", "HTTP", "A:80", true},
		{"moz-extension://0a-b", "moz-extension", "0a-b", true},
		{"https://[::1]:3", "https", "[::1]:3", true},
		{"file://", "file", "", true},
		{text: "https://"},
		{text: "https://u@a"},
		{text: "https://a/"},
		{text: "://a"},
		{text: "1a://a"},
		{text: "a_b://a"},
		{text: "null"},
		{text: ""},
	} {
		scheme, authority, ok := Origin(row.text)
		if scheme != row.scheme || authority != row.authority || ok != row.ok {
			t.Errorf("Origin(%q) = %q, %q, %v", row.text, scheme, authority, ok)
		}
	}
}

func TestSoleOrigin(t *testing.T) {
	for want, values := range map[string][]string{"https://a": {"https://a"}, "": {"https://a", "https://b"}} {
		if got := SoleOrigin(http.Header{"Origin": values}); got != want {
			t.Errorf("SoleOrigin of %q is %q", values, got)
		}
	}
}
