package dashboard_test

import (
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/gorilla/mux"

	"github.com/sluiceproxy/sluice/api/dashboard"
)

// ask sends one request to a handler; header lines are NAME: VALUE.
func ask(t *testing.T, handler http.Handler, method, target string, lines ...string) *http.Response {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, target, http.NoBody)
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder.Result()
}

func read(t *testing.T, response *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestPathsLeadToThePage(t *testing.T) {
	tests := []struct {
		name, base, target string
		lines              []string
		status             int
		location, holds    string
	}{
		{name: "page", target: "/dashboard/", status: 200, holds: "<title>Sluice</title>"},
		{name: "page by its name", target: "/dashboard/index.html", status: 200, holds: "<title>Sluice</title>"},
		{name: "file", target: "/dashboard/app.js", status: 200, holds: "import"},
		{name: "without the slash", target: "/dashboard", status: 302, location: "dashboard/"},
		{name: "root", target: "/", status: 302, location: "dashboard/"},
		{name: "below a base", base: "/ops", target: "/ops/dashboard/", status: 200, holds: "<title>"},
		{name: "base with a slash", base: "/ops/", target: "/ops/dashboard/app.js", status: 200, holds: "import"},
		{name: "root of a base", base: "/ops", target: "/ops/", status: 302, location: "dashboard/"},
		{
			name: "place taken off", target: "/", lines: []string{"X-Forwarded-Prefix: /dashboard/"}, status: 200,
			holds: "<title>",
		},
		{
			name: "another prefix taken off", target: "/", lines: []string{"X-Forwarded-Prefix: /secure"}, status: 302,
			location: "/secure/dashboard/",
		},
		{
			name: "prefix of another site", target: "/", lines: []string{"X-Forwarded-Prefix: //evil.example"}, status: 302,
			location: "dashboard/",
		},
		{
			name: "prefix with a backslash", target: "/", lines: []string{`X-Forwarded-Prefix: /\evil.example`}, status: 302,
			location: "dashboard/",
		},
		{name: "place taken off a file", target: "/app.js", status: 200, holds: "import"},
		{name: "unknown", target: "/dashboard/none.js", status: 404},
		{name: "folder", target: "/dashboard/style", status: 404},
		{name: "climbing out", target: "/dashboard/../file.go", status: 404},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			response := ask(t, dashboard.New(dashboard.Options{BasePath: test.base}), http.MethodGet, test.target, test.lines...)
			if response.StatusCode != test.status || response.Header.Get("Location") != test.location {
				t.Errorf("got %d to %q, want %d to %q", response.StatusCode, response.Header.Get("Location"), test.status,
					test.location)
			}
			if body := read(t, response); !strings.Contains(body, test.holds) {
				t.Errorf("the answer lacks %q:\n%s", test.holds, body)
			}
		})
	}
}

func TestAPartOfTheAPI(t *testing.T) {
	root := mux.NewRouter().UseEncodedPath()
	dashboard.New(dashboard.Options{}).Mount(root, "/ops")
	for target, status := range map[string]int{
		"/ops/": 302, "/ops/dashboard": 302, "/ops/dashboard/": 200,
		"/ops/dashboard/app.js": 200, "/dashboard/": 404,
	} {
		if got := ask(t, root, http.MethodGet, target); got.StatusCode != status {
			t.Errorf("%s: got %d, want %d", target, got.StatusCode, status)
		}
	}
}

func TestOnlyReading(t *testing.T) {
	handler := dashboard.New(dashboard.Options{})
	response := ask(t, handler, http.MethodPost, "/dashboard/")
	if response.StatusCode != http.StatusMethodNotAllowed || response.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST got %d, Allow %q", response.StatusCode, response.Header.Get("Allow"))
	}
	head := ask(t, handler, http.MethodHead, "/dashboard/")
	if head.StatusCode != http.StatusOK || head.Header.Get("Content-Length") == "0" || read(t, head) != "" {
		t.Errorf("HEAD got %d, length %q, or a body", head.StatusCode, head.Header.Get("Content-Length"))
	}
}

