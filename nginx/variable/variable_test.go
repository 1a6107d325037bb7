package variable_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/nginx/variable"
)

func request() *variable.Request {
	return &variable.Request{
		Scheme: "https", Host: "a.example", HTTPHost: "A.example:8443", Target: "/a%20b?q=1&N=x%20y&n=2", URI: "/a b\r\n",
		Query: "q=1&N=x%20y&n=2&flag", Method: "POST", RemoteAddr: "192.0.2.1", ServerPort: "8443", ID: "7f",
		Header: http.Header{
			"X-Two-Words": {"one", "two"}, "Cookie": {"a=1; Session=s1", "session=s2"}, "User-Agent": {"curl"},
			"Authorization": {"basic  YW5uOng6eQ=="},
		},
		Captures: []string{"/a b", "a", ""},
		Objects:  map[string]string{"namespace": "shop", "service_port": "80"},
		Certificate: func(field string) string {
			return "the " + field
		},
	}
}

func TestAppend(t *testing.T) {
	pattern, err := pcre.Compile(`/(?<First>.)(?<host>.*)`, 0)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                              "",
		"plain / text?":                 "plain / text?",
		"$scheme://$host$request_uri":   "https://a.example/a%20b?q=1&N=x%20y&n=2",
		"$http_host ${scheme}x":         "A.example:8443 httpsx",
		"$uri|$document_uri":            "/a b%0D%0A|/a b%0D%0A",
		"$is_args$args|$query_string":   "?q=1&N=x%20y&n=2&flag|q=1&N=x%20y&n=2&flag",
		"$arg_q$arg_n$arg_flag$arg_z":   "1x%20y",
		"$cookie_session,$cookie_a":     "s1,1",
		"$http_x_two_words $http_none.": "one, two .",
		"$http_cookie":                  "a=1; Session=s1; session=s2",
		"$HTTP_USER_AGENT":              "curl",
		"$remote_addr $request_method":  "192.0.2.1 POST",
		"$server_port $req_id":          "8443 7f",
		"$namespace/$service_name:":     "shop/:",
		"$ssl_client_s_dn":              "the s_dn",
		"$remote_user":                  "ann",
		"$escaped_request_uri":          "%2Fa%2520b%3Fq%3D1%26N%3Dx%2520y%26n%3D2",
		"$pass_access_scheme":           "https",
		"$best_http_host":               "A.example:8443",
		"$1$2$3$11":                     "aa1",
	} {
		template, err := variable.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := string(template.Append(nil, request())); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		constant, is := template.Constant()
		if is != !strings.Contains(text, "$") || is && constant != text {
			t.Errorf("%s: constant %q %t", text, constant, is)
		}
	}
	template, err := variable.ParseReplacement("/${First}$host$http_host", pattern)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(template.Append(nil, request())), "/aA.example:8443"; got != want {
		t.Errorf("with names: %q, want %q", got, want)
	}
	if !template.Has(variable.Capture) || template.Has(variable.Host) {
		t.Error("Has is wrong")
	}
}

func TestUserOf(t *testing.T) {
	for authorization, want := range map[string]string{
		"Basic YW5uOng=": "ann", "BASIC YW5uOg==": "ann", "Basic OnNlY3JldA==": "", "Basic YW5u": "", "Basic ?": "",
		"Bearer YW5uOng=": "", "Basic": "", "": "",
	} {
		if got := variable.UserOf([]string{authorization}); got != want {
			t.Errorf("%s: %q, want %q", authorization, got, want)
		}
	}
	if got := variable.UserOf(nil); got != "" {
		t.Error(got)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, name := range map[string]string{
		"a$unknown b":      "unknown",
		"${1}":             "{1}",
		"$0":               "0",
		"$http_":           "http_",
		"$ssl_client_nope": "ssl_client_nope",
		"$request_body":    "request_body",
		"$First":           "First",

		"$geoip2_city_country_code": "geoip2_city_country_code",
	} {
		_, err := variable.Parse(text)
		if unknown, is := errors.AsType[*variable.UnknownError](err); !is || unknown.Name != name ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", text, err)
		}
	}
	long := strings.Repeat("a", 1<<15)
	for _, text := range []string{"$", "a$/", "${", "${}", "${host", "${ho-st}", "a\nb", "a\x7f", long} {
		if _, err := variable.Parse(text); err == nil {
			t.Errorf("%.20q is accepted", text)
		}
	}
}

// TestErrorsHoldNoSecrets parses texts in which a password or its hash follows a dollar sign.
func TestErrorsHoldNoSecrets(t *testing.T) {
	for _, secret := range []string{"N0tToBePrinted", "n0ttobeprinted", "0not_to_be_printed", "n0t_To_be_printed"} {
		for _, text := range []string{
			"admin:$2y$10$" + secret, "$" + secret + "{", "${" + secret, "${" + secret + "}", "$" + secret,
		} {
			if _, err := variable.Parse(text); err == nil || strings.Contains(err.Error(), secret[:7]) {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
}

func TestCut(t *testing.T) {
	for text, want := range map[string][3]string{
		"/$1?a=$2?b": {"/a", "a=?b", "?"},
		"/$1":        {"/a", "", ""},
		"?":          {"", "", "?"},
		"$1?$1":      {"a", "a", "?"},
	} {
		template, err := variable.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		before, after, found := template.Cut("?")
		got := [3]string{string(before.Append(nil, request())), string(after.Append(nil, request())), ""}
		if found {
			got[2] = "?"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// FuzzParse checks that a text is refused or gives bytes that can stand in a header.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"$scheme://$host/${uri}$1", "${", "$arg_a$cookie_b", "$$"} {
		f.Add(text, "a\r\nb")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		template, err := variable.Parse(text)
		if err != nil {
			return
		}
		got := string(template.Append(nil, &variable.Request{
			URI: value, Query: value, Header: http.Header{"Cookie": {value}}, Captures: []string{value, value},
		}))
		if strings.ContainsAny(got, "\r\n\x00") {
			t.Fatalf("%q with %q: %q", text, value, got)
		}
		whole, constant := template.Constant()
		if constant && (got != text || whole != text) {
			t.Fatalf("%q: %q", text, got)
		}
	})
}
