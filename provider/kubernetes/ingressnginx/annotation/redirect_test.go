package annotation_test

import (
	"testing"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

func TestRewrite(t *testing.T) {
	rewrite := func(options *annotation.Options) any { return options.Rewrite }
	plain := annotation.Rewrite{SSLRedirect: true}
	with := func(change func(*annotation.Rewrite)) annotation.Rewrite {
		out := plain
		change(&out)
		return out
	}
	run(t, []reads{
		{name: "nothing", got: rewrite, want: plain},
		{
			name: "target", annotations: one("rewrite-target", "/$2"), verdicts: verdicts{"rewrite-target": different},
			got: rewrite, want: with(func(r *annotation.Rewrite) { r.Target = "/$2" }),
		},
		{
			name: "target that is a URL", annotations: one("rewrite-target", "https://example.com/$1"),
			verdicts: verdicts{"rewrite-target": different},
			got:      rewrite, want: with(func(r *annotation.Rewrite) { r.Target = "https://example.com/$1" }),
		},
		{
			name: "target with a query", annotations: one("rewrite-target", "/a?b=$1"),
			verdicts: verdicts{"rewrite-target": ignored}, got: rewrite, want: plain,
		},
		{
			name: "empty target", annotations: one("rewrite-target", " "), verdicts: verdicts{"rewrite-target": ignored},
			got: rewrite, want: plain,
		},
		{
			name: "switches",
			annotations: map[string]string{
				"use-regex": "1", "ssl-redirect": "F", "force-ssl-redirect": "TRUE", "preserve-trailing-slash": "t",
			},
			verdicts: verdicts{"use-regex": different},
			got:      rewrite, want: annotation.Rewrite{UseRegex: true, ForceSSLRedirect: true, PreserveTrailingSlash: true},
		},
		{
			name: "switches that are none",
			annotations: map[string]string{
				"use-regex": "yes", "ssl-redirect": " false", "force-ssl-redirect": "", "preserve-trailing-slash": "on",
			},
			verdicts: verdicts{
				"use-regex": ignored, "ssl-redirect": ignored, "force-ssl-redirect": unused,
				"preserve-trailing-slash": ignored,
			},
			got: rewrite, want: plain,
		},
		{
			name: "app-root", annotations: one("app-root", "/shop"), got: rewrite,
			want: with(func(r *annotation.Rewrite) { r.AppRoot = "/shop" }),
		},
		{
			name: "app-root without slash", annotations: one("app-root", "shop"), verdicts: verdicts{"app-root": ignored},
			got: rewrite, want: plain,
		},
		{
			name: "app-root that is a URL", annotations: one("app-root", "http://x/"),
			verdicts: verdicts{"app-root": ignored}, got: rewrite, want: plain,
		},
		{
			name: "app-root with a query", annotations: one("app-root", "/a?b"), verdicts: verdicts{"app-root": ignored},
			got: rewrite, want: plain,
		},
	})
	aliases := func(options *annotation.Options) any { return options.Aliases }
	run(t, []reads{
		{
			name: "aliases", annotations: one("server-alias", `b.example.com, ~^a\d+\.example\.com$,b.example.com,,`),
			verdicts: verdicts{"server-alias": different}, got: aliases,
			want: []string{"b.example.com", `~^a\d+\.example\.com$`},
		},
		{
			name: "alias with a directive", annotations: one("server-alias", "a.example.com; return 200"),
			verdicts: verdicts{"server-alias": rejected}, outcome: "rejected",
		},
		{
			name: "alias with a line break", annotations: one("server-alias", "a.example.com\n"),
			verdicts: verdicts{"server-alias": rejected}, outcome: "rejected",
		},
	})
}

func TestRedirects(t *testing.T) {
	redirect := func(options *annotation.Options) any { return options.Redirect }
	spoiled := annotation.Redirect{}
	run(t, []reads{
		{name: "nothing", got: redirect, want: spoiled},
		{
			name: "permanent", annotations: one("permanent-redirect", "https://example.com/a?b=c"), got: redirect,
			want: annotation.Redirect{URL: "https://example.com/a?b=c", Code: 301},
		},
		{
			name: "permanent to a path", annotations: one("permanent-redirect", "/a"), got: redirect,
			want: annotation.Redirect{URL: "/a", Code: 301},
		},
		{
			name:        "permanent with code",
			annotations: map[string]string{"permanent-redirect": "/a", "permanent-redirect-code": "308"}, got: redirect,
			want: annotation.Redirect{URL: "/a", Code: 308},
		},
		{
			name:        "permanent with a code out of range",
			annotations: map[string]string{"permanent-redirect": "/a", "permanent-redirect-code": "309"}, got: redirect,
			want: annotation.Redirect{URL: "/a", Code: 301},
		},
		{
			name: "a code alone", annotations: one("permanent-redirect-code", "308"),
			verdicts: verdicts{"permanent-redirect-code": unused}, got: redirect, want: spoiled,
		},
		{
			name: "temporal wins",
			annotations: map[string]string{
				"permanent-redirect": "/a", "temporal-redirect": "http://example.com", "temporal-redirect-code": "307",
				"from-to-www-redirect": "true",
			},
			verdicts: verdicts{"permanent-redirect": unused},
			got:      redirect, want: annotation.Redirect{URL: "http://example.com", Code: 307, FromToWWW: true},
		},
		{
			name:        "temporal with a code out of range",
			annotations: map[string]string{"temporal-redirect": "http://example.com", "temporal-redirect-code": "308"},
			got:         redirect, want: annotation.Redirect{URL: "http://example.com", Code: 302},
		},
		{
			name:        "temporal to a path costs all",
			annotations: map[string]string{"temporal-redirect": "/a", "permanent-redirect": "/b", "relative-redirects": "true"},
			verdicts:    verdicts{"temporal-redirect": unused, "permanent-redirect": unused, "relative-redirects": unused},
			got:         redirect, want: spoiled,
		},
		{
			name:        "an empty one costs all",
			annotations: map[string]string{"temporal-redirect": "", "permanent-redirect": "/b", "from-to-www-redirect": "true"},
			verdicts:    verdicts{"temporal-redirect": unused, "permanent-redirect": unused, "from-to-www-redirect": unused},
			got:         redirect, want: spoiled,
		},
		{
			name: "www that is no switch", annotations: one("from-to-www-redirect", "yes"),
			verdicts: verdicts{"from-to-www-redirect": rejected}, outcome: "rejected",
		},
		{
			name: "variables", annotations: one("permanent-redirect", "https://$host$request_uri"),
			verdicts: verdicts{"permanent-redirect": rejected}, outcome: "rejected",
		},
		{
			name: "line break", annotations: one("permanent-redirect", "https://a/\r\nSet-Cookie:a=b"),
			verdicts: verdicts{"permanent-redirect": rejected}, outcome: "rejected",
		},
		{
			name:        "code that is no number",
			annotations: map[string]string{"permanent-redirect": "/a", "permanent-redirect-code": "3xx"},
			verdicts:    verdicts{"permanent-redirect-code": rejected}, outcome: "rejected",
		},
		{
			name:        "relative and port",
			annotations: map[string]string{"relative-redirects": "true", "use-port-in-redirects": "true"},
			got:         redirect, want: annotation.Redirect{Relative: true, UsePort: true},
		},
	})
}
