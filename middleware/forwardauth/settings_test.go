package forwardauth

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func TestBadValues(t *testing.T) {
	const address = "http://auth"
	for name, test := range map[string]struct {
		config dynamic.ForwardAuth
		want   string
	}{
		"nothing": {dynamic.ForwardAuth{}, "forwardAuth.address is empty"},
		"no scheme": {
			dynamic.ForwardAuth{Address: "auth/verify"},
			"forwardAuth.address does not begin with http:// or https://",
		},
		"host and port": {
			dynamic.ForwardAuth{Address: "auth:80"},
			"forwardAuth.address does not begin with http:// or https://",
		},
		"address and port": {dynamic.ForwardAuth{Address: "127.0.0.1:80"}, "forwardAuth.address is not a URL"},
		"another scheme": {
			dynamic.ForwardAuth{Address: "ftp://auth"},
			"forwardAuth.address does not begin with http:// or https://",
		},
		"h2c": {
			dynamic.ForwardAuth{Address: "h2c://auth"},
			"forwardAuth.address does not begin with http:// or https://",
		},
		"opaque": {
			dynamic.ForwardAuth{Address: "http:auth"},
			"forwardAuth.address does not begin with http:// or https://",
		},
		"no host":      {dynamic.ForwardAuth{Address: "http:///verify"}, "forwardAuth.address names no host"},
		"a port alone": {dynamic.ForwardAuth{Address: "http://:80"}, "forwardAuth.address names no host"},
		"a user alone": {
			dynamic.ForwardAuth{Address: "http://u:" + secret + "@"},
			"forwardAuth.address names no host",
		},
		"port 0": {
			dynamic.ForwardAuth{Address: "http://auth:0"},
			"forwardAuth.address has a port that is not between 1 and 65535",
		},
		"a large port": {
			dynamic.ForwardAuth{Address: "http://u:" + secret + "@auth:65536"},
			"forwardAuth.address has a port that is not between 1 and 65535",
		},
		"a port that is none": {
			dynamic.ForwardAuth{Address: "http://u:" + secret + "@auth:http"},
			"forwardAuth.address is not a URL",
		},
		"half an address": {
			dynamic.ForwardAuth{Address: "http://u:" + secret + "@[::1"},
			"forwardAuth.address is not a URL",
		},
		"a control character": {dynamic.ForwardAuth{Address: "http://auth/\n" + secret}, "forwardAuth.address is not a URL"},
		"a space in the query": {
			dynamic.ForwardAuth{Address: "http://auth/?a= b"},
			"forwardAuth.address has a query with a space, a control character or #",
		},
		"a space in the host": {dynamic.ForwardAuth{Address: "http://au th/"}, "forwardAuth.address is not a URL"},

		"a response header that is none": {dynamic.ForwardAuth{Address: address, AuthResponseHeaders: []string{
			"X-A",
			"X B",
		}}, `forwardAuth.authResponseHeaders: "X B" is no name of a header`},
		"an empty response header": {
			dynamic.ForwardAuth{Address: address, AuthResponseHeaders: []string{""}},
			`forwardAuth.authResponseHeaders: "" is no name of a header`,
		},
		"a response header that frames": {
			dynamic.ForwardAuth{
				Address:             address,
				AuthResponseHeaders: []string{"content-length"},
			},
			"forwardAuth.authResponseHeaders: Content-Length frames a message or concerns one connection, and can't be set",
		},
		"an alias of one that frames": {
			dynamic.ForwardAuth{
				Address:             address,
				AuthResponseHeaders: []string{"Transfer_Encoding"},
			},
			"forwardAuth.authResponseHeaders: Transfer_encoding frames a message or concerns one connection, and can't be set",
		},
		"a request header that is none": {
			dynamic.ForwardAuth{Address: address, AuthRequestHeaders: []string{"X:"}},
			`forwardAuth.authRequestHeaders: "X:" is no name of a header`,
		},
		"a user's header that is none": {
			dynamic.ForwardAuth{Address: address, HeaderField: "X,"},
			`forwardAuth.headerField: "X," is no name of a header`,
		},
		"a user's header that frames": {
			dynamic.ForwardAuth{Address: address, HeaderField: "Host"},
			"forwardAuth.headerField: Host frames a message or concerns one connection, and can't be set",
		},
		"a cookie that is none": {
			dynamic.ForwardAuth{Address: address, AddAuthCookiesToResponse: []string{"a=b"}},
			`forwardAuth.addAuthCookiesToResponse: "a=b" is no name of a cookie`,
		},
		"half an expression": {
			dynamic.ForwardAuth{Address: address, AuthResponseHeadersRegex: "^X-("},
			"forwardAuth.authResponseHeadersRegex is not a regular expression: missing closing )",
		},
		"an expression that grows": {dynamic.ForwardAuth{
			Address:                  address,
			AuthResponseHeadersRegex: "((((a{100}){100}){100}){100})",
		}, "forwardAuth.authResponseHeadersRegex "},
		"a long expression": {dynamic.ForwardAuth{
			Address:                  address,
			AuthResponseHeadersRegex: strings.Repeat("a", 5000),
		}, "forwardAuth.authResponseHeadersRegex has 5000 bytes"},
		"a body of negative size": {
			dynamic.ForwardAuth{Address: address, MaxBodySize: pointer(int64(-2))},
			"forwardAuth.maxBodySize -2 is less than -1, which stands for no limit",
		},
		"an answer of negative size": {
			dynamic.ForwardAuth{Address: address, MaxResponseBodySize: pointer(int64(-2))},
			"forwardAuth.maxResponseBodySize -2 is less than -1, which stands for no limit",
		},
		"a script as a sign-in page": {
			dynamic.ForwardAuth{Address: address, AuthSigninURL: "javascript:alert(1)"},
			"forwardAuth.authSigninURL does not begin with http:// or https://",
		},
		"a sign-in page without a scheme": {
			dynamic.ForwardAuth{Address: address, AuthSigninURL: "//id.example/"},
			"forwardAuth.authSigninURL does not begin with http:// or https://",
		},
		"a sign-in page with a line": {
			dynamic.ForwardAuth{Address: address, AuthSigninURL: "/a\r\nX: " + secret},
			"forwardAuth.authSigninURL is not a URL",
		},
		"a host that is no name": {
			dynamic.ForwardAuth{Address: "http://a\"b/"},
			"forwardAuth.address has a host that is not a name",
		},
		"a host that has no ASCII form": {
			dynamic.ForwardAuth{Address: "http://\u00e9\u200b.\u0378/"},
			"forwardAuth.address has a host that is not a name",
		},
		"a sign-in page with a space": {
			dynamic.ForwardAuth{Address: address, AuthSigninURL: "/a b"},
			"forwardAuth.authSigninURL is not a URL",
		},
		"a sign-in page that is nothing": {
			dynamic.ForwardAuth{Address: address, AuthSigninURL: "?"},
			"forwardAuth.authSigninURL does not begin with http:// or https://",
		},

		"an authority that is not there": {dynamic.ForwardAuth{
			Address: address,
			TLS:     &dynamic.ClientTLS{CA: "/nowhere/ca.pem"},
		}, "forwardAuth.tls.ca: open /nowhere/ca.pem: no such file"},
		"a certificate without a key": {dynamic.ForwardAuth{
			Address: address,
			TLS:     &dynamic.ClientTLS{Cert: "/nowhere/c.pem"},
		}, "forwardAuth.tls.cert and forwardAuth.tls.key belong together"},
	} {
		t.Run(name, func(t *testing.T) {
			step, err := New("auth@file", test.config, Options{})
			if step != nil || err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Fatalf("%q is wanted, the error is %v", test.want, err)
			}
			if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "auth@file") {
				t.Errorf("the error says too much: %v", err)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	for _, config := range []dynamic.ForwardAuth{{}, *defaults()} {
		config.Address = "http://auth"
		s := build(t, config).settings
		if s.maxBody != -1 || s.maxAnswer != -1 || s.trust != legacy || s.shown != nil || len(s.identity.names)+
			len(s.cookies) != 0 || s.forwardBody ||
			s.keepLocation || s.keepMethod || s.signIn != "" || s.userField != "" {
			t.Errorf("%+v", s)
		}
	}
}

func defaults() *dynamic.ForwardAuth {
	config := new(dynamic.ForwardAuth)
	config.SetDefaults()
	return config
}

func TestWarnings(t *testing.T) {
	for name, test := range map[string]struct {
		config dynamic.ForwardAuth
		want   []string
	}{
		"nothing": {dynamic.ForwardAuth{Address: "http://auth"}, nil},
		"a bounded body": {
			dynamic.ForwardAuth{Address: "http://auth", ForwardBody: true, MaxBodySize: pointer(int64(1))},
			nil,
		},
		"TLS": {dynamic.ForwardAuth{Address: "https://auth", TLS: &dynamic.ClientTLS{}}, nil},
		"TLS for http": {
			dynamic.ForwardAuth{Address: "http://auth", TLS: &dynamic.ClientTLS{}},
			[]string{"forwardAuth.tls has no effect, since forwardAuth.address begins with http://"},
		},
		"caOptional": {
			dynamic.ForwardAuth{
				Address: "https://auth",
				TLS:     &dynamic.ClientTLS{CAOptional: pointer(true)},
			},
			[]string{"forwardAuth.tls.caOptional is deprecated and has no effect"},
		},
		"a bound alone": {
			dynamic.ForwardAuth{Address: "http://auth", MaxBodySize: pointer(int64(1))},
			[]string{"forwardAuth.maxBodySize has no effect without forwardAuth.forwardBody"},
		},
		"an unbounded body": {
			dynamic.ForwardAuth{Address: "http://auth", ForwardBody: true, MaxBodySize: pointer(int64(-1))},
			[]string{"forwardAuth.maxBodySize is not set: bodies of any size are kept in memory"},
		},
	} {
		if diff := cmp.Diff(test.want, build(t, test.config).Warnings()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestFilesAreReadThroughTheCaller has a definition whose files are read by the caller.
func TestFilesAreReadThroughTheCaller(t *testing.T) {
	var asked []string
	_, err := New("auth@file", dynamic.ForwardAuth{Address: "https://auth", TLS: &dynamic.ClientTLS{CA: "ca.pem"}},
		Options{ReadFile: func(path string) ([]byte, error) {
			asked = append(asked, path)
			return nil, errors.New("not now")
		}})
	if err == nil || err.Error() != "forwardAuth.tls.ca: not now" || len(asked) != 1 || asked[0] != "ca.pem" {
		t.Errorf("requested %q: %v", asked, err)
	}
}

// TestPrintsNoSecret prints a step in every way that there is.
func TestPrintsNoSecret(t *testing.T) {
	step := build(t, dynamic.ForwardAuth{Address: "http://" + secret + ":" + secret + "@auth"})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, value := range []any{step, *reflect.ValueOf(step).Interface().(*ForwardAuth)} {
			if text := fmt.Sprintf(verb, value); strings.Contains(text, secret) || strings.Contains(text, "czNjcmV0") {
				t.Errorf("%s prints %s", verb, text)
			}
		}
	}
}

// TestExamples has what the README shows work.
func TestExamples(t *testing.T) {
	found := middlewaretest.Examples(t, "README.md")
	given := map[string]bool{}
	for name, definition := range found {
		value := reflect.ValueOf(*definition.ForwardAuth)
		for i := range value.NumField() {
			given[value.Type().Field(i).Name] = given[value.Type().Field(i).Name] || !value.Field(i).IsZero()
		}
		config := *definition.ForwardAuth
		if name == "by-expression" {
			config.TLS = nil // Its files are on no machine of ours.
			config.Address = strings.Replace(config.Address, "https:", "http:", 1)
		}
		step := named(t, config, func(w http.ResponseWriter, _ *http.Request) {
			for _, header := range []string{"Remote-User", "X-Auth-User"} {
				w.Header().Set(header, "alice")
			}
		})
		o := get(t, step, "Remote-User: mallory", "X-Auth-User: mallory")
		if o.service == nil || name == "sign-in" && o.service.Header.Get("Remote-User") != "alice" ||
			name == "by-expression" && (o.service.Header.Get("X-Auth-User") != "alice" || o.record.Username != "alice") {
			t.Errorf("%s: answers %d, the service gets %v", name, o.Code, o.service)
		}
	}
	for option, shown := range given {
		if !shown {
			t.Errorf("no example shows %s", option)
		}
	}
}

func FuzzNew(f *testing.F) {
	f.Add("http://auth/verify?x=1", "https://id.example/", "X-User", "^X-")
	f.Add("https://u:p@[::1]:8443/", "/start", "x_y", "(")
	f.Add("http://é.example", "start?x", " a ", `\Q`)
	f.Fuzz(func(t *testing.T, address, signIn, name, expression string) {
		step, err := New("auth@file", dynamic.ForwardAuth{
			Address: address, AuthSigninURL: signIn, AuthResponseHeaders: []string{name}, AuthRequestHeaders: []string{name},
			HeaderField:              name,
			AddAuthCookiesToResponse: []string{name}, AuthResponseHeadersRegex: expression,
		}, Options{})
		if err != nil {
			if step != nil || !strings.HasPrefix(err.Error(), "forwardAuth.") {
				t.Fatal(err)
			}
			return
		}
		q := step.settings.authRequest(middlewaretest.Request(t, "GET /"), nil)
		if q.URL.User != nil || q.URL.Host == "" || strings.ContainsAny(q.URL.RequestURI(), " \r\n") {
			t.Fatalf("requests %q", q.URL)
		}
		if uri := q.URL.RequestURI(); strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			t.Fatalf("requests %q", uri)
		}
	})
}
