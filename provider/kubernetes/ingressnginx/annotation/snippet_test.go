package annotation_test

import (
	"testing"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// TestProtectingDirective demands that a directive is found wherever nginx would see one, and nowhere else.
func TestProtectingDirective(t *testing.T) {
	for snippet, want := range map[string]string{
		"more_set_headers \"X-Frame-Options: deny\";":      "",
		"add_header X-A allow;":                            "",
		"return 301 https://example.com/;":                 "",
		"return https://example.com/;":                     "",
		"return 200 'ok';":                                 "",
		"set $deny 1; proxy_set_header X-Deny $deny;":      "",
		"# deny all;\nadd_header a b;":                     "",
		"if ($http_user_agent ~* 'bot') { return 302 /; }": "",
		"proxy_set_header A ${deny};":                      "",
		"":                                                 "",
		"deny all;":                                        "deny",
		"DENY all;":                                        "DENY",
		"add_header a b;deny all;":                         "deny",
		"location /x {allow 10.0.0.1;deny all;}":           "allow",
		"if ($bad) { return 403; }":                        "return",
		"if ($bad) {\n\treturn\n444;\n}":                   "return",
		"return $status;":                                  "return",
		"return;":                                          "return",
		"\"deny\" all;":                                    "deny",
		"'deny' all;":                                      "deny",
		"auth_basic off;":                                  "auth_basic",
		"auth_request /auth;":                              "auth_request",
		"limit_req zone=a;":                                "limit_req",
		"satisfy any;":                                     "satisfy",
		"access_by_lua_block { ngx.exit(403) }":            "access_by_lua_block",
		"include /etc/nginx/deny.conf;":                    "include",
		"add_header a \"# x\"; deny all;":                  "deny",
		"set $a \"x\n # \"; deny all;":                     "deny",
		"set $a x\"y \"z # w\"; deny all;":                 "deny",
		"set $a \"a\\\\\"; deny all;":                      "deny",
		"set $a \"a\\\" # \"; deny all;":                   "deny",
		"set $a b\\ # c\n; deny all;":                      "deny",
		"add_header a#b c; deny all;":                      "deny",
		"proxy_set_header A ${b}{c; deny all;":             "deny",
	} {
		if got, _ := annotation.ProtectingDirective(snippet); got != want {
			t.Errorf("%q: %q, want %q", snippet, got, want)
		}
	}
}

func TestSnippets(t *testing.T) {
	snippets := func(options *annotation.Options) any { return options.Snippets }
	run(t, []reads{
		{
			name: "harmless",
			annotations: map[string]string{
				"configuration-snippet": "add_header a b;", "server-snippet": "gzip on;",
				"stream-snippet": "server { deny all; }",
			},
			verdicts: verdicts{
				"configuration-snippet": unsupported, "server-snippet": unsupported, "stream-snippet": unsupported,
			},
			got: snippets, want: annotation.Snippets{
				Configuration: "add_header a b;", Server: "gzip on;", Stream: "server { deny all; }",
			},
		},
		{
			name: "access", annotations: one("configuration-snippet", "deny all;"),
			verdicts: verdicts{"configuration-snippet": denied}, outcome: "closed",
		},
		{
			name: "access of the server", annotations: one("server-snippet", "if ($a) { return 403; }"),
			verdicts: verdicts{"server-snippet": denied}, outcome: "closed",
		},
		{
			name: "empty", annotations: one("server-snippet", "\n "), verdicts: verdicts{"server-snippet": unused},
			got: snippets, want: annotation.Snippets{},
		},
	})
}
