package annotation_test

import (
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

func TestBackend(t *testing.T) {
	backend := func(options *annotation.Options) any { return options.Backend }
	row := func(name, value string, verdict annotation.Verdict, want annotation.Backend) reads {
		out := reads{name: name + " " + value, annotations: one(name, value), verdicts: verdicts{}}
		if verdict != annotation.Honoured {
			out.verdicts[name] = verdict
		}
		switch verdict {
		case denied, rejected:
			out.outcome = verdict.String()
		default:
			if want.Protocol == "" {
				want.Protocol = "HTTP"
			}
			out.got, out.want = backend, want
		}
		return out
	}
	none := annotation.Backend{}
	run(t, []reads{
		row("backend-protocol", "grpcs", different, annotation.Backend{Protocol: "GRPCS"}),
		row("backend-protocol", " Auto_HTTP ", different, annotation.Backend{Protocol: "AUTO_HTTP"}),
		row("backend-protocol", "AJP", ignored, none),
		row("backend-protocol", "FCGI", denied, none).closes(),
		row("fastcgi-index", "index.php", unused, none),
		row("fastcgi-index", "a b", unused, none),
		row("fastcgi-index", "../x", rejected, none),
		row("fastcgi-params-configmap", "a;", rejected, none),
		row("service-upstream", "true", annotation.Honoured, annotation.Backend{ServiceUpstream: true}),
		row("load-balance", "ewma", annotation.Honoured, annotation.Backend{EWMA: true}),
		row("load-balance", "round_robin", annotation.Honoured, none),
		row("load-balance", "chash", different, none),
		row("load-balance", "least_conn", rejected, none),
		row("load-balance", "", unused, none),
		row("upstream-hash-by", "${request_uri}-$host", different, annotation.Backend{HashBy: "${request_uri}-$host"}),
		row("upstream-hash-by", "$a;", rejected, none),
		row("upstream-hash-by-subset", "yes", rejected, none),
		row("upstream-hash-by-subset", "true", unused, none),
		row("upstream-vhost", "internal.example.com", annotation.Honoured, annotation.Backend{Host: "internal.example.com"}),
		row("upstream-vhost", "a\" b", rejected, none),
		row("upstream-vhost", "a\nb", rejected, none),
		row("connection-proxy-header", "keep-alive", unused, none),
		row("connection-proxy-header", "upgrade", rejected, none),
		row("connection-proxy-header", "clo se", rejected, none),
		row("x-forwarded-prefix", "/a", unused, none),
		row("x-forwarded-prefix", "/a\n", rejected, none),
		row(
			"custom-headers", "shop/headers", different,
			annotation.Backend{CustomHeaders: &annotation.Reference{Namespace: "shop", Name: "headers"}},
		),
		row("custom-headers", "headers", denied, none),
		row("custom-headers", "bank/headers", denied, none),
		row("default-backend", "errors", annotation.Honoured, annotation.Backend{Default: "errors"}),
		row("default-backend", "shop/errors", rejected, none),
		row("default-backend", "9errors", rejected, none),
	})
	options, _ := read(t, map[string]string{
		"upstream-hash-by": "$host", "upstream-hash-by-subset": "true", "rewrite-target": "/", "x-forwarded-prefix": "/a/$1",
	})
	if options.Backend.SubsetSize != 3 || options.Backend.ForwardedPrefix != "/a/$1" {
		t.Errorf("%+v", options.Backend)
	}
	options, _ = read(t, map[string]string{"upstream-hash-by": "$host", "upstream-hash-by-subset-size": ""})
	if options.Backend.HashBy != "" {
		t.Errorf("with an empty size: %+v", options.Backend)
	}
}

func TestProxy(t *testing.T) {
	proxy := func(options *annotation.Options) any { return options.Proxy }
	row := func(name, value string, verdict annotation.Verdict, change func(*annotation.Proxy)) reads {
		out := reads{name: name + " " + value, annotations: one(name, value), verdicts: verdicts{}}
		if verdict != annotation.Honoured {
			out.verdicts[name] = verdict
		}
		if verdict == rejected {
			out.outcome = "rejected"
			return out
		}
		want := annotation.DefaultSettings().Proxy
		change(&want)
		out.got, out.want = proxy, want
		return out
	}
	same := func(*annotation.Proxy) {}
	ok := annotation.Honoured
	run(t, []reads{
		row("proxy-body-size", "8M", ok, func(p *annotation.Proxy) { p.BodySize = 8 << 20 }),
		row("proxy-body-size", "0", ok, func(p *annotation.Proxy) { p.BodySize = 0 }),
		row("proxy-body-size", "1 g", ok, func(p *annotation.Proxy) { p.BodySize = 1 << 30 }),
		row("proxy-body-size", "9999999999999g", ok, func(p *annotation.Proxy) { p.BodySize = 1 << 62 }),
		row("proxy-body-size", "100b", unused, same),
		row("proxy-body-size", "1.5m", ignored, same),
		row("proxy-body-size", "-1", ignored, same),
		row("client-body-buffer-size", "16k", ok, func(p *annotation.Proxy) { p.BodyBuffer = 16 << 10 }),
		row("client-body-buffer-size", "1g", unused, same),
		row("client-body-buffer-size", "big", rejected, same),
		row("proxy-connect-timeout", "10", ok, func(p *annotation.Proxy) { p.ConnectTimeout = 10 * time.Second }),
		row("proxy-connect-timeout", "10s", ignored, same),
		row("proxy-read-timeout", "3600", different, func(p *annotation.Proxy) { p.ReadTimeout = time.Hour }),
		row("proxy-send-timeout", "-1", rejected, same),
		row("proxy-request-buffering", "off", ok, func(p *annotation.Proxy) { p.RequestBuffering = false }),
		row("proxy-request-buffering", "Off", ignored, same),
		row("proxy-http-version", "1.0", different, func(*annotation.Proxy) {}),
		row("proxy-http-version", "1.1", ok, same),
		row("proxy-http-version", "2", ignored, same),
		row("proxy-buffering", "on", unused, same),
		row("proxy-buffer-size", "8k", unused, same),
		row("proxy-buffers-number", "-4", rejected, same),
		row("proxy-next-upstream", "http_502 error non_idempotent error", ok, func(p *annotation.Proxy) {
			p.NextUpstream.Conditions, p.NextUpstream.NonIdempotent = []string{"http_502", "error"}, true
		}),
		row("proxy-next-upstream", "off", ok, func(p *annotation.Proxy) { p.NextUpstream.Conditions = nil }),
		row("proxy-next-upstream", "http_501", ignored, same),
		row("proxy-next-upstream", "error;", ignored, same),
		row("proxy-next-upstream-tries", "0", ok, func(p *annotation.Proxy) { p.NextUpstream.Tries = 0 }),
		row("proxy-next-upstream-timeout", "7", ok, func(p *annotation.Proxy) { p.NextUpstream.Timeout = 7 * time.Second }),
		row("proxy-redirect-from", "http://a/", unused, same),
		row("proxy-redirect-to", "http://a/", unused, same),
		row("proxy-redirect-from", "default", ok, func(p *annotation.Proxy) { p.RedirectFrom = "default" }),
		row("proxy-cookie-domain", "a.example.com  b.example.com", ok, func(p *annotation.Proxy) {
			p.CookieDomain = &annotation.Replacement{From: "a.example.com", To: "b.example.com"}
		}),
		row("proxy-cookie-domain", "a.example.com", ignored, same),
		row(
			"proxy-cookie-path", "/a /b", ok,
			func(p *annotation.Proxy) { p.CookiePath = &annotation.Replacement{From: "/a", To: "/b"} },
		),
		row("proxy-cookie-path", "off", ok, same),
		row("proxy-cookie-path", "/a", rejected, same),
		row("proxy-cookie-path", "/a $b", ignored, same),
	})
	options, _ := read(t, map[string]string{"proxy-redirect-from": "http://a/", "proxy-redirect-to": "https://b/"})
	if options.Proxy.RedirectFrom != "http://a/" || options.Proxy.RedirectTo != "https://b/" {
		t.Errorf("%+v", options.Proxy)
	}
}

func TestErrors(t *testing.T) {
	errors := func(options *annotation.Options) any { return options.Errors }
	run(t, []reads{
		{
			name:        "list",
			annotations: map[string]string{"custom-http-errors": "503, 404,404", "disable-proxy-intercept-errors": "true"},
			verdicts:    verdicts{"custom-http-errors": different},
			got:         errors, want: annotation.Errors{Statuses: []int{404, 503}, KeepUpstream: true},
		},
		{
			name: "switch alone", annotations: one("disable-proxy-intercept-errors", "true"),
			verdicts: verdicts{"disable-proxy-intercept-errors": unused}, got: errors, want: annotation.Errors{},
		},
		{
			name: "class", annotations: one("custom-http-errors", "5xx"),
			verdicts: verdicts{"custom-http-errors": rejected}, outcome: "rejected",
		},
		{
			name: "run together", annotations: one("custom-http-errors", "404503"),
			verdicts: verdicts{"custom-http-errors": rejected}, outcome: "rejected",
		},
		{
			name: "499", annotations: one("custom-http-errors", "404,499"),
			verdicts: verdicts{"custom-http-errors": rejected}, outcome: "rejected",
		},
		{
			name: "success", annotations: one("custom-http-errors", "200"),
			verdicts: verdicts{"custom-http-errors": rejected}, outcome: "rejected",
		},
	})
}

func TestProxyTLS(t *testing.T) {
	tls := func(options *annotation.Options) any { return options.ProxyTLS }
	run(t, []reads{
		{
			name: "without secret", annotations: one("proxy-ssl-verify", "on"),
			verdicts: verdicts{"proxy-ssl-verify": unused}, got: tls, want: (*annotation.ProxyTLS)(nil),
		},
		{
			name: "all",
			annotations: map[string]string{
				"proxy-ssl-secret": "shop/tls", "proxy-ssl-verify": "on", "proxy-ssl-verify-depth": "2",
				"proxy-ssl-name":        "a.example.com",
				"proxy-ssl-server-name": "on", "proxy-ssl-protocols": "TLSv1.3 TLSv1.2", "proxy-ssl-ciphers": "HIGH:!aNULL",
			},
			verdicts: verdicts{"proxy-ssl-ciphers": different},
			got:      tls, want: &annotation.ProxyTLS{
				Secret: annotation.Reference{Namespace: "shop", Name: "tls"}, Verify: true, VerifyDepth: 2, Name: "a.example.com",
				ServerName: true, Protocols: []string{"TLSv1.2", "TLSv1.3"}, Ciphers: "HIGH:!aNULL",
			},
		},
		{
			name: "defaults for what is wrong",
			annotations: map[string]string{
				"proxy-ssl-secret": "shop/tls", "proxy-ssl-verify": "off", "proxy-ssl-verify-depth": "x",
				"proxy-ssl-protocols": "SSLv3", "proxy-ssl-name": "a b",
			},
			verdicts: verdicts{
				"proxy-ssl-verify-depth": ignored, "proxy-ssl-protocols": ignored,
				"proxy-ssl-name": ignored,
			},
			got: tls, want: &annotation.ProxyTLS{
				Secret: annotation.Reference{Namespace: "shop", Name: "tls"}, VerifyDepth: 1,
				Protocols: []string{"TLSv1.2"}, Ciphers: "DEFAULT",
			},
		},
		{
			name: "foreign", annotations: one("proxy-ssl-secret", "bank/tls"),
			verdicts: verdicts{"proxy-ssl-secret": denied}, outcome: "denied",
		},
		{
			name: "without namespace", annotations: one("proxy-ssl-secret", "tls"),
			verdicts: verdicts{"proxy-ssl-secret": denied}, outcome: "denied",
		},
		{
			name: "no name", annotations: one("proxy-ssl-secret", "shop/$a"),
			verdicts: verdicts{"proxy-ssl-secret": rejected}, outcome: "rejected",
		},
	})
}

func TestMirrorAndConnections(t *testing.T) {
	mirror := func(options *annotation.Options) any { return options.Mirror }
	run(t, []reads{
		{
			name: "mirror", annotations: one("mirror-target", "https://copy.example.com:8443/$request_uri"),
			verdicts: verdicts{"mirror-target": different}, got: mirror,
			want: &annotation.Mirror{
				Target: "https://copy.example.com:8443/$request_uri", Host: "copy.example.com", RequestBody: true,
			},
		},
		{
			name: "host and body", annotations: map[string]string{
				"mirror-target": "https://$host.copy", "mirror-host": "a", "mirror-request-body": "off",
			},
			verdicts: verdicts{"mirror-target": different}, got: mirror, want: &annotation.Mirror{
				Target: "https://$host.copy", Host: "a",
			},
		},
		{
			name: "injection", annotations: one("mirror-target", "http://a/;\n}"),
			verdicts: verdicts{"mirror-target": ignored}, got: mirror, want: (*annotation.Mirror)(nil),
		},
		{
			name: "host alone", annotations: one("mirror-host", "a"), verdicts: verdicts{"mirror-host": unused},
			got: mirror, want: (*annotation.Mirror)(nil),
		},
	})
	tls := func(options *annotation.Options) any { return options.TLS }
	run(t, []reads{
		{
			name: "tls",
			annotations: map[string]string{
				"ssl-passthrough": "true", "ssl-ciphers": "ALL:!aNULL:@STRENGTH", "ssl-prefer-server-ciphers": "true",
			},
			verdicts: verdicts{"ssl-ciphers": different, "ssl-prefer-server-ciphers": unused}, got: tls,
			want: annotation.TLS{Passthrough: true, Ciphers: "ALL:!aNULL:@STRENGTH"},
		},
		{
			name: "no passthrough", annotations: one("ssl-passthrough", "on"),
			verdicts: verdicts{"ssl-passthrough": rejected}, outcome: "rejected",
		},
		{
			name: "no ciphers", annotations: one("ssl-ciphers", "a;b"), verdicts: verdicts{"ssl-ciphers": rejected},
			outcome: "rejected",
		},
		{name: "push", annotations: one("http2-push-preload", "true"), verdicts: verdicts{"http2-push-preload": unused}},
	})
	yes := true
	logs := func(options *annotation.Options) any { return options.Log }
	run(t, []reads{
		{
			name: "log",
			annotations: map[string]string{
				"enable-access-log": "false", "enable-rewrite-log": "true", "enable-opentelemetry": "true",
				"opentelemetry-operation-name": "a",
			},
			verdicts: verdicts{"enable-rewrite-log": unused, "opentelemetry-operation-name": unsupported}, got: logs,
			want: annotation.Log{Tracing: &yes},
		},
		{
			name: "name without traces", annotations: one("opentelemetry-operation-name", "$"),
			verdicts: verdicts{"opentelemetry-operation-name": unused}, got: logs, want: annotation.Log{Access: true},
		},
		{
			name:        "wrong name",
			annotations: map[string]string{"enable-opentelemetry": "true", "opentelemetry-operation-name": "$"},
			verdicts:    verdicts{"opentelemetry-operation-name": rejected}, outcome: "rejected",
		},
	})
}
