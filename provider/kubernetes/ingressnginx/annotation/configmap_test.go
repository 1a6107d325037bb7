package annotation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// TestConfigMapWithoutKeys demands that the defaults are those of ingress-nginx.
func TestConfigMapWithoutKeys(t *testing.T) {
	settings, findings := annotation.ReadConfigMap("nginx", nil)
	if diff := cmp.Diff(annotation.DefaultSettings(), settings); diff != "" || len(findings) != 0 {
		t.Error(diff, findings)
	}
	// The defaults that the table of keys shows are those values.
	data := map[string]string{}
	for _, key := range annotation.AllConfigKeys() {
		if key.Effect == annotation.Setting && key.Default != "" {
			data[key.Name] = key.Default
		}
	}
	settings, findings = annotation.ReadConfigMap("nginx", data)
	if diff := cmp.Diff(annotation.DefaultSettings(), settings); diff != "" {
		t.Error(diff)
	}
	for _, finding := range findings {
		if finding.Verdict != annotation.Honoured {
			t.Errorf("%+v", finding)
		}
	}
}

// TestConfigMapSettings demands that each key with an effect changes the settings.
func TestConfigMapSettings(t *testing.T) {
	values := map[string]string{
		"http-redirect-code": "301", "hsts-max-age": "60", "proxy-body-size": "8m", "client-body-buffer-size": "1m",
		"proxy-request-buffering": "off", "proxy-next-upstream": "http_500", "proxy-redirect-from": "http://a/",
		"proxy-redirect-to": "http://b/", "proxy-cookie-domain": "a b", "proxy-cookie-path": "/a /b",
		"proxy-http-version": "1.0", "custom-http-errors": "404,503", "load-balance": "ewma",
		"limit-req-status-code": "429", "limit-conn-status-code": "429", "whitelist-source-range": "10.0.0.0/8",
		"denylist-source-range": "10.0.0.1", "block-cidrs": "192.0.2.0/24", "annotations-risk-level": "Critical",
		"proxy-set-headers": "nginx/a", "add-headers": "nginx/b", "ssl-protocols": "TLSv1.3", "ssl-ciphers": "HIGH",
		"global-auth-url": "http://auth.example.com/", "gzip-types": "text/css", "brotli-types": "text/css",
		"upstream-keepalive-timeout": "7", "hsts": "false", "hsts-include-subdomains": "false", "ssl-redirect": "false",
		"generate-request-id":       "false",
		"no-tls-redirect-locations": "/a, /b", "no-auth-locations": "/a", "block-referers": "a", "block-user-agents": "b",
	}
	for _, key := range annotation.AllConfigKeys() {
		if key.Effect != annotation.Setting {
			continue
		}
		value := values[key.Name]
		switch {
		case value != "":
		case strings.HasPrefix(key.Name, "global-auth-"):
			continue
		case key.Default == "false":
			value = "true"
		default:
			value = "7"
		}
		settings, findings := annotation.ReadConfigMap("nginx", map[string]string{key.Name: value})
		if cmp.Equal(annotation.DefaultSettings(), settings) && key.Name != "proxy-http-version" { // HTTP/1.1 is spoken.
			t.Errorf("%s: %s changes nothing", key.Name, value)
		}
		if finding := findings[0]; finding.Verdict > annotation.Different && key.Name != "enable-modsecurity" &&
			key.Name != "proxy-http-version" {
			t.Errorf("%+v", finding)
		}
	}
}

