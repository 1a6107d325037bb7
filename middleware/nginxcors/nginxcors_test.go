package nginxcors_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
	"github.com/sluiceproxy/sluice/middleware/nginxcors"
	"github.com/sluiceproxy/sluice/nginx/pcre"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func build(t testing.TB, change func(*dynamic.NginxCORS)) *nginxcors.NginxCORS {
	t.Helper()
	config := new(dynamic.NginxCORS)
	config.SetDefaults()
	config.AllowOrigins = []string{"*"}
	if change != nil {
		change(config)
	}
	step, err := nginxcors.New("m@file", *config)
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// service answers with CORS headers of its own.
func service(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "https://service.test")
	w.Header().Set("Access-Control-Expose-Headers", "X-Service")
	w.Header().Set("Vary", "Origin")
	w.WriteHeader(http.StatusTeapot)
}

// send returns the status, and the headers about CORS.
func send(t testing.TB, step *nginxcors.NginxCORS, method string, headers ...string) (int, map[string]string) {
	t.Helper()
	w := httptest.NewRecorder()
	step.Wrap(http.HandlerFunc(service)).ServeHTTP(w, middlewaretest.Request(t, method+" /x", headers...))
	found := map[string]string{}
	for name, values := range w.Header() {
		found[strings.TrimPrefix(name, "Access-Control-")] = strings.Join(values, "|")
	}
	return w.Code, found
}

const (
	usualMethods = "GET, PUT, POST, DELETE, PATCH, OPTIONS"
	usualHeaders = "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization"
)

// TestResponses has the rows of ingress-nginx's template.
func TestResponses(t *testing.T) {
	no := false
	one := func(c *dynamic.NginxCORS) {
		c.AllowOrigins = []string{"https://a.test", "https://*.b.test:8443", "null"}
	}
	all := func(origin string) map[string]string {
		return map[string]string{
			"Allow-Origin": origin, "Allow-Credentials": "true", "Allow-Methods": usualMethods, "Allow-Headers": usualHeaders,
			"Max-Age": "1728000",
		}
	}
	served := func(origin string) map[string]string {
		headers := all(origin)
		headers["Expose-Headers"], headers["Vary"] = "X-Service", "Origin"
		return headers
	}
	untouched := map[string]string{"Allow-Origin": "https://service.test", "Expose-Headers": "X-Service", "Vary": "Origin"}
	for name, test := range map[string]struct {
		change  func(*dynamic.NginxCORS)
		method  string
		headers []string
		status  int
		want    map[string]string
	}{
		"preflight of any": {
			nil, "OPTIONS", []string{"Origin: https://x.test", "Access-Control-Request-Method: PUT"}, 204, all("*"),
		},
		"OPTIONS without Origin": {nil, "OPTIONS", nil, 204, all("*")},
		"GET of any":             {nil, "GET", []string{"Origin: https://x.test"}, 418, served("*")},
		"GET without Origin":     {nil, "GET", nil, 418, served("*")},
		"OPTIONS of one":         {one, "OPTIONS", []string{"Origin: https://a.test"}, 204, all("https://a.test")},
		"upper case":             {one, "GET", []string{"Origin: HTTPS://A.test"}, 418, served("HTTPS://A.test")},
		"a label": {
			one, "GET", []string{"Origin: https://x-1.b.test:8443"}, 418, served("https://x-1.b.test:8443"),
		},
		"null":                {one, "GET", []string{"Origin: null"}, 418, served("null")},
		"two labels":          {one, "GET", []string{"Origin: https://x.y.b.test:8443"}, 418, untouched},
		"no label":            {one, "GET", []string{"Origin: https://.b.test:8443"}, 418, untouched},
		"another port":        {one, "GET", []string{"Origin: https://x.b.test"}, 418, untouched},
		"another scheme":      {one, "GET", []string{"Origin: http://a.test"}, 418, untouched},
		"a longer host":       {one, "GET", []string{"Origin: https://a.test.evil"}, 418, untouched},
		"only the end counts": {one, "GET", []string{"Origin: xhttps://a.test"}, 418, served("xhttps://a.test")},
		"OPTIONS of another":  {one, "OPTIONS", []string{"Origin: https://c.test"}, 418, untouched},
		"none of Origin":      {one, "OPTIONS", nil, 418, untouched},
		"options": {
			func(c *dynamic.NginxCORS) {
				c.AllowMethods, c.AllowHeaders, c.ExposeHeaders, c.MaxAge = "GET", "X-A, X-B", "*, X-C", 600
				c.AllowCredentials = &no
			},
			"GET", nil, 418,
			map[string]string{
				"Allow-Origin": "*", "Allow-Methods": "GET", "Allow-Headers": "X-A, X-B", "Expose-Headers": "*, X-C",
				"Max-Age": "600", "Vary": "Origin",
			},
		},
		"* beside others": {
			func(c *dynamic.NginxCORS) { c.AllowOrigins = []string{"https://a.test", " * "} },
			"GET",
			[]string{"Origin: https://c.test"},
			418, served("*"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			status, headers := send(t, build(t, test.change), test.method, test.headers...)
			if diff := cmp.Diff(test.want, headers); diff != "" || status != test.status {
				t.Errorf("status %d, want %d %s", status, test.status, diff)
			}
		})
	}
}

