package nginx_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/integration/nginx"
	"github.com/sluiceproxy/sluice/middleware/regexrewrite"
)

const (
	// rewrites and rewritten are how many directives are made, and targets for each of them.
	rewrites, rewritten = 600, 20
)

// refusedSegment matches the segments that a changed path may not have: "." and "..", also with parameters, and
// parameters alone.
var refusedSegment = regexp.MustCompile(`/(\.\.?(;|/|$)|;)`)

// directive is a rewrite with targets.
type directive struct {
	regex, replacement string
	// last says that the flag is last, not break.
	last    bool
	targets []string
}

// TestRewrite compares targets and redirections of the middleware regexRewrite with those of the directive rewrite.
func TestRewrite(t *testing.T) {
	g := newGenerator(seedOf(t))
	p := nginx.Start(t, nginx.Options{})
	counts := map[string]int{}
	var all []*directive
	for len(all) < rewrites {
		one := g.directive()
		if _, err := one.middleware(); err == nil {
			all = append(all, one)
		}
	}
	for round := range slices.Chunk(all, together) {
		if err := p.Reload(directives(p, round)); err != nil {
			t.Fatal(err)
		}
		trials := make([]*trial, len(round))
		for i, one := range round {
			trials[i] = &trial{name: "s" + strconv.Itoa(i), targets: one.targets}
		}
		if err := askAll(t.Context(), p, trials); err != nil {
			t.Fatal(err)
		}
		for i, one := range round {
			for j, got := range trials[i].replies {
				one.compare(t, one.targets[j], got, counts)
			}
		}
	}
	t.Logf("%d targets: %v", rewrites*rewritten, counts)
	for _, class := range []string{"200", "302", "500", "dot segment"} {
		if counts[class] < rewrites/20 {
			t.Errorf("only %d are of the class %s", counts[class], class)
		}
	}
}

// compare reports a difference, except those that the middleware declares.
func (d *directive) compare(t *testing.T, target string, got reply, counts map[string]int) {
	t.Helper()
	want, ours := d.serve(t, target)
	path, query, asks := strings.Cut(got.text, "?")
	switch {
	case !ours:
		counts["canonical form"]++ // Sluice forwards such a target in another form, with or without a rewrite.
		return
	case got == want:
	case d.last && want.status == http.StatusBadRequest:
		counts["refused before the last round"]++ // For a dot segment, or without a slash at its beginning.
		return
	case got.status == http.StatusOK && !strings.HasPrefix(path, "/"):
		t.Fatalf("%q to %q on %q: the echo has got %v", d.regex, d.replacement, target, got)
	case got.status == http.StatusOK:
		for strings.Contains(path, "//") {
			path = strings.ReplaceAll(path, "//", "/")
		}
		if want.status == http.StatusBadRequest && refusedSegment.MatchString(path) {
			counts["dot segment"]++
			return
		}
		if got.text = path; asks {
			got.text += "?" + query
		}
	}
	counts[strconv.Itoa(got.status)]++
	if got != want {
		t.Fatalf("%q to %q on %q: nginx answers %v, want %v", d.regex, d.replacement, target, got, want)
	}
}

func (d *directive) middleware() (*regexrewrite.RegexRewrite, error) {
	return regexrewrite.New("r", dynamic.RegexRewrite{Regex: d.regex, Replacement: d.replacement, Last: d.last})
}

// serve returns what the middleware makes of a target. It reports false for a target that Sluice changes before, or
// refuses.
func (d *directive) serve(t *testing.T, target string) (reply, bool) {
	t.Helper()
	step, err := d.middleware()
	if err != nil {
		t.Fatal(err)
	}
	line := "GET " + target + " HTTP/1.1\r\nHost: s\r\n\r\n"
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(line)))
	if err != nil {
		return reply{}, false
	}
	policy := canonical.Policy{Encoded: canonical.AllowAllEncoded()}
	if _, err := policy.Normalize(r); err != nil || r.RequestURI != target {
		return reply{}, false
	}
	got := reply{status: http.StatusOK}
	w := httptest.NewRecorder()
	step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got.text = r.RequestURI })).ServeHTTP(w, r)
	if got.text == "" {
		got = reply{w.Code, w.Header().Get("Location")}
	}
	return got, true
}

// directives writes one server for each directive, which answers with the target that it forwards.
func directives(p *nginx.Process, all []*directive) string {
	var text strings.Builder
	text.WriteString(config(p, nil))
	for i, one := range all {
		flag := map[bool]string{true: "last", false: "break"}[one.last]
		fmt.Fprintf(&text, "server { listen unix:%s; server_name s%d;\n"+
			"  location / { rewrite %s %s %s; proxy_pass http://echo; } }\n",
			p.Socket("web"), i, nginx.Quote(one.regex), nginx.Quote(one.replacement), flag)
	}
	return text.String()
}

// directive makes a rewrite as Ingresses have them, and others.
func (g generator) directive() *directive {
	one := &directive{regex: g.one("^/api(/|$)(.*)", "^/(.*)", "(?i)/A(.*)", "/(a)|(b)", "^/([^/]*)/?(.*)", "/foo",
		"/(.)(.)(.*)$"), last: g.chance(3)}
	one.replacement = g.one("/", "/", "/", "/x/", "/u$uri", "/%41 é/", "https://h/", "http://h/%41%2f%zz/", "$scheme://h/")
	for range g.IntN(4) {
		one.replacement += g.one("$1", "$2", "$3", "/", "a", "$request_method", "?", "?a=", "&b=", "${scheme}", "..", ".",
			"%20")
	}
	one.replacement += g.one("", "", "?")
	for range rewritten {
		path := g.one("/api", "/api/v1", "/a/b", "/foo/bar", "/a b", "/é", "/a&b+c", "/a?b", "/", "/A/..b",
			"/a/\"x;y=z", "/a/b/c/")
		target := g.written(path)
		if g.chance(3) && !strings.ContainsAny(target, "?#") {
			target += g.one("?", "?q=1", "?a=b%20c&d", "?%2F+x")
		}
		one.targets = append(one.targets, target)
	}
	return one
}
