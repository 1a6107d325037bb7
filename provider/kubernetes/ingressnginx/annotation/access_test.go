package annotation_test

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

func TestAccess(t *testing.T) {
	access := func(options *annotation.Options) any { return options.Access }
	run(t, []reads{
		{
			name: "lists",
			annotations: map[string]string{
				"allowlist-source-range": " 10.0.0.0/8,192.0.2.1 ,2001:db8::/32, 10.9.0.0/8", "denylist-source-range": "10.1.1.1",
				"satisfy": "any",
			},
			got: access, want: annotation.Access{
				Allow: []string{"10.0.0.0/8", "192.0.2.1", "2001:db8::/32"}, Deny: []string{"10.1.1.1"}, SatisfyAny: true,
			},
		},
		{
			name: "deny list that is none", annotations: one("denylist-source-range", "10.0.0.0/33"),
			verdicts: verdicts{"denylist-source-range": denied}, outcome: "denied",
		},
		{
			name: "allow list with a name", annotations: one("allowlist-source-range", "10.0.0.0/8,localhost"),
			verdicts: verdicts{"allowlist-source-range": denied}, outcome: "denied",
		},
		{name: "satisfy", annotations: one("satisfy", " all "), got: access, want: annotation.Access{}},
		{
			name: "satisfy what", annotations: one("satisfy", "Any"), verdicts: verdicts{"satisfy": ignored}, got: access,
			want: annotation.Access{},
		},
	})
	settings := annotation.DefaultSettings()
	settings.Allow, settings.Deny = []string{"192.0.2.0/24"}, []string{"192.0.2.1"}
	options, _ := readWith(t, settings, one("allowlist-source-range", "10.0.0.1"))
	if options.Access.Allow[0] != "10.0.0.1" || options.Access.Deny[0] != "192.0.2.1" {
		t.Errorf("with the lists of the ConfigMap: %+v", options.Access)
	}
}

func TestAuth(t *testing.T) {
	auth := func(options *annotation.Options) any { return options.Auth }
	secret := annotation.Reference{Namespace: "shop", Name: "users"}
	with := func(name, value string) map[string]string {
		return map[string]string{"auth-type": "basic", "auth-secret": "users", name: value}
	}
	run(t, []reads{
		{name: "nothing", got: auth, want: (*annotation.Auth)(nil)},
		{
			name: "basic", annotations: with("auth-secret-type", "auth-map"), got: auth,
			want: &annotation.Auth{Secret: secret, Map: true},
		},
		{
			name: "digest", annotations: with("auth-type", "digest"), got: auth,
			want: &annotation.Auth{Digest: true, Secret: secret},
		},
		{
			name: "namespace", annotations: with("auth-secret", "shop/users"), got: auth,
			want: &annotation.Auth{Secret: secret},
		},
		{
			name: "realm", annotations: with("auth-realm", "Area 51"), verdicts: verdicts{"auth-realm": different},
			got: auth, want: &annotation.Auth{Secret: secret, Realm: "Area 51"},
		},
		{
			name: "realm off does not switch it off", annotations: with(
				"auth-realm", "off",
			), verdicts: verdicts{"auth-realm": different},
			got: auth, want: &annotation.Auth{Secret: secret, Realm: "off"},
		},
		{
			name: "realm with quotes", annotations: with("auth-realm", `a"; deny`),
			verdicts: verdicts{"auth-realm": rejected}, outcome: "rejected",
		},
		{
			name: "foreign secret", annotations: with("auth-secret", "bank/users"),
			verdicts: verdicts{"auth-secret": denied}, outcome: "denied",
		},
		{
			name: "secret that is none", annotations: with("auth-secret", "a/b/c"),
			verdicts: verdicts{"auth-secret": denied}, outcome: "denied",
		},
		{
			name: "secret with a variable", annotations: with("auth-secret", "$a"),
			verdicts: verdicts{"auth-secret": denied}, outcome: "denied",
		},
		{
			name: "empty secret", annotations: with("auth-secret", ""), verdicts: verdicts{"auth-secret": denied},
			outcome: "denied",
		},
		{
			name: "other type", annotations: with("auth-type", "Basic"),
			verdicts: verdicts{"auth-type": rejected, "auth-secret": unused}, outcome: "rejected",
		},
		{
			name: "words around the type", annotations: with("auth-type", "my basic one"),
			verdicts: verdicts{"auth-type": rejected, "auth-secret": unused}, outcome: "rejected",
		},
		{
			name: "empty type", annotations: with("auth-type", ""),
			verdicts: verdicts{"auth-type": unused, "auth-secret": unused}, got: auth, want: (*annotation.Auth)(nil),
		},
		{
			name: "other form", annotations: with("auth-secret-type", "file"),
			verdicts: verdicts{"auth-secret-type": rejected, "auth-secret": unused}, outcome: "rejected",
		},
		{
			name: "words around the form", annotations: with("auth-secret-type", "auth-file2"),
			verdicts: verdicts{"auth-secret-type": denied, "auth-secret": unused}, outcome: "denied",
		},
	})
	options, findings := read(t, one("auth-type", "basic"))
	if options.Denied == "" || findings["auth-type"].Verdict != denied {
		t.Errorf("without a Secret: %q, %v", options.Denied, findings)
	}
	settings := annotation.DefaultSettings()
	settings.AllowCrossNamespace = true
	options, _ = readWith(t, settings, with("auth-secret", "bank/users"))
	if options.Denied != "" || options.Auth.Secret.Namespace != "bank" {
		t.Errorf("with allow-cross-namespace-resources: %+v", options)
	}
}

