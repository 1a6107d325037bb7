package headers

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// ask returns the response to a request, and whether the service was called; own are the service's headers.
func ask(t testing.TB, step *Headers, r *http.Request, own http.Header) (answer *http.Response, asked bool) {
	t.Helper()
	w := httptest.NewRecorder()
	step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked = true
		for name, values := range own {
			w.Header()[name] = slices.Clone(values)
		}
		w.WriteHeader(http.StatusNoContent)
	})).ServeHTTP(w, r)
	return w.Result(), asked
}

func TestWhatIsAPreflight(t *testing.T) {
	grants := dynamic.Headers{
		AccessControlAllowMethods: []string{"PUT"},
		CustomRequestHeaders:      map[string]string{"X-A": "1"},
	}
	tests := []struct {
		name   string
		config dynamic.Headers
		lines  []string
		asked  bool
	}{
		{"preflight", grants, preflight("https://a.example"), false},
		{"two lines", grants, append(preflight("https://a.example"), "Access-Control-Request-Method: GET"), false},
		{"no method", grants, []string{"OPTIONS /", "Origin: https://a.example"}, true},
		{"empty method", grants, []string{"OPTIONS /", "Origin: https://a.example", "Access-Control-Request-Method:"}, true},
		{"no origin", grants, []string{"OPTIONS /", "Access-Control-Request-Method: PUT"}, true},
		{"alias", grants, []string{"OPTIONS /", "Origin: https://a.example", "Access_Control_Request_Method: PUT"}, true},
		{"GET", grants, []string{"GET /", "Origin: https://a.example", "Access-Control-Request-Method: PUT"}, true},
		{"whole server", grants, append([]string{"OPTIONS *"}, preflight("https://a.example")[1:]...), false},
		{
			"custom headers alone",
			dynamic.Headers{CustomResponseHeaders: map[string]string{allowOrigin: "*"}},
			preflight("https://a.example"), true,
		},
		{"Vary alone", dynamic.Headers{AddVaryHeader: true}, preflight("https://a.example"), true},
		{"security headers alone", dynamic.Headers{FrameDeny: true}, preflight("https://a.example"), true},
		{"age alone", dynamic.Headers{AccessControlMaxAge: new(int64(1))}, preflight("https://a.example"), false},
		{"credentials alone", dynamic.Headers{AccessControlAllowCredentials: true}, preflight("https://a.example"), false},
		{
			"exposed headers alone",
			dynamic.Headers{AccessControlExposeHeaders: []string{"X-A"}},
			preflight("https://a.example"), false,
		},
		{
			"an origin that is none, alone",
			dynamic.Headers{AccessControlAllowOriginList: []string{"a.example"}},
			preflight("https://a.example"), false,
		},
	}
	for _, test := range tests {
		answer, asked := ask(t, build(t, test.config), middlewaretest.Request(t, test.lines[0], test.lines[1:]...), nil)
		if asked != test.asked {
			t.Errorf("%s: service got the request: %v", test.name, asked)
		}
		if !asked && (answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Length") != "0") {
			t.Errorf("%s: status %d, headers %q", test.name, answer.StatusCode, answer.Header)
		}
	}
}

// TestPreflightRepeatsTokensAlone has the wildcards with credentials, for which requested names are repeated.
func TestPreflightRepeatsTokensAlone(t *testing.T) {
	step := build(t, dynamic.Headers{
		AccessControlAllowCredentials: true, AccessControlAllowOriginListRegex: []string{`a\.example`},
		AccessControlAllowMethods: []string{"*"}, AccessControlAllowHeaders: []string{"*", "X-A"},
	})
	tests := []struct{ origin, method, headers, wantMethods, wantHeaders string }{
		{"https://a.example", "PATCH", "x-a,x-b", "PATCH", "x-a,x-b"},
		{"https://a.example", "PATCH", "", "PATCH", ""},
		{"https://a.example", "GET, PUT", "x a", "", ""},
		{"https://a.example", "<b>", "x-a,<b>", "", ""},
		{"https://evil.example", "PATCH", "x-a", "", ""},
		{"null", "PATCH", "x-a", "", ""},
	}
	for _, test := range tests {
		r := middlewaretest.Request(t, "OPTIONS /", "Origin: "+test.origin, "Access-Control-Request-Method: "+test.method)
		if test.headers != "" {
			r.Header.Set(requestHeaders, test.headers)
		}
		answer, _ := ask(t, step, r, nil)
		methods, headers := answer.Header.Get(allowMethods), answer.Header.Get(allowHeaders)
		if methods != test.wantMethods || headers != test.wantHeaders {
			t.Errorf("%+v: methods %q, headers %q", test, methods, headers)
		}
	}
}