func TestRefusesDefinitions(t *testing.T) {
	for want, config := range map[string]dynamic.NginxCORS{
		"nginxCORS.allowOrigins is empty":                             {},
		`nginxCORS.allowOrigins: "a.test" is neither`:                 {AllowOrigins: []string{"a.test"}},
		`nginxCORS.allowOrigins: "https://a.test/x" is neither`:       {AllowOrigins: []string{"https://a.test/x"}},
		`nginxCORS.allowOrigins: "https://a*.test" is neither`:        {AllowOrigins: []string{"https://a*.test"}},
		`nginxCORS.allowOrigins: "https://a.test:" is neither`:        {AllowOrigins: []string{"https://a.test:"}},
		`nginxCORS.allowOrigins: "HTTPS://a.test" is neither`:         {AllowOrigins: []string{"HTTPS://a.test"}},
		"nginxCORS.maxAge -1 is negative":                             {AllowOrigins: []string{"*"}, MaxAge: -1},
		"nginxCORS.allowMethods has a control character":              {AllowOrigins: []string{"*"}, AllowMethods: "GET\r\nX: y"},
		"nginxCORS.allowHeaders has a control character":              {AllowOrigins: []string{"*"}, AllowHeaders: "A\x00"},
		"nginxCORS.exposeHeaders has a control character":             {AllowOrigins: []string{"*"}, ExposeHeaders: "\n\nA"},
		`nginxCORS.allowOrigins: "" is neither an origin such as htt`: {AllowOrigins: []string{" "}},
	} {
		if step, err := nginxcors.New("m@file", config); step != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestReadme(t *testing.T) {
	definitions := middlewaretest.Examples(t, "README.md")
	for name, want := range map[string]string{
		"pages": "204 https://x.example.com:8443 true", "everyone": "204 * ",
	} {
		step, err := nginxcors.New(name, *definitions[name].NginxCORS)
		if err != nil {
			t.Fatal(err)
		}
		status, headers := send(t, step, "OPTIONS", "Origin: https://x.example.com:8443")
		if got := fmt.Sprint(status, " ", headers["Allow-Origin"], " ", headers["Allow-Credentials"]); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestOnTheWire sends a preflight and a request over both protocols.
func TestOnTheWire(t *testing.T) {
	rig.Matrix(t, func(t *testing.T, client, upstream string) {
		g := rig.New(t, rig.Setup{Wrap: build(t, nil).Wrap, Upstream: upstream, Endpoint: service})
		preflight, body, err := g.Do(client, g.Request(http.MethodOptions, "/x", nil, "Origin", "https://a.test"))
		if err != nil {
			t.Fatal(err)
		}
		if preflight.StatusCode != http.StatusNoContent || body != "" ||
			preflight.Header.Get("Access-Control-Max-Age") != "1728000" {
			t.Errorf("preflight: %d %q %v", preflight.StatusCode, body, preflight.Header)
		}
		response, _, err := g.Do(client, g.Request(http.MethodGet, "/x", nil, "Origin", "https://a.test"))
		if err != nil {
			t.Fatal(err)
		}
		if got := response.Header["Access-Control-Allow-Origin"]; response.StatusCode != http.StatusTeapot || fmt.Sprint(got) != "[*]" {
			t.Errorf("request: %d %v", response.StatusCode, got)
		}
	})
}

// FuzzOrigins compares with the regular expression that ingress-nginx writes.
func FuzzOrigins(f *testing.F) {
	for _, configured := range []string{"https://a.test", "https://*.b.test:8443", "null", "http://", "x://*."} {
		f.Add(configured, "https://x.b.test:8443")
		f.Add(configured, strings.ToUpper(configured))
		f.Add(configured, "y"+configured)
	}
	f.Fuzz(func(t *testing.T, configured, sent string) {
		if configured == "*" || strings.TrimSpace(configured) != configured || strings.ContainsAny(sent, "\r\n\x00") {
			return
		}
		step, err := nginxcors.New("m@file", dynamic.NginxCORS{AllowOrigins: []string{configured}})
		if err != nil {
			return
		}
		quoted := strings.Replace(regexp.QuoteMeta(configured), `\*`, `[A-Za-z0-9\-]+`, 1)
		expression, err := pcre.Compile("(("+quoted+"))$", pcre.Caseless)
		if err != nil {
			return
		}
		r := middlewaretest.Request(t, "GET /")
		r.Header["Origin"] = []string{sent}
		w := new(middlewaretest.Writer)
		step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) })).ServeHTTP(w, r)
		if allowed := len(w.Header()["Access-Control-Allow-Origin"]) > 0; allowed != expression.Match(sent) {
			t.Fatalf("%q is allowed by %q: %v", sent, configured, allowed)
		}
	})
}
