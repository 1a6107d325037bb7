package headers

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func build(t testing.TB, config dynamic.Headers) *Headers {
	t.Helper()
	step, err := New("h@file", config)
	if err != nil {
		t.Fatal(err)
	}
	return step
}

func TestReadme(t *testing.T) {
	step := build(t, *middlewaretest.Examples(t, "README.md")["tidy"].Headers)
	w := new(middlewaretest.Writer)
	step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if diff := cmp.Diff(http.Header{"X-Team": {"shop"}, "Accept": {"a"}}, r.Header); diff != "" || r.Host != "internal.example" {
			t.Errorf("host %q, headers %s", r.Host, diff)
		}
		w.Header().Set("Server", "secret/1.0")
		w.WriteHeader(http.StatusTeapot)
	})).ServeHTTP(w, middlewaretest.Request(t, "GET /", "Cookie: a=b", "Accept: a"))
	if diff := cmp.Diff(http.Header{"X-Served-By": {"edge"}}, w.Header()); diff != "" || w.Status != http.StatusTeapot {
		t.Errorf("status %d, headers %s", w.Status, diff)
	}
}

func TestRequestHeaders(t *testing.T) {
	tests := []struct {
		name     string
		edits    map[string]string
		in, want http.Header
	}{
		{"set", map[string]string{"x-a": "1"}, http.Header{}, http.Header{"X-A": {"1"}}},
		{"replace all values", map[string]string{"X-A": "1"}, http.Header{"X-A": {"2", "3"}}, http.Header{"X-A": {"1"}}},
		{"replace aliases", map[string]string{"X-User-Id": "1"}, http.Header{"X_User_Id": {"2"}, "x-user_id": {"3"}, "X-User-Ids": {"4"}}, http.Header{"X-User-Id": {"1"}, "X-User-Ids": {"4"}}},
		{"remove", map[string]string{"X-A": ""}, http.Header{"X-A": {"2"}, "x_a": {"3"}, "X-B": {"4"}}, http.Header{"X-B": {"4"}}},
		{"remove what is absent", map[string]string{"X-A": ""}, http.Header{}, http.Header{}},
		{"keep the client out of X-Forwarded-For", map[string]string{"x-forwarded-for": ""}, http.Header{"X-Forwarded-For": {"1"}}, http.Header{"X-Forwarded-For": nil}},
		{"name with an underscore", map[string]string{"X_A": "1"}, http.Header{"X-A": {"2"}}, http.Header{"X_a": {"1"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := &http.Request{Header: test.in, Host: "h"}
			build(t, dynamic.Headers{CustomRequestHeaders: test.edits}).Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if diff := cmp.Diff(test.want, r.Header); diff != "" {
					t.Error(diff)
				}
			})).ServeHTTP(nil, r)
			if r.Host != "h" {
				t.Errorf("host is %q", r.Host)
			}
		})
	}
}

func TestRequestsShareNothing(t *testing.T) {
	step := build(t, dynamic.Headers{CustomRequestHeaders: map[string]string{"X-A": "1", "X-B": "2"}})
	for range 2 {
		step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if got := r.Header["X-A"]; got[0] != "1" || r.Header.Get("X-B") != "2" {
				t.Errorf("headers are %q", r.Header)
			}
			r.Header["X-A"][0] = "changed in place"
			r.Header.Add("X-A", "appended")
			if got := r.Header.Get("X-B"); got != "2" {
				t.Errorf("appending to X-A changed X-B to %q", got)
			}
		})).ServeHTTP(nil, middlewaretest.Request(t, "GET /"))
	}
}

func TestUnsupportedOptions(t *testing.T) {
	kind := reflect.TypeFor[dynamic.Headers]()
	for i := range kind.NumField() {
		option, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
		var config dynamic.Headers
		config.CustomRequestHeaders = map[string]string{"X-A": "1"}
		field := reflect.ValueOf(&config).Elem().Field(i)
		switch field.Kind() {
		case reflect.Map:
			field.Set(reflect.ValueOf(map[string]string{"X-A": "1"}))
		case reflect.Slice:
			field.Set(reflect.ValueOf([]string{"a"}))
		case reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int64:
			field.SetInt(1)
		case reflect.String:
			field.SetString("a")
		default:
			t.Fatalf("%s has the kind %v", option, field.Kind())
		}
		_, err := New("h@file", config)
		if strings.HasPrefix(option, "custom") && strings.HasSuffix(option, "Headers") {
			if err != nil {
				t.Errorf("%s: %v", option, err)
			}
			continue
		}
		if want := "headers." + option + " is not supported yet"; err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
		if got := Unsupported(config); got != option {
			t.Errorf("Unsupported is %q, want %q", got, option)
		}
	}
}

func TestBadDefinitions(t *testing.T) {
	tests := []struct {
		edits  map[string]string
		reason string
	}{
		{nil, "headers sets nothing"},
		{map[string]string{"X-A": "1", "x-a": "2"}, `"X-A" and "x-a" are the same header`},
		{map[string]string{"X A": "1"}, `"X A" is not a header name`},
		{map[string]string{"": "1"}, `"" is not a header name`},
		{map[string]string{"X-É": "1"}, "is not a header name"},
		{map[string]string{"X-A:": ""}, "is not a header name"},
		{map[string]string{"X-A": "1\r\nX-B: 2"}, "the value of X-A has a control character"},
		{map[string]string{"content-length": "1"}, "content-length frames the message"},
		{map[string]string{"Transfer-Encoding": "chunked"}, "frames the message"},
	}
	for _, test := range tests {
		for option, config := range map[string]dynamic.Headers{
			"customRequestHeaders":  {CustomRequestHeaders: test.edits},
			"customResponseHeaders": {CustomResponseHeaders: test.edits},
		} {
			_, err := New("h@file", config)
			if err == nil || !strings.Contains(err.Error(), test.reason) || test.edits != nil && !strings.Contains(err.Error(), option) {
				t.Errorf("%s %q: error %v, want %q", option, test.edits, err, test.reason)
			}
		}
	}
	for host, reason := range map[string]string{"": "can't be removed", "a b": `Host "a b" is not a host`, "u@h": "is not a host"} {
		_, err := New("h@file", dynamic.Headers{CustomRequestHeaders: map[string]string{"host": host}})
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("Host %q: error %v, want %q", host, err, reason)
		}
	}
}

func BenchmarkHeaders(b *testing.B) {
	r := middlewaretest.Request(b, "GET /", "Accept: a", "Accept-Encoding: gzip", "Accept-Language: en", "User-Agent: b", "Cookie: a=b")
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	w := new(middlewaretest.Writer)
	for name, config := range map[string]dynamic.Headers{
		"host":     {CustomRequestHeaders: map[string]string{"Host": "internal.example"}},
		"remove":   {CustomRequestHeaders: map[string]string{"X-Secret": ""}},
		"request":  {CustomRequestHeaders: map[string]string{"X-Team": "shop"}},
		"response": {CustomResponseHeaders: map[string]string{"X-Served-By": "edge"}},
	} {
		handler := build(b, config).Wrap(next)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, r)
			}
		})
	}
}
