package annotation_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// TestHostileValues has the values by which known vulnerabilities of ingress-nginx were used. Each has no effect, or
// costs the Ingress its locations; none of them is found in a value that is passed on.
func TestHostileValues(t *testing.T) {
	for name, row := range map[string]struct {
		annotations map[string]string
		// closed says that the locations are denied or rejected.
		closed bool
	}{
		"CVE-2021-25742, a snippet reads tokens": {
			one(
				"server-snippet",
				"set_by_lua $a 'return io.open(\"/var/run/secrets/kubernetes.io/serviceaccount/token\"):read()';",
			),
			true,
		},
		"CVE-2021-25742, a location for files":           {one("server-snippet", "location /x { alias /; }"), true},
		"CVE-2021-25746, a value of a simple annotation": {one("proxy-body-size", "1m;}\nlocation /x { alias /;"), false},
		"CVE-2021-25746, an alias": {
			one("server-alias", "a.example.com;}location /x{alias /;"), true,
		},
		"CVE-2021-25748, line breaks": {one("rewrite-target", "/a\nalias /;"), false},
		"CVE-2023-5043, configuration-snippet": {
			one("configuration-snippet", "content_by_lua_block { ngx.say(io.popen(\"id\"):read(\"*a\")) }"), true,
		},
		"CVE-2023-5044, permanent-redirect": {
			one("permanent-redirect", "https://a;}location ~* \"^/x\" { content_by_lua 'x';}location ~* ^/y {return 302 /"),
			true,
		},
		"CVE-2024-7646, a carriage return": {one("auth-realm", "x\rload_module /tmp/x.so;"), false},
		"CVE-2024-7646, with authentication": {
			map[string]string{"auth-type": "basic", "auth-secret": "s", "auth-realm": "x\r;load_module x;"}, true,
		},
		"CVE-2025-24514, auth-url": {
			one("auth-url", "http://example.com/#;load_module test;\n"), true,
		},
		"CVE-2025-24514, auth-url in a comment": {
			one("auth-url", "http://example.com/\n}ssl_engine /proc/1/fd/3;#"), true,
		},
		"CVE-2025-1097, auth-tls-match-cn": {
			map[string]string{
				"auth-tls-secret": "shop/ca", "auth-tls-match-cn": "CN=abc #(\n){}\n }}\nssl_engine /proc/1/fd/3;",
			},
			false,
		},
		"CVE-2025-1098, mirror-target": {one("mirror-target", "https://a\"\n}\nssl_engine x;"), false},
		"CVE-2025-1098, mirror-host": {
			map[string]string{"mirror-target": "https://a", "mirror-host": "a\";ssl_engine x;"}, false,
		},
		"CVE-2025-24513, a file name from a Secret's name": {
			map[string]string{"auth-type": "basic", "auth-secret": "../../etc/passwd"}, true,
		},
		"auth-proxy-set-headers": {
			map[string]string{"auth-url": "http://a/", "auth-proxy-set-headers": "../x"}, true,
		},
		"auth-method": {
			map[string]string{"auth-url": "http://a/", "auth-method": "GET;"}, true,
		},
		"a header in auth-response-headers": {
			map[string]string{"auth-url": "http://a/", "auth-response-headers": "X-A\r\nX-B: c"}, true,
		},
		"auth-cache-duration": {
			map[string]string{"auth-url": "http://a/", "auth-cache-duration": "200 5m;deny all"}, true,
		},
		"x-forwarded-prefix": {one("x-forwarded-prefix", "/a\";deny all;"), true},
		"upstream-vhost":     {one("upstream-vhost", "a\";deny all;"), true},
		"session-cookie-path": {
			map[string]string{"affinity": "cookie", "session-cookie-path": "/; HttpOnly\r\nX: y"}, false,
		},
		"cors-allow-origin": {
			map[string]string{"enable-cors": "true", "cors-allow-origin": "https://a\r\nX-B: c"}, false,
		},
		"cors-expose-headers": {
			map[string]string{"enable-cors": "true", "cors-expose-headers": "X-A\r\nX-B"}, false,
		},
		"proxy-cookie-domain": {one("proxy-cookie-domain", "a b\nc"), false},
		"an expression without end": {
			map[string]string{"auth-tls-secret": "shop/ca", "auth-tls-match-cn": "CN=" + strings.Repeat("(a*)*", 2000)},
			false,
		},
		"an expression that repeats": {
			map[string]string{"auth-tls-secret": "shop/ca", "auth-tls-match-cn": "CN=((a{1000}){1000}){1000}"}, true,
		},
	} {
		options, _ := read(t, row.annotations)
		if got := outcome(options) != ""; got != row.closed {
			t.Errorf("%s: closed is %t: %s%s", name, got, options.Denied+options.Closed, options.Rejected)
		}
		clean(t, name, options)
	}
}

// clean demands that no value that is passed on holds a control character. Snippets and expressions are never passed
// on.
func clean(t *testing.T, name string, options *annotation.Options) {
	t.Helper()
	copied := *options
	copied.Snippets = annotation.Snippets{}
	if copied.ClientTLS != nil {
		client := *copied.ClientTLS
		client.MatchCN = ""
		copied.ClientTLS = &client
	}
	walk(reflect.ValueOf(copied), func(text string) {
		if strings.ContainsFunc(text, unicode.IsControl) {
			t.Errorf("%s: %q is passed on", name, text)
		}
	})
}