// TestConfigMapWrongValues demands that a wrong value leaves the default, and that lists and authentication which
// cannot be read close the locations.
func TestConfigMapWrongValues(t *testing.T) {
	for key, row := range map[string]struct {
		value   string
		verdict annotation.Verdict
		closed  bool
	}{
		"ssl-redirect":               {"yes", ignored, false},
		"proxy-connect-timeout":      {"5s", ignored, false},
		"proxy-body-size":            {"big", ignored, false},
		"http-redirect-code":         {"303", ignored, false},
		"limit-req-status-code":      {"200", ignored, false},
		"proxy-next-upstream":        {"never", ignored, false},
		"add-headers":                {"headers", ignored, false},
		"ssl-protocols":              {"SSLv3", ignored, false},
		"whitelist-source-range":     {"10.0.0.0/8,intranet", denied, true},
		"denylist-source-range":      {"300.1.1.1", denied, true},
		"block-cidrs":                {"x", denied, true},
		"global-auth-url":            {"auth.example.com", denied, false},
		"custom-http-errors":         {"200,404", different, false},
		"hsts-max-age":               {"1y", different, false},
		"enable-modsecurity":         {"true", unsupported, false},
		"use-forwarded-headers":      {"true", unsupported, false},
		"http-snippet":               {"gzip on;", unsupported, false},
		"use-geoip":                  {"true", unused, false},
		"worker-processes":           {"4", unused, false},
		"keep-alive":                 {"75", unused, false},
		"ssl-redirct":                {"true", ignored, false},
		"block-user-agents":          {strings.Repeat("a", annotation.MostValue+1), denied, true},
		"log-format-upstream":        {strings.Repeat("a", annotation.MostValue+1), unsupported, false},
		"global-auth-cache-duration": {strings.Repeat("a", annotation.MostValue+1), denied, false},
	} {
		settings, findings := annotation.ReadConfigMap("nginx", map[string]string{key: row.value})
		if findings[0].Verdict != row.verdict || findings[0].Reason == "" || (settings.Closed != "") != row.closed {
			t.Errorf("%s: %+v, denied %q", key, findings[0], settings.Closed)
		}
	}
	settings, findings := annotation.ReadConfigMap(
		"nginx", map[string]string{"location-snippet": "deny all;", "server-snippet": "gzip on;"},
	)
	if !findings[0].Closes() || findings[1].Closes() || settings.Closed == "" {
		t.Errorf("%+v, denied %q", findings, settings.Closed)
	}
}

func TestConfigMapGlobalAuth(t *testing.T) {
	settings, findings := annotation.ReadConfigMap("nginx", map[string]string{
		"global-auth-url": "https://auth.example.com/check", "global-auth-method": "post",
		"global-auth-signin": "https://auth.example.com/start", "global-auth-signin-redirect-param": "next",
		"global-auth-response-headers": "X-User, X:", "global-auth-request-redirect": "https://a/",
		"global-auth-cache-key": "$http_cookie", "global-auth-cache-duration": "200 1h",
		"global-auth-always-set-cookie": "true",
	})
	want := &annotation.AuthRequest{
		URL: "https://auth.example.com/check", Host: "auth.example.com", Signin: "https://auth.example.com/start",
		SigninParam: "next", ResponseHeaders: []string{"X-User"}, RequestRedirect: "https://a/", CacheKey: "$http_cookie",
		CacheDurations:  []annotation.CacheDuration{{Statuses: []int{200}, Duration: time.Hour}},
		AlwaysSetCookie: true,
	}
	if diff := cmp.Diff(want, settings.GlobalAuth); diff != "" {
		t.Error(diff)
	}
	for _, finding := range findings {
		wrong := finding.Key == "global-auth-method" || finding.Key == "global-auth-response-headers"
		if (finding.Verdict == ignored) != wrong {
			t.Errorf("%+v", finding)
		}
	}
	settings, _ = annotation.ReadConfigMap(
		"nginx", map[string]string{"global-auth-url": "http://a/", "global-auth-snippet": "x;"},
	)
	if settings.GlobalAuthClosed == "" || !settings.GlobalAuth.Snippet {
		t.Errorf("with a snippet: %+v", settings)
	}
}

// FuzzReadConfigMap demands one finding for each key, of bounded length.
func FuzzReadConfigMap(f *testing.F) {
	for _, key := range annotation.AllConfigKeys() {
		f.Add(key.Name, key.Default, "unknown", "x")
	}
	f.Fuzz(func(t *testing.T, first, firstValue, second, secondValue string) {
		data := map[string]string{first: firstValue, second: secondValue}
		settings, findings := annotation.ReadConfigMap("nginx", data)
		if len(findings) != len(data) {
			t.Errorf("%d findings for %d keys", len(findings), len(data))
		}
		for _, finding := range findings {
			if len(finding.Reason) > 1024 {
				t.Errorf("%+v", finding)
			}
			if finding.Verdict == annotation.Denied && settings.Closed == "" && settings.GlobalAuthClosed == "" {
				t.Errorf("the locations stay open: %+v", finding)
			}
		}
	})
}
