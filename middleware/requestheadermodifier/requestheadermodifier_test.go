package requestheadermodifier_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/middleware/requestheadermodifier"
)

func pass(t *testing.T, config dynamic.RequestHeaderModifier, headers ...string) (http.Header, string) {
	t.Helper()
	step, err := requestheadermodifier.New("modify@file", config)
	if err != nil {
		t.Fatal(err)
	}
	r := middlewaretest.Request(t, "GET /", headers...)
	step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(new(middlewaretest.Writer), r)
	return r.Header, r.Host
}

func TestReadme(t *testing.T) {
	config := *middlewaretest.Examples(t, "README.md")["tenant"].RequestHeaderModifier
	got, _ := pass(t, config, "Host: h", "X-Debug: 1", "X-Seen-By: cdn", "x-tenant: a", "X-Tenant: b", "X_Tenant: forged")
	want := http.Header{"X-Tenant": {"shop"}, "X-Seen-By": {"cdn", "edge"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHostIsSet(t *testing.T) {
	config := dynamic.RequestHeaderModifier{Set: []dynamic.HeaderValue{{Name: "host", Value: "a.example"}}}
	if header, host := pass(t, config, "Host: h"); host != "a.example" || len(header) > 0 {
		t.Errorf("host %q, header %v", host, header)
	}
}

func TestNewRefuses(t *testing.T) {
	one := func(name, value string) []dynamic.HeaderValue {
		return []dynamic.HeaderValue{{Name: name, Value: value}}
	}
	for _, config := range []dynamic.RequestHeaderModifier{
		{},
		{Set: one("", "a")},
		{Add: one("a b", "c")},
		{Set: one("A", "b\r\nC: d")},
		{Remove: []string{"A:"}},
		{Set: one("Content-Length", "1")},
		{Remove: []string{"transfer-encoding"}},
		{Add: one("Host", "h")},
		{Remove: []string{"Host"}},
		{Set: one("Host", "a b")},
		{Set: one("A", "1"), Remove: []string{"a"}},
		{Add: append(one("A", "1"), one("a", "2")...)},
	} {
		if _, err := requestheadermodifier.New("x", config); err == nil {
			t.Errorf("%+v is accepted", config)
		}
	}
}