func TestClientTLS(t *testing.T) {
	client := func(options *annotation.Options) any { return options.ClientTLS }
	with := func(name, value string) map[string]string {
		return map[string]string{"auth-tls-secret": "shop/ca", name: value}
	}
	plain := func(change func(*annotation.ClientTLS)) *annotation.ClientTLS {
		out := &annotation.ClientTLS{Secret: annotation.Reference{Namespace: "shop", Name: "ca"}, Mode: "on", Depth: 1}
		change(out)
		return out
	}
	row := func(name, value string, verdict annotation.Verdict, change func(*annotation.ClientTLS)) reads {
		found := verdicts{"auth-tls-secret": different}
		if verdict != annotation.Honoured {
			found[name] = verdict
		}
		out := reads{name: name + " " + value, annotations: with(name, value), verdicts: found}
		if verdict == rejected {
			out.outcome = "rejected"
			return out
		}
		out.got, out.want = client, plain(change)
		return out
	}
	same := func(*annotation.ClientTLS) {}
	run(t, []reads{
		{
			name: "without secret", annotations: one("auth-tls-verify-client", "on"),
			verdicts: verdicts{"auth-tls-verify-client": unused}, got: client, want: (*annotation.ClientTLS)(nil),
		},
		{
			name: "secret without namespace", annotations: one("auth-tls-secret", "ca"),
			verdicts: verdicts{"auth-tls-secret": denied}, outcome: "denied",
		},
		{
			name: "foreign secret", annotations: one("auth-tls-secret", "bank/ca"),
			verdicts: verdicts{"auth-tls-secret": denied}, outcome: "denied",
		},
		{
			name: "secret with a directive", annotations: one("auth-tls-secret", "shop/ca;"),
			verdicts: verdicts{"auth-tls-secret": rejected}, outcome: "rejected",
		},
		row(
			"auth-tls-verify-client", "optional_no_ca", annotation.Honoured,
			func(c *annotation.ClientTLS) { c.Mode = "optional_no_ca" },
		),
		row("auth-tls-verify-client", "none", ignored, same),
		row("auth-tls-verify-client", "o ff", annotation.Honoured, same),
		row("auth-tls-verify-depth", "3", annotation.Honoured, func(c *annotation.ClientTLS) { c.Depth = 3 }),
		row("auth-tls-verify-depth", "0", annotation.Honoured, same),
		row("auth-tls-verify-depth", "deep", ignored, same),
		row("auth-tls-verify-depth", "-1", rejected, nil),
		row(
			"auth-tls-error-page", "https://example.com/a-b/c.html", different,
			func(c *annotation.ClientTLS) { c.ErrorPage = "https://example.com/a-b/c.html" },
		),
		row("auth-tls-error-page", "@page_1", different, func(c *annotation.ClientTLS) { c.ErrorPage = "@page_1" }),
		row("auth-tls-error-page", "/", different, func(c *annotation.ClientTLS) { c.ErrorPage = "/" }),
		row(
			"auth-tls-error-page", "example.com:8080/x/", different,
			func(c *annotation.ClientTLS) { c.ErrorPage = "example.com:8080/x/" },
		),
		row("auth-tls-error-page", "ftp://example.com", rejected, nil),
		row("auth-tls-error-page", "//x", rejected, nil),
		row("auth-tls-error-page", "https://", rejected, nil),
		row("auth-tls-error-page", "/a?b", rejected, nil),
		row("auth-tls-error-page", "@", rejected, nil),
		row(
			"auth-tls-pass-certificate-to-upstream", "true", annotation.Honoured,
			func(c *annotation.ClientTLS) { c.PassCertificate = true },
		),
		row("auth-tls-pass-certificate-to-upstream", "ja", rejected, nil),
		row("auth-tls-match-cn", "CN=shop-.*", different, func(c *annotation.ClientTLS) { c.MatchCN = "CN=shop-.*" }),
		row("auth-tls-match-cn", "shop", rejected, nil),
		row("auth-tls-match-cn", "CN=(", rejected, nil),
	})
	for _, name := range []string{"ca", "bank/ca", "/ca", "shop/", "a/b/c", "shop/ca;"} {
		if options, _ := read(t, one("auth-tls-secret", name)); options.ClientTLS == nil || options.ClientTLS.Denied == "" {
			t.Errorf("%s: the host is not denied", name)
		}
	}
	for _, subject := range []string{"shop", "CN=(", "CN=" + strings.Repeat("x", annotation.MostValue)} {
		if options, _ := read(t, with("auth-tls-match-cn", subject)); options.ClientTLS.Denied == "" {
			t.Errorf("%.20s: the host is not denied", subject)
		}
	}
}

