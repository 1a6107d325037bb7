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
		"set $deny 1; proxy_set_header Host $deny;":        "",
		"# deny all;\nadd_header a b;":                     "",
		"if ($http_user_agent ~* 'bot') { return 302 /; }": `"return"`,
		"if ($a) { rewrite ^ /denied last; }":              `"rewrite"`,
		"if ($a) { proxy_pass http://b; }":                 `"proxy_pass"`,
		"if ($a) { set $b 1; add_header c d; break; }":     "",
		"if ($a) { proxy_set_header Host d; expires 1d; }": "",
		"proxy_set_header Host ${deny};":                   "",
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
		"proxy_set_header Host ${b}{gzip on; deny all;":       `"deny"`,
		"add_header a b":                                      "line 1: the semicolon at the end of add_header is missing",
		"add_header a b;\n}":                                  "line 2: a closing brace without an opening one",
		"map $a $b {\nadd_header b;":                          "line 2: the closing brace of a block is missing",
		"if ($a) {\nset $b c }":                               "line 2: the semicolon before a closing brace is missing",
		"add_header a \"b\"c;":                                "line 1: a character follows a closing quote",
		"add_header a 'b;":                                    "line 1: the closing quote is missing",
		";":                                                   "line 1: there is no directive before ;",
		"{":                                                   "line 1: there is no directive before {",
		strings.Repeat("if ($a) {", 40):                       "line 1: blocks are too deep in each other",
		strings.Repeat("add_header a b;", snippet.Most/15+10): "more than the 16384 that are read",
	} {
		got, protects := snippet.Protects(text)
		if protects != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%.80q: %q, want %q", text, got, want)
		}
	}
}

// TestProtectsIdentity demands that no header of requests is lost by which an application may find out who sends them.
func TestProtectsIdentity(t *testing.T) {
	for _, text := range []string{
		"proxy_set_header X-WEBAUTH-USER $remote_user;", "proxy_set_header X-Remote-User \"\";", "proxy_set_header Authorization a;",
		"PROXY_SET_HEADER X-A b;", "proxy_set_header X-Forwarded-User $remote_user;", "proxy_set_header;",
		"grpc_set_header X-A b;", "more_set_input_headers \"X-Remote-User: $remote_user\";", "more_set_input_headers;",
		"more_set_input_headers \"Host: a\" \"X-A: b\";", "more_set_input_headers -r \"X-A: b\";",
		"more_clear_input_headers X-Remote-User;", "more_clear_input_headers X-Remote-*;",
		"more_clear_input_headers Host X-A;",
		"if ($a) { proxy_set_header X-Remote-User b; }", "if ($a) { more_clear_input_headers X-Remote-User; }",
		"proxy_pass_request_headers off;", "proxy_pass_request_headers;",
	} {
		if _, protects := snippet.Protects(text); !protects {
			t.Errorf("%q is harmless", text)
		}
	}
	for _, text := range []string{
		"proxy_set_header Upgrade $http_upgrade; proxy_set_header connection upgrade;", "proxy_set_header Host a;",
		"proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto https;",
		"proxy_set_header X-Real-IP $remote_addr; proxy_set_header Accept-Encoding \"\";", "grpc_set_header Host a;",
		"more_set_input_headers \"Host: a\" \"X-Real-IP : b\";", "more_clear_input_headers Accept-Encoding;",
		"proxy_pass_request_headers on;", "more_clear_headers X-Remote-User;", "proxy_hide_header X-A;",
	} {
		if reason, protects := snippet.Protects(text); protects {
			t.Errorf("%q: %s", text, reason)
		}
	}
}

// TestProtectsLocations demands that no request reaches an application which a location of a snippet answers.
func TestProtectsLocations(t *testing.T) {
	for text, want := range map[string]bool{
		"location /x { return 302 /; }":         true,
		"location /x { return 200 a; }":         true,
		"location /x { rewrite ^ /y last; }":    true,
		"location /x { try_files /a =404; }":    true,
		"location /x { root /a; }":              true,
		"location /x { alias /a; }":             true,
		"location /x { proxy_pass http://a/; }": true,
		"location /x { add_header a b; }":       true,
		"location /x { }":                       true,
		"LOCATION /x { }":                       true,
		"location /x { location /x/y { } }":     true,
		"try_files $uri =404;":                  true,
		// Requests of the host do not reach a server of its own.
		"server { listen 81; location /x { stub_status; } }": false,
		"server { listen 81; location /x { deny all; } }":    true,
	} {
		if _, protects := snippet.Protects(text); protects != want {
			t.Errorf("%q: %t", text, protects)
		}
	}
}

// TestClientAddress demands that directives about the address of the client are found, which close what depends on the
// address alone when they are in the ConfigMap.
func TestClientAddress(t *testing.T) {
	for text, want := range map[string]string{
		"set_real_ip_from 10.0.0.0/8;":                "set_real_ip_from",
		"real_ip_header X-Client;":                    "real_ip_header",
		"gzip on; REAL_IP_RECURSIVE on;":              "REAL_IP_RECURSIVE",
		"server { location / { real_ip_header a; } }": "real_ip_header",
		"add_header real_ip_header a;":                "",
		"# real_ip_header a;":                         "",
		"":                                            "",
	} {
		if got := snippet.ClientAddress(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if _, protects := snippet.Protects(text); protects != (want != "") {
			t.Errorf("%q of an annotation: %t", text, protects)
		}
		if reason, protects := snippet.GlobalProtects(text); protects {
			t.Errorf("%q of the ConfigMap: %s", text, reason)
		}
	}
	if _, protects := snippet.GlobalProtects("set_real_ip_from 10.0.0.0/8; deny all;"); !protects {
		t.Error("what follows is harmless")
	}
}