// walk calls a function with every text within a value.
func walk(value reflect.Value, visit func(string)) {
	switch value.Kind() {
	case reflect.String:
		visit(value.String())
	case reflect.Struct:
		for i := range value.NumField() {
			walk(value.Field(i), visit)
		}
	case reflect.Slice:
		for i := range value.Len() {
			walk(value.Index(i), visit)
		}
	case reflect.Pointer:
		if !value.IsNil() {
			walk(value.Elem(), visit)
		}
	}
}

// FuzzRead demands of any two annotations that they are read in the same way twice, that there is one finding for
// each, of bounded length, and that a finding that closes the locations does so in the options too.
func FuzzRead(f *testing.F) {
	for _, spec := range annotation.All() {
		f.Add(spec.Name, "true", "auth-url", "http://auth/")
		f.Add("auth-type", "basic", spec.Name, "shop/a")
	}
	for _, value := range []string{
		"10.0.0.0/8,::1", "200 5m,any 1d", "CN=(a|b)*", "deny all;", "\"a\\\" # ;", "@x", "-1",
	} {
		f.Add("allowlist-source-range", value, "configuration-snippet", value)
		f.Add("auth-tls-secret", "shop/ca", "auth-tls-match-cn", value)
		f.Add("auth-url", "http://a/", "auth-cache-duration", value)
		f.Add("whitelist-source-range", value, "auth-tls-error-page", value)
	}
	reader := annotation.NewReader(annotation.DefaultSettings())
	f.Fuzz(func(t *testing.T, first, firstValue, second, secondValue string) {
		annotations := map[string]string{
			annotation.Prefix + first: firstValue, annotation.Prefix + second: secondValue,
			annotation.Prefix + "enable-cors": "true", annotation.Prefix + "affinity": "cookie",
		}
		options, findings := reader.Read("shop", annotations)
		again, same := reader.Read("shop", annotations)
		if diff := cmp.Diff(options, again) + cmp.Diff(findings, same); diff != "" {
			t.Errorf("read twice: %s", diff)
		}
		if len(findings) != len(annotations) {
			t.Errorf("%d findings for %d annotations", len(findings), len(annotations))
		}
		for _, finding := range findings {
			if len(finding.Reason) > 1024 || len(finding.Key) > 320 ||
				(finding.Reason == "") != (finding.Verdict == annotation.Honoured) {
				t.Errorf("%+v", finding)
			}
			if finding.Verdict == annotation.Denied && options.Denied+options.Closed == "" ||
				finding.Verdict == annotation.Rejected && options.Rejected == "" {
				t.Errorf("the locations stay open: %+v", finding)
			}
		}
		if max(len(options.Denied), len(options.Closed)) > 1024 || len(options.Rejected) > 1024 {
			t.Errorf("%q, %q", options.Denied, options.Rejected)
		}
		clean(t, first+" "+second, options)
	})
}

// TestWrongValuesOpenNothing demands of each annotation that protects something that a wrong value closes the
// locations, unless the default is as strict.
func TestWrongValuesOpenNothing(t *testing.T) {
	strict := map[string]string{
		"enable-global-auth": "true", "auth-tls-verify-client": "on", "auth-tls-verify-depth": "1",
		"proxy-body-size": "1 MiB", "proxy-ssl-name": "the default, which is verified", "proxy-ssl-verify-depth": "1",
		"enable-owasp-core-rules": "no firewall without enable-modsecurity", "modsecurity-snippet": "the same",
	}
	for _, spec := range annotation.All() {
		if !spec.Protects {
			continue
		}
		for _, value := range []string{"\x01;", "a b;{}", "\"x\"\n", "{{"} {
			annotations := map[string]string{
				"auth-type": "basic", "auth-secret": "users", "auth-url": "http://auth/", "auth-tls-secret": "shop/ca",
				"proxy-ssl-secret": "shop/tls",
			}
			annotations[spec.Name] = value
			options, findings := read(t, annotations)
			snippet := options.AuthRequest != nil && options.AuthRequest.Snippet
			closed := outcome(options) != "" || options.Firewall.Enabled || snippet
			if closed == (strict[spec.Name] != "") {
				t.Errorf("%s: %q: closed is %t: %+v", spec.Name, value, closed, findings[spec.Name])
			}
		}
	}
}

// TestManyUnknownAnnotations demands that similar names are looked for a few times alone.
func TestManyUnknownAnnotations(t *testing.T) {
	annotations := map[string]string{}
	for i := range 5000 {
		annotations[fmt.Sprintf("rewrite-targe%04d", i)] = "/"
	}
	_, findings := read(t, annotations)
	suggested := 0
	for _, finding := range findings {
		if strings.Contains(finding.Reason, "did you mean") {
			suggested++
		}
	}
	if suggested == 0 || suggested > 16 {
		t.Errorf("%d suggestions", suggested)
	}
}
