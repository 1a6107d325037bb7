package rule_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/router/rule"
)

// page reads docs/reference/rules.md.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/reference/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPageNamesEveryMatcher demands that the page has a section with an example for each matcher, and for no other one.
func TestPageNamesEveryMatcher(t *testing.T) {
	_, matchers, _ := strings.Cut(page(t), "## Matchers\n")
	matchers, _, _ = strings.Cut(matchers, "\n## ")
	sections := strings.Split(matchers, "\n### ")[1:]
	if len(sections) != len(rule.Names()) {
		t.Errorf("there are %d sections for %d matchers", len(sections), len(rule.Names()))
	}
	for i, name := range rule.Names() {
		title, body, _ := strings.Cut(sections[i], "\n")
		if title != name || !strings.Contains(body, "\n"+name+"(`") {
			t.Errorf("section %d is %s; want %s with an example", i, title, name)
		}
		if !strings.Contains(matchers, "](#"+strings.ToLower(name)+") |") {
			t.Errorf("%s is not in the table", name)
		}
	}
}

// TestPageExamples runs the requests below each rule of the page.
func TestPageExamples(t *testing.T) {
	ran := 0
	for _, block := range regexp.MustCompile("(?s)```text rules\n(.*?)```").FindAllStringSubmatch(page(t), -1) {
		var current *rule.Rule
		for line := range strings.Lines(block[1]) {
			line = strings.TrimRight(line, "\n")
			words := strings.TrimSpace(line)
			request, wanted := strings.CutPrefix(words, "matches ")
			if !wanted {
				var other bool
				if request, other = strings.CutPrefix(words, "does not match "); !other && strings.HasPrefix(line, " ") {
					t.Fatalf("%q says neither that it matches nor that it does not", words)
				}
			}
			switch {
			case words == "":
			case !strings.HasPrefix(line, " "):
				parsed, err := rule.Parse(line)
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				current = parsed
			default:
				ran++
				if got := current.Match(exampleRequest(t, strings.TrimSpace(request))); got != wanted {
					t.Errorf("%s: %s: got %v", current, request, got)
				}
			}
		}
	}
	if ran < 2*len(rule.Names()) {
		t.Errorf("only %d examples were run", ran)
	}
}

// exampleRequest reads METHOD URL, with one header (with NAME: VALUE) and an address of the client (from ADDRESS).
func exampleRequest(t *testing.T, text string) *rule.Request {
	t.Helper()
	text, from, _ := strings.Cut(text, " from ")
	line, header, _ := strings.Cut(text, " with ")
	method, location, _ := strings.Cut(line, " ")
	received := httptest.NewRequestWithContext(t.Context(), method, location, http.NoBody)
	received.RequestURI = received.URL.RequestURI()
	secure := received.TLS != nil
	received.URL.Scheme, received.URL.Host = "", ""
	target, err := canonical.DefaultPolicy().Normalize(received)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	host, ok := canonical.Host(received.Host)
	if !ok {
		t.Fatalf("%s: no host", text)
	}
	request := &rule.Request{
		Host: host, Path: target.Routing, Escaped: target.Escaped, Method: method, Header: http.Header{},
		RawQuery:  received.URL.RawQuery,
		Authority: received.Host, TLS: secure,
	}
	if name, value, is := strings.Cut(header, ": "); is {
		request.Header.Set(name, value)
	}
	if from != "" {
		request.Client = netip.MustParseAddr(from)
	}
	return request
}

// cells returns the rows of the table below a heading of the page, of two columns, without code marks.
func cells(t *testing.T, heading string) (rows [][2]string) {
	t.Helper()
	_, text, found := strings.Cut(page(t), "\n## "+heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for _, row := range regexp.MustCompile("(?m)^\\| ``(.*)`` \\| (.*) \\|$").FindAllStringSubmatch(text, -1) {
		unescape := strings.NewReplacer(`\|`, "|", "``", "")
		rows = append(rows, [2]string{unescape.Replace(row[1]), unescape.Replace(row[2])})
	}
	if !found || len(rows) == 0 {
		t.Fatalf("no table below %s", heading)
	}
	return rows
}

func TestPagePriorities(t *testing.T) {
	for _, row := range cells(t, "Priority") {
		parsed, err := rule.Parse(row[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := strconv.Itoa(parsed.Length()); got != row[1] {
			t.Errorf("%s has the priority %s, not %s", row[0], got, row[1])
		}
	}
}

func TestPageTranslatesV2(t *testing.T) {
	for _, row := range cells(t, "Rules of Traefik v2") {
		if got, _, ok := rule.Older(row[0]); !ok || got != row[1] {
			t.Errorf("%s is %s in v3, not %s", row[0], got, row[1])
		}
	}
}