func TestOwnWordOfTheService(t *testing.T) {
	list := dynamic.Headers{
		AccessControlAllowOriginList:  []string{"https://a.example"},
		AccessControlAllowCredentials: true,
	}
	own := http.Header{allowOrigin: {"https://a.example", "https://other.example"}, allowCredentials: {"false"}}
	tests := []struct {
		name, origin string
		config       dynamic.Headers
		own, want    http.Header
	}{
		{"replaced", "https://a.example", list, own, http.Header{
			allowOrigin:      {"https://a.example"},
			allowCredentials: {"true"},
		}},
		{"stays for others", "https://b.example", list, http.Header{allowOrigin: {"*"}}, http.Header{allowOrigin: {"*"}}},
		{"stays without an origin", "", list, http.Header{allowOrigin: {"*"}}, http.Header{allowOrigin: {"*"}}},
		{
			"with credentials alone", "https://b.example",
			dynamic.Headers{AccessControlAllowCredentials: true},
			http.Header{allowOrigin: {"https://b.example"}},
			http.Header{
				allowOrigin:      {"https://b.example"},
				allowCredentials: {"true"},
			},
		},
		{
			"nothing listed is an origin", "https://a.example",
			dynamic.Headers{
				AccessControlAllowOriginList:  []string{"null"},
				AccessControlAllowCredentials: true,
			},
			http.Header{allowOrigin: {"https://a.example"}},
			http.Header{allowOrigin: {"https://a.example"}},
		},
		{
			"any, no origin", "",
			dynamic.Headers{AccessControlAllowOriginList: []string{"*"}},
			nil,
			http.Header{allowOrigin: {"*"}},
		},
		{"any with credentials, no origin", "", dynamic.Headers{
			AccessControlAllowOriginList:  []string{"*"},
			AccessControlAllowCredentials: true,
		}, nil, http.Header{}},
		{"listed before any", "https://a.example", dynamic.Headers{AccessControlAllowOriginList: []string{
			"https://a.example",
			"*",
		}}, nil, http.Header{allowOrigin: {"https://a.example"}}},
		{"listed behind any", "https://a.example", dynamic.Headers{AccessControlAllowOriginList: []string{
			"*",
			"https://a.example",
		}}, nil, http.Header{allowOrigin: {"*"}}},
		{
			"removed from the request", "https://a.example",
			dynamic.Headers{
				AccessControlAllowOriginList: []string{"https://a.example"},
				CustomRequestHeaders:         map[string]string{"Origin": ""},
			},
			nil,
			http.Header{allowOrigin: {"https://a.example"}},
		},
	}
	for _, test := range tests {
		r := middlewaretest.Request(t, "GET /")
		if test.origin != "" {
			r.Header.Set("Origin", test.origin)
		}
		answer, _ := ask(t, build(t, test.config), r, test.own)
		if diff := cmp.Diff(test.want, answer.Header); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestVary(t *testing.T) {
	step := build(t, dynamic.Headers{AddVaryHeader: true})
	for _, test := range []struct{ own, want []string }{
		{nil, []string{"Origin"}},
		{[]string{""}, []string{"Origin"}},
		{[]string{"Testing"}, []string{"Testing,Origin"}},
		{[]string{"Origin"}, []string{"Origin"}},
		{[]string{"Accept, origin"}, []string{"Accept, origin"}},
		{[]string{"Accept", "ORIGIN"}, []string{"Accept", "ORIGIN"}},
		{[]string{"*"}, []string{"*"}},
		{[]string{"Accept-Encoding", "Cookie, Authorization"}, []string{"Accept-Encoding,Cookie, Authorization,Origin"}},
		{[]string{"X-Origin"}, []string{"X-Origin,Origin"}},
	} {
		answer, _ := ask(t, step, middlewaretest.Request(t, "GET /"), http.Header{"Vary": test.own})
		if diff := cmp.Diff(test.want, answer.Header["Vary"]); diff != "" {
			t.Errorf("%q: %s", test.own, diff)
		}
	}
}

func TestListsWithCommas(t *testing.T) {
	step := build(t, dynamic.Headers{
		AccessControlAllowMethods: []string{"GET, PUT", "", " POST "}, AccessControlAllowHeaders: []string{"X-A,X-B", "*"},
		AccessControlExposeHeaders: []string{","},
	})
	answer, _ := ask(t, step, middlewaretest.Request(t, "OPTIONS /", preflight("https://a.example")[1:]...), nil)
	want := http.Header{allowMethods: {"GET,PUT,POST"}, allowHeaders: {"X-A,X-B,*"}, "Content-Length": {"0"}}
	if diff := cmp.Diff(want, answer.Header); diff != "" {
		t.Error(diff)
	}
}

func TestBadOptions(t *testing.T) {
	for reason, config := range map[string]dynamic.Headers{
		`headers.accessControlAllowHeaders: "X A" is not a name`:                   {AccessControlAllowHeaders: []string{"X A"}},
		`headers.accessControlAllowMethods: "GET\r" is not a name`:                 {AccessControlAllowMethods: []string{"GET\r:"}},
		`headers.accessControlExposeHeaders: "é" is not a name`:                    {AccessControlExposeHeaders: []string{"é"}},
		`headers.accessControlAllowOriginListRegex: "a(b": error parsing regexp`:   {AccessControlAllowOriginListRegex: []string{"a(b"}},
		`headers.accessControlAllowOriginListRegex: "a)|(b": error parsing regexp`: {AccessControlAllowOriginListRegex: []string{"a)|(b"}},
		`headers.accessControlAllowOriginListRegex: an empty expression names no`:  {AccessControlAllowOriginListRegex: []string{"https://a", ""}},
		`headers.accessControlAllowOriginList: "a\x00" has a control character`:    {AccessControlAllowOriginList: []string{"a\x00"}},
		`headers.accessControlMaxAge -2 is neither -1`:                             {AccessControlMaxAge: new(int64(-2))},
		`headers.stsSeconds -1 is negative`:                                        {STSSeconds: new(int64(-1))},
		`headers.allowedHosts: none of ["*.example.com" ""] is a host`: {AllowedHosts: []string{
			"*.example.com",
			"",
		}},
		`headers.hostsProxyHeaders: "X Host" is not a header name`:        {HostsProxyHeaders: []string{"X Host"}},
		`headers.sslProxyHeaders: "" is not a header name`:                {SSLProxyHeaders: map[string]string{"": "https"}},
		`headers.contentSecurityPolicy has a control character`:           {ContentSecurityPolicy: "a\rb"},
		`headers.contentSecurityPolicyReportOnly has a control character`: {ContentSecurityPolicyReportOnly: "a\x00"},
		`headers.referrerPolicy has a control character`:                  {ReferrerPolicy: "a\x7f"},
		`headers.permissionsPolicy has a control character`:               {PermissionsPolicy: "\x01"},
		`headers.customFrameOptionsValue has a control character`:         {CustomFrameOptionsValue: "\x01"},
		`headers.customBrowserXSSValue has a control character`:           {CustomBrowserXSSValue: "\x01"},
		`headers.publicKey has a control character`:                       {PublicKey: "\x01"},
		`headers sets nothing`: {
			AllowedHosts:         []string{},
			CustomRequestHeaders: map[string]string{},
		},
		`headers.customResponseHeaders: "X-A" and "x-a" are the same header`:            {CustomResponseHeaders: map[string]string{"X-A": "", "x-a": ""}},
		`headers.accessControlAllowOriginListRegex: "(?<a" : error parsing regexp`[:42]: {AccessControlAllowOriginListRegex: []string{"(?<a"}},
	} {
		if step, err := New("h@file", config); step != nil || err == nil || !strings.HasPrefix(err.Error(),
			strings.TrimSuffix(reason, `\r" is not a name`)) {
			t.Errorf("%+v: error %v, want %q", config, err, reason)
		}
	}
}

func TestWarnings(t *testing.T) {
	yes, no, host, none := true, false, "a.example", ""
	for _, test := range []struct {
		config dynamic.Headers
		want   []string
	}{
		{dynamic.Headers{FrameDeny: true, STSSeconds: new(int64(1)), STSPreload: true}, nil},
		{dynamic.Headers{
			FrameDeny: true, SSLRedirect: &no, SSLTemporaryRedirect: &no, SSLForceHost: &no, SSLHost: &none,
			FeaturePolicy: &none,
		}, nil},
		{
			dynamic.Headers{SSLRedirect: &yes},
			[]string{"headers.sslRedirect is deprecated and has no effect: use the redirection of an entrypoint or the " +
				"middleware redirectScheme"},
		},
		{
			dynamic.Headers{SSLTemporaryRedirect: &yes},
			[]string{"headers.sslTemporaryRedirect is deprecated and has no effect: use the redirection of an entrypoint or " +
				"the middleware redirectScheme"},
		},
		{
			dynamic.Headers{SSLForceHost: &yes, SSLHost: &host},
			[]string{
				"headers.sslForceHost is deprecated and has no effect: use the middleware redirectRegex",
				"headers.sslHost is deprecated and has no effect: use the middleware redirectRegex",
			},
		},
		{
			dynamic.Headers{FeaturePolicy: &host},
			[]string{"headers.featurePolicy is deprecated and has no effect: use permissionsPolicy"},
		},
		{
			dynamic.Headers{STSPreload: true, STSIncludeSubdomains: true, ForceSTSHeader: true},
			[]string{
				"headers.stsIncludeSubdomains has no effect without headers.stsSeconds",
				"headers.stsPreload has no effect without headers.stsSeconds",
				"headers.forceSTSHeader has no effect without headers.stsSeconds",
			},
		},
		{
			dynamic.Headers{HostsProxyHeaders: []string{"X-Host"}},
			[]string{"headers.hostsProxyHeaders has no effect without headers.allowedHosts"},
		},
		{dynamic.Headers{AllowedHosts: []string{"a.example", "*.a.example"}, HostsProxyHeaders: []string{"X-Host"}}, []string{
			`headers.allowedHosts: "*.a.example" is not a host and allows none`,
			"headers.hostsProxyHeaders: any client can send X-Host, so that Host must be an allowed host, too",
		}},
		{dynamic.Headers{AccessControlAllowOriginList: []string{"null", "a.example", "https://a.example/"}}, []string{
			"headers.accessControlAllowOriginList: null allows none, because every sandboxed document has it",
			`headers.accessControlAllowOriginList: "a.example" is not an origin such as https://example.com:8443 and allows none`,
			`headers.accessControlAllowOriginList: "https://a.example/" is not an origin such as https://example.com:8443 ` +
				`and allows none`,
		}},
		{
			dynamic.Headers{AccessControlAllowOriginList: []string{"*"}, AccessControlAllowCredentials: true},
			[]string{"headers.accessControlAllowOriginList: with accessControlAllowCredentials * lets every site act and " +
				"read as its visitor"},
		},
	} {
		if diff := cmp.Diff(test.want, build(t, test.config).Warnings()); diff != "" {
			t.Errorf("%+v: %s", test.config, diff)
		}
	}
}
