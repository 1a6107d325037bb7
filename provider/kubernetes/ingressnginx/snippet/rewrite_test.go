package snippet_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/snippet"
)

func TestRewriteOf(t *testing.T) {
	const last = "the route is not chosen anew for the new path"
	for text, want := range map[string]*snippet.Rewrite{
		"rewrite ^/a(.*)$ /b$1 break;":           {Regex: "^/a(.*)$", Replacement: "/b$1", Whole: true},
		"rewrite ^/a(.*)$ /b$1? break; gzip on;": {Regex: "^/a(.*)$", Replacement: "/b$1?"},
		"rewrite ^/a /b last;": {
			Regex: "^/a", Replacement: "/b", Last: true, Whole: true, Caveat: last,
		},
		"rewrite ^/a https://b.example/ last;": {
			Regex: "^/a", Replacement: "https://b.example/", Redirects: true, Whole: true,
		},
		"rewrite ^/a /b redirect;": {
			Regex: "^/a", Replacement: "$scheme://$http_host/b", Redirects: true, Whole: true,
		},
		"rewrite ^(/.*)$ https://b.example$1 permanent;": {
			Regex: "^(/.*)$", Replacement: "https://b.example$1", Redirects: true, Permanent: true, Whole: true,
			Caveat: "the status is 302 in place of 301",
		},
		"":                                     nil,
		"gzip on;":                             nil,
		"rewrite ^/a /b;":                      nil, // What follows may rewrite again.
		"rewrite ^/a /b other;":                nil,
		"rewrite ^/a b redirect;":              nil, // It is appended to the host.
		"rewrite ^/(?=a) /b break;":            nil, // A lookahead has no linear time.
		"rewrite ^/a /$ssl_client_s_dn break;": nil,
		"rewrite ^/a /b break":                 nil,
		"rewrite ^/a /b break; rewrite ^/c /d break;": nil,
		"set $a b; rewrite ^/a /$a break;":            nil,
		"break; rewrite ^/a /b break;":                nil,
		"if ($a) { break; } rewrite ^/a /b break;":    nil,
		"if ($a) { rewrite ^/a /b break; }":           nil,
		"location /x { rewrite ^/a /b break; }":       nil,
	} {
		if diff := cmp.Diff(want, snippet.RewriteOf(text)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}
