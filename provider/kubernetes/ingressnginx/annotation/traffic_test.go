package annotation_test

import (
	"testing"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

func TestLimits(t *testing.T) {
	limit := func(options *annotation.Options) any { return options.Limit }
	run(t, []reads{
		{
			name: "all",
			annotations: map[string]string{
				"limit-rps": "10", "limit-rpm": "300", "limit-connections": "7", "limit-burst-multiplier": "3", "limit-rate": "2",
				"limit-rate-after": "100", "limit-whitelist": "10.0.0.0/8",
			},
			verdicts: verdicts{"limit-rps": different, "limit-rpm": different, "limit-connections": different},
			got:      limit, want: annotation.Limit{
				PerSecond: annotation.Rate{
					Limit: 10, Burst: 30,
				}, PerMinute: annotation.Rate{Limit: 300, Burst: 900}, Connections: 7,
				BytesPerSecond: 2048, BytesAfter: 102400, Allow: []string{"10.0.0.0/8"},
			},
		},
		{
			name: "default burst", annotations: one("limit-rps", "1"), verdicts: verdicts{"limit-rps": different},
			got: limit, want: annotation.Limit{PerSecond: annotation.Rate{Limit: 1, Burst: 5}},
		},
		{
			name: "nothing to exempt from", annotations: map[string]string{
				"limit-allowlist": "10.0.0.0/8", "limit-burst-multiplier": "2",
			},
			verdicts: verdicts{
				"limit-allowlist": unused, "limit-burst-multiplier": unused,
			}, got: limit, want: annotation.Limit{},
		},
		{
			name: "zero", annotations: one("limit-rps", "0"), verdicts: verdicts{"limit-rps": unused}, got: limit,
			want: annotation.Limit{},
		},
		{
			name: "negative", annotations: one("limit-connections", "-3"),
			verdicts: verdicts{"limit-connections": unused}, got: limit, want: annotation.Limit{},
		},
		{
			name: "no number", annotations: one("limit-rps", "10r/s"), verdicts: verdicts{"limit-rps": rejected},
			outcome: "rejected",
		},
		{
			name: "no burst", annotations: map[string]string{"limit-rps": "1", "limit-burst-multiplier": "0"},
			verdicts: verdicts{"limit-rps": different, "limit-burst-multiplier": rejected}, outcome: "rejected",
		},
		{
			name:        "burst for connections",
			annotations: map[string]string{"limit-connections": "1", "limit-burst-multiplier": "0"},
			verdicts:    verdicts{"limit-connections": different, "limit-burst-multiplier": unused},
		},
		{
			name: "exempt names", annotations: map[string]string{"limit-rps": "1", "limit-allowlist": "localhost"},
			verdicts: verdicts{"limit-rps": different, "limit-allowlist": rejected}, outcome: "rejected",
		},
		{
			name: "huge", annotations: map[string]string{
				"limit-rps": "9223372036854775807", "limit-burst-multiplier": "9223372036854775807",
				"limit-rate": "9223372036854775807",
			},
			verdicts: verdicts{"limit-rps": different},
			got:      limit, want: annotation.Limit{
				PerSecond: annotation.Rate{Limit: 1<<31 - 1, Burst: 1<<31 - 1}, BytesPerSecond: (1<<31 - 1) << 10,
			},
		},
		{
			name: "more than a number", annotations: one("limit-rpm", "9223372036854775808"),
			verdicts: verdicts{"limit-rpm": rejected}, outcome: "rejected",
		},
	})
}

func TestCORS(t *testing.T) {
	cors := func(options *annotation.Options) any { return options.CORS }
	with := func(name, value string) map[string]string {
		return map[string]string{"enable-cors": "true", name: value}
	}
	plain := func(change func(*annotation.CORS)) *annotation.CORS {
		out := &annotation.CORS{
			Origins: []string{"*"}, Methods: "GET, PUT, POST, DELETE, PATCH, OPTIONS", Credentials: true, MaxAge: 1728000,
			Headers: "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization",
		}
		change(out)
		return out
	}
	row := func(name, value string, verdict annotation.Verdict, change func(*annotation.CORS)) reads {
		out := reads{
			name: name + " " + value, annotations: with(name, value), got: cors, want: plain(change),
			verdicts: verdicts{},
		}
		if verdict != annotation.Honoured {
			out.verdicts[name] = verdict
		}
		return out
	}
	same := func(*annotation.CORS) {}
	origins := func(list ...string) func(*annotation.CORS) { return func(c *annotation.CORS) { c.Origins = list } }
	run(t, []reads{
		{
			name: "off", annotations: one("cors-max-age", "1"), verdicts: verdicts{"cors-max-age": unused}, got: cors,
			want: (*annotation.CORS)(nil),
		},
		{name: "on", annotations: one("enable-cors", "true"), got: cors, want: plain(same)},
		row(
			"cors-allow-origin", "https://a.example.com, http://*.b.example.com:8080,null", different,
			origins("https://a.example.com", "http://*.b.example.com:8080", "null"),
		),
		row("cors-allow-origin", "*", different, same),
		row("cors-allow-origin", "example.com,https://a.example.com", different, origins("https://a.example.com")),
		row("cors-allow-origin", "example.com", different, origins()),
		row("cors-allow-origin", "https://a.example.com;", ignored, same),
		row("cors-allow-origin", "https://a.example.com, *", ignored, same),
		row("cors-allow-origin", "https://$host", ignored, same),
		row("cors-allow-methods", "GET, post", annotation.Honoured, func(c *annotation.CORS) { c.Methods = "GET, post" }),
		row("cors-allow-methods", "GET,  POST", annotation.Honoured, same),
		row("cors-allow-methods", "GET1", ignored, same),
		row("cors-allow-methods", "GET\nX", ignored, same),
		row("cors-allow-headers", "X-A,X_B", annotation.Honoured, func(c *annotation.CORS) { c.Headers = "X-A,X_B" }),
		row("cors-allow-headers", "*", ignored, same),
		row("cors-expose-headers", "*, X-A", annotation.Honoured, func(c *annotation.CORS) { c.ExposeHeaders = "*, X-A" }),
		row("cors-expose-headers", "X:", ignored, same),
		row("cors-allow-credentials", "false", annotation.Honoured, func(c *annotation.CORS) { c.Credentials = false }),
		row("cors-allow-credentials", "no", ignored, same),
		row("cors-max-age", "600", different, func(c *annotation.CORS) { c.MaxAge = 600 }),
		row("cors-max-age", "10m", ignored, same),
	})
}

func TestCanary(t *testing.T) {
	canary := func(options *annotation.Options) any { return options.Canary }
	run(t, []reads{
		{
			name: "off", annotations: map[string]string{"canary": "false", "canary-weight": "10"},
			verdicts: verdicts{"canary-weight": unused}, got: canary, want: annotation.Canary{},
		},
		{
			name: "all",
			annotations: map[string]string{
				"canary": "true", "canary-weight": "150", "canary-weight-total": "200", "canary-by-header": "X-Canary",
				"canary-by-header-value": "yes", "canary-by-cookie": "c",
			},
			got: canary, want: annotation.Canary{
				Enabled: true, Weight: 150, WeightTotal: 200, Header: "X-Canary", HeaderValue: "yes", Cookie: "c",
			},
		},
		{
			name:        "weights beyond",
			annotations: map[string]string{"canary": "true", "canary-weight": "500", "canary-weight-total": "50"},
			got:         canary, want: annotation.Canary{Enabled: true, Weight: 100, WeightTotal: 100},
		},
		{
			name: "negative weight", annotations: map[string]string{"canary": "true", "canary-weight": "-5"},
			got: canary, want: annotation.Canary{Enabled: true, WeightTotal: 100},
		},
		{
			name: "no weight", annotations: map[string]string{"canary": "true", "canary-weight": "10%"},
			verdicts: verdicts{"canary-weight": ignored}, got: canary,
			want: annotation.Canary{Enabled: true, WeightTotal: 100},
		},
		{
			name: "value over pattern",
			annotations: map[string]string{
				"canary": "true", "canary-by-header": "X", "canary-by-header-value": "a", "canary-by-header-pattern": "b.*",
			},
			verdicts: verdicts{"canary-by-header-pattern": unused},
			got:      canary, want: annotation.Canary{Enabled: true, WeightTotal: 100, Header: "X", HeaderValue: "a"},
		},
		{
			name:        "pattern",
			annotations: map[string]string{"canary": "true", "canary-by-header": "X", "canary-by-header-pattern": "b.*"},
			verdicts:    verdicts{"canary-by-header-pattern": different}, got: canary,
			want: annotation.Canary{Enabled: true, WeightTotal: 100, Header: "X", HeaderPattern: "b.*"},
		},
		{
			name:        "header that is none",
			annotations: map[string]string{"canary": "true", "canary-by-header": "X Canary/1", "canary-by-header-value": "a"},
			verdicts:    verdicts{"canary-by-header": unused, "canary-by-header-value": unused},
			got:         canary, want: annotation.Canary{Enabled: true, WeightTotal: 100},
		},
		{
			name:        "value without header",
			annotations: map[string]string{"canary": "true", "canary-by-header-value": "a"},
			verdicts:    verdicts{"canary-by-header-value": unused}, got: canary,
			want: annotation.Canary{Enabled: true, WeightTotal: 100},
		},
	})
}

func TestAffinity(t *testing.T) {
	affinity := func(options *annotation.Options) any { return options.Affinity }
	number := func(n int) *int { return &n }
	with := func(name, value string) map[string]string {
		return map[string]string{"affinity": "cookie", name: value}
	}
	row := func(name, value string, verdict annotation.Verdict, cookie annotation.Cookie) reads {
		if cookie.Name == "" {
			cookie.Name = "INGRESSCOOKIE"
		}
		out := reads{
			name: name + " " + value, annotations: with(name, value), got: affinity,
			want: annotation.Affinity{Cookie: &cookie}, verdicts: verdicts{"affinity": different},
		}
		if verdict != annotation.Honoured {
			out.verdicts[name] = verdict
		}
		return out
	}
	run(t, []reads{
		{
			name: "off", annotations: map[string]string{"affinity": "ip", "session-cookie-name": "a"},
			verdicts: verdicts{"affinity": ignored, "session-cookie-name": unused}, got: affinity,
			want: annotation.Affinity{},
		},
		{
			name: "without cookie", annotations: map[string]string{
				"affinity-mode": "persistent", "affinity-canary-behavior": "legacy",
			},
			got: affinity, want: annotation.Affinity{Mode: "persistent", LegacyCanary: true},
		},
		row("session-cookie-name", "route", annotation.Honoured, annotation.Cookie{Name: "route"}),
		row("session-cookie-name", "a/b", different, annotation.Cookie{}),
		row("session-cookie-name", "a;b", ignored, annotation.Cookie{}),
		row("session-cookie-expires", "172800", different, annotation.Cookie{Expires: number(172800)}),
		row("session-cookie-expires", "1d", ignored, annotation.Cookie{}),
		row("session-cookie-expires", "0x", different, annotation.Cookie{}),
		row("session-cookie-max-age", "-1", annotation.Honoured, annotation.Cookie{MaxAge: number(-1)}),
		row("session-cookie-max-age", "x00", ignored, annotation.Cookie{}),
		row("session-cookie-path", "/a", annotation.Honoured, annotation.Cookie{Path: "/a"}),
		row("session-cookie-path", "/a;", ignored, annotation.Cookie{}),
		row("session-cookie-domain", "example.com", annotation.Honoured, annotation.Cookie{Domain: "example.com"}),
		row("session-cookie-samesite", "NONE", annotation.Honoured, annotation.Cookie{SameSite: "None"}),
		row("session-cookie-samesite", "any", ignored, annotation.Cookie{}),
		row("session-cookie-secure", "true", annotation.Honoured, annotation.Cookie{Secure: true}),
		row(
			"session-cookie-conditional-samesite-none", "true", annotation.Honoured,
			annotation.Cookie{ConditionalSameSiteNone: true},
		),
		row("session-cookie-change-on-failure", "true", annotation.Honoured, annotation.Cookie{ChangeOnFailure: true}),
	})
}