func TestFirewall(t *testing.T) {
	firewall := func(options *annotation.Options) any { return options.Firewall }
	off := annotation.Firewall{}
	run(t, []reads{
		{
			name: "on", annotations: one("enable-modsecurity", "true"),
			verdicts: verdicts{"enable-modsecurity": unsupported}, got: firewall,
			want: annotation.Firewall{Enabled: true},
		},
		{
			name: "off", annotations: one("enable-modsecurity", "false"),
			verdicts: verdicts{"enable-modsecurity": unused}, got: firewall, want: off,
		},
		{
			name: "no switch", annotations: one("enable-modsecurity", "on"),
			verdicts: verdicts{"enable-modsecurity": unsupported}, got: firewall, want: annotation.Firewall{Enabled: true},
		},
		{
			name: "rules alone", annotations: one("enable-owasp-core-rules", "true"),
			verdicts: verdicts{"enable-owasp-core-rules": unused}, got: firewall, want: off,
		},
		{
			name: "all",
			annotations: map[string]string{
				"enable-modsecurity": "true", "enable-owasp-core-rules": "true", "modsecurity-snippet": "SecRuleEngine On",
				"modsecurity-transaction-id": "$request_id",
			},
			verdicts: verdicts{
				"enable-modsecurity": unsupported, "enable-owasp-core-rules": unsupported,
				"modsecurity-snippet": unsupported, "modsecurity-transaction-id": unsupported,
			},
			got: firewall, want: annotation.Firewall{Enabled: true},
		},
	})
	settings := annotation.DefaultSettings()
	settings.Firewall = true
	if options, _ := readWith(t, settings, nil); !options.Firewall.Enabled {
		t.Errorf("with the ConfigMap's: %+v", options.Firewall)
	}
	if options, _ := readWith(
		t, settings, one("enable-modsecurity", "false"),
	); options.Firewall.Enabled {
		t.Errorf("switched off: %+v", options.Firewall)
	}
}
