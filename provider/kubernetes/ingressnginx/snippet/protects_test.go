package snippet_test

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/snippet"
)

// TestProtects demands that a directive is found wherever nginx would see one, and nowhere else.
func TestProtects(t *testing.T) {
	for text, want := range map[string]string{
		"more_set_headers \"X-Frame-Options: deny\";":      "",
		"add_header X-A allow;":                            "",
		"return 301 https://example.com/;":                 "",
		"return https://example.com/;":                     "",
		"return 200 'ok';":                                 "",
		"set $deny 1; proxy_set_header X-Deny $deny;":      "",
		"# deny all;\nadd_header a b;":                     "",
		"if ($http_user_agent ~* 'bot') { return 302 /; }": `"return"`,
		"if ($a) { rewrite ^ /denied last; }":              `"rewrite"`,
		"if ($a) { proxy_pass http://b; }":                 `"proxy_pass"`,
		"if ($a) { set $b 1; add_header c d; break; }":     "",
		"if ($a) { proxy_set_header c d; expires 1d; }":    "",
		"proxy_set_header A ${deny};":                      "",
		"rewrite ^/a$ /b permanent;":                       "",
		"types { text/html html; }":                        "",
		"map $a $b { default deny; deny allow; }":          "",
		"":                                       "",
		"deny all;":                              `"deny"`,
		"DENY all;":                              `"DENY"`,
		"add_header a b;deny all;":               `"deny"`,
		"location /x {allow 10.0.0.1;deny all;}": `"allow"`,
		"if ($bad) { return 403; }":              `"return"`,
		"if ($bad) {\n\treturn\n444;\n}":         `"return"`,
		"return $status;":                        `"return"`,
		"return;":                                `"return"`,
		"\"deny\" all;":                          `"deny"`,
		"'deny' all;":                            `"deny"`,
		"auth_basic off;":                        `"auth_basic"`,
		"auth_request /auth;":                    `"auth_request"`,
		"limit_req zone=a;":                      `"limit_req"`,
		"limit_req_zone $remote_addr zone=a:1m rate=1r/s;": "",
		"satisfy any;":                                        `"satisfy"`,
		"internal;":                                           `"internal"`,
		"ssl_verify_client on;":                               `"ssl_verify_client"`,
		"ssl_client_certificate /etc/ca.pem;":                 `"ssl_client_certificate"`,
		"ssl_protocols TLSv1.3;":                              "",
		"proxy_ssl_verify on;":                                `"proxy_ssl_verify"`,
		"proxy_ssl_server_name on;":                           "",
		"valid_referers none;":                                `"valid_referers"`,
		"some_module_protects on;":                            `"some_module_protects"`,
		"access_by_lua_block { ngx.exit(403) }":               `"access_by_lua_block"`,
		"set_by_lua $a 'return 1';":                           `"set_by_lua"`,
		"access_by_lua_file /x.lua;":                          `"access_by_lua_file"`,
		"include /etc/nginx/deny.conf;":                       `"include"`,
		"add_header a \"# x\"; deny all;":                     `"deny"`,
		"set $a \"x\n # \"; deny all;":                        `"deny"`,
		"set $a x\"y \"z # w\"; deny all;":                    `"deny"`,
		"set $a \"a\\\\\"; deny all;":                         `"deny"`,
		"set $a \"a\\\" # \"; deny all;":                      `"deny"`,
		"set $a b\\ # c\n; deny all;":                         `"deny"`,
		"add_header a#b c; deny all;":                         `"deny"`,
		"proxy_set_header A ${b}{gzip on; deny all;":          `"deny"`,
		"add_header a b":                                      "line 1: the semicolon at the end of add_header is missing",
		"add_header a b;\n}":                                  "line 2: a closing brace without an opening one",
		"location /x {\nadd_header a b;":                      "line 2: the closing brace of a block is missing",
		"if ($a) {\nset $b c }":                               "line 2: the semicolon before a closing brace is missing",
		"add_header a \"b\"c;":                                "line 1: a character follows a closing quote",
		"add_header a 'b;":                                    "line 1: the closing quote is missing",
		";":                                                   "line 1: there is no directive before ;",
		"{":                                                   "line 1: there is no directive before {",
		strings.Repeat("location / {", 40):                    "line 1: blocks are too deep in each other",
		strings.Repeat("add_header a b;", snippet.Most/15+10): "more than the 16384 that are read",
	} {
		got, protects := snippet.Protects(text)
		if protects != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%.80q: %q, want %q", text, got, want)
		}
	}
}
