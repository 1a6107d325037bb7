package users

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func TestNewIdentity(t *testing.T) {
	for field, want := range map[string]string{
		"": "", "X-User": "", "x-user": "", "X_User": "", "REMOTE-USER": "",
		"X User":            "m.headerField is not the name of a header",
		"X-User:":           "m.headerField is not the name of a header",
		"é":                 "m.headerField is not the name of a header",
		"authorization":     "m.headerField: Authorization has a meaning of its own and can't hold a name",
		"Host":              "m.headerField: Host has a meaning of its own and can't hold a name",
		"content-length":    "m.headerField: Content-Length has a meaning of its own and can't hold a name",
		"Transfer-Encoding": "m.headerField: Transfer-Encoding has a meaning of its own and can't hold a name",
		"connection":        "m.headerField: Connection has a meaning of its own and can't hold a name",
		"content_length":    "m.headerField: Content_length has a meaning of its own and can't hold a name",
		"http2_settings":    "m.headerField: Http2_settings has a meaning of its own and can't hold a name",
		"expect":            "m.headerField: Expect has a meaning of its own and can't hold a name",
	} {
		if _, err := NewIdentity("m", field, false); err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%q: %v, want %q", field, err, want)
		}
	}
}

// TestSetForgesNothing has clients name themselves in every spelling that a service may accept.
func TestSetForgesNothing(t *testing.T) {
	for name, forged := range map[string]http.Header{
		"nothing":                  {},
		"plain":                    {"X-User": {"forged"}},
		"twice":                    {"X-User": {"forged", "forged"}},
		"other cases":              {"x-user": {"forged"}, "X-USER": {"forged"}},
		"aliases":                  {"X_user": {"forged"}, "x_user": {"forged"}},
		"Connection":               {"X-User": {"forged"}, "Connection": {"X-User"}},
		"Connection, among others": {"Connection": {"Upgrade, x-user", "X-USER,keep-alive"}},
	} {
		for _, option := range []string{"X-User", "x-user"} {
			identity, err := NewIdentity("m", option, false)
			if err != nil {
				t.Fatal(err)
			}
			r := middlewaretest.Request(t, "GET /")
			r.Header = forged.Clone()
			r.Header["Authorization"] = []string{"secret"}
			identity.Set(r, "ann")
			want := http.Header{"X-User": {"ann"}, "Authorization": {"secret"}}
			if name == "Connection, among others" {
				want["Connection"] = []string{"Upgrade", "keep-alive"}
			}
			if diff := cmp.Diff(want, r.Header); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

// TestTellRemovesTrailers has the name come behind the body.
func TestTellRemovesTrailers(t *testing.T) {
	identity, err := NewIdentity("m", "X-User", true)
	if err != nil {
		t.Fatal(err)
	}
	for _, announced := range []bool{true, false} {
		r := middlewaretest.Request(t, "POST /", "Authorization: secret", "Transfer-Encoding: chunked")
		forged := http.Header{"X-User": {"forged"}, "X_user": {"forged"}, "X-Sum": {"1"}}
		if announced {
			r.Trailer = forged
		}
		r.Body = &late{Reader: strings.NewReader("body"), request: r, trailer: forged}
		identity.Set(r, "ann")
		if announced && len(r.Trailer) != 1 {
			t.Errorf("the trailers are %v before the body was read", r.Trailer)
		}
		if text, err := io.ReadAll(r.Body); string(text) != "body" || err != nil {
			t.Errorf("the body is %q, %v", text, err)
		}
		if diff := cmp.Diff(http.Header{"X-Sum": {"1"}}, r.Trailer); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(http.Header{"X-User": {"ann"}}, r.Header); diff != "" {
			t.Error(diff)
		}
	}
}

// late is a body whose trailers come with its end.
type late struct {
	io.Reader
	request *http.Request
	trailer http.Header
}

// Read sets the trailers at the end.
func (l *late) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if err != nil {
		l.request.Trailer = l.trailer
	}
	return n, err
}

// Close does nothing.
func (*late) Close() error { return nil }

// TestTellNothing leaves what no option names.
func TestTellNothing(t *testing.T) {
	r := middlewaretest.Request(t, "POST /", "X-User: kept", "Authorization: secret", "Transfer-Encoding: chunked")
	body, head := r.Body, r.Header.Clone()
	Identity{}.Set(r, "ann")
	if diff := cmp.Diff(head, r.Header); diff != "" || r.Body != body {
		t.Error(diff)
	}
}

func TestRealm(t *testing.T) {
	for value, want := range map[string]string{"": `"traefik"`, "a": `"a"`, `a"b\c`: `"a\"b\\c"`, "é": `"é"`} {
		if _, quoted, err := Realm("m.realm", value, false); quoted != want || err != nil {
			t.Errorf("%q is %s, %v, want %s", value, quoted, err, want)
		}
	}
	for _, value := range []string{"a\r\nX: y", "\x00", "a\x7f"} {
		if _, _, err := Realm("m.realm", value, false); err == nil || err.Error() != "m.realm has a control character" {
			t.Errorf("%q: %v", value, err)
		}
	}
}