func TestEveryAnswerIsGuarded(t *testing.T) {
	handler := dashboard.New(dashboard.Options{})
	for _, target := range []string{"/dashboard/", "/dashboard", "/dashboard/app.js", "/dashboard/none"} {
		header := ask(t, handler, http.MethodGet, target).Header
		policy := header.Get("Content-Security-Policy")
		for _, part := range []string{
			"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
			"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
		} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy %q lacks %s", target, policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
			t.Errorf("%s: the policy is loose: %s", target, policy)
		}
		if header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: headers %v", target, header)
		}
	}
}

func TestTheTitleIsText(t *testing.T) {
	response := ask(t, dashboard.New(dashboard.Options{Name: `edge <b>&"1"`}), http.MethodGet, "/dashboard/")
	if body := read(t, response); !strings.Contains(body, `<title>edge &lt;b&gt;&amp;&#34;1&#34; · Sluice</title>`) {
		t.Errorf("the page's head:\n%.600s", body)
	}
}

func TestCopiesOfTheBrowserAreRevalidated(t *testing.T) {
	handler := dashboard.New(dashboard.Options{})
	for _, coding := range []string{"gzip, br", "gzip;q=0", "identity"} {
		first := ask(t, handler, http.MethodGet, "/dashboard/app.js", "Accept-Encoding: "+coding)
		if zipped := first.Header.Get("Content-Encoding") == "gzip"; zipped != strings.HasPrefix(coding, "gzip,") {
			t.Errorf("%s: gzip %v", coding, zipped)
		}
		tag := first.Header.Get("ETag")
		for _, condition := range []string{tag, `"other", W/` + tag, "*"} {
			again := ask(t, handler, http.MethodGet, "/dashboard/app.js", "Accept-Encoding: "+coding, "If-None-Match: "+
				condition)
			if again.StatusCode != http.StatusNotModified || read(t, again) != "" {
				t.Errorf("%s: If-None-Match %s got %d, or a body", coding, condition, again.StatusCode)
			}
		}
		if other := ask(t, handler, http.MethodGet, "/dashboard/", "Accept-Encoding: "+coding, "If-None-Match: "+
			tag); other.StatusCode != http.StatusOK {
			t.Errorf("%s: the tag of a file holds for another", coding)
		}
	}
	zipped := ask(t, handler, http.MethodGet, "/dashboard/app.js", "Accept-Encoding: gzip")
	reader, err := gzip.NewReader(zipped.Body)
	if err != nil {
		t.Fatal(err)
	}
	unzipped, err := io.ReadAll(reader)
	if err != nil || string(unzipped) != read(t, ask(t, handler, http.MethodGet, "/dashboard/app.js")) {
		t.Errorf("gzip holds something else: %v", err)
	}
}

// TestEveryFileIsServed follows what the files name, so that none is missing and none is unused.
func TestEveryFileIsServed(t *testing.T) {
	handler := dashboard.New(dashboard.Options{})
	err := fs.WalkDir(os.DirFS("static"), ".", func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		response := ask(t, handler, http.MethodGet, "/dashboard/"+at)
		if kind := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK ||
			strings.HasPrefix(kind, "application/octet") {
			t.Errorf("%s: got %d, %s", at, response.StatusCode, kind)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// forbidden matches what would make text into markup or code, or send a request to another host.
var forbidden = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new ` +
	`Function|DOMParser|setHTML|createContextualFragment|\.style\s*=|setAttribute\('style'|\son[a-z]+="|https?://`)

// address is what a file may name though it looks like a host: the names of XML's vocabularies are never requested.
var address = regexp.MustCompile(`http://www\.w3\.org/(2000/svg|1999/xlink)|https?://\$\{|'https?://'|(https?)://[a-z.]*example\.com[^'"]*`)

func TestTheFilesKeepToTextAndToThisHost(t *testing.T) {
	err := fs.WalkDir(os.DirFS("static"), ".", func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile("static/" + at)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			if found := forbidden.FindString(address.ReplaceAllString(line, "")); found != "" {
				t.Errorf("static/%s:%d: holds %q", at, i+1, found)
			}
		}
		if n := strings.Count(string(text), "\n"); n > 500 {
			t.Errorf("static/%s: %d lines, at most 500", at, n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
