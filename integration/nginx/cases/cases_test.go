package cases_test

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/nginx/cases"
)

const minimal = `=== a name
e2e: file.go: what it checks
--- objects
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: a}
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: other}
stringData: {key: value}
--- settings
ssl-redirect: false
--- service default/echo endpoints=2
/a 404
X-Own: value
* close
--- request repeat=3 client=10.0.0.1
POST https://a.example:8443/x//y?z
X-Field: a: b

body
--- response
200*2 5xx*1
Location: https://a.example
!Set-Cookie
X-Id ~ ^[0-9]+$
--- upstream
default/echo*1..2
GET /x
Host: a.example
--- host auth.example
* 401
--- request
GET http://a.example
--- response
301
--- upstream
none
`

func TestParse(t *testing.T) {
	all, err := cases.Parse("group", minimal)
	if err != nil {
		t.Fatal(err)
	}
	c := all[0]
	if c.String() != "group/a name" || len(c.Tests) != 1 || len(c.Stages) != 2 {
		t.Fatalf("%+v", c)
	}
	first, second := c.Stages[0], c.Stages[1]
	if o := first.Objects; o.Ingresses[0].Namespace != "default" || o.Ingresses[0].CreationTimestamp.IsZero() ||
		string(o.Secrets[0].Data["key"]) != "value" || o.Secrets[0].Namespace != "other" {
		t.Errorf("%+v", o)
	}
	if len(first.Servers) != 1 || len(second.Servers) != 2 || second.Settings["ssl-redirect"] != "false" {
		t.Errorf("%+v, %+v", first.State, second.State)
	}
	replies := first.Servers["default/echo"].Replies
	if len(replies) != 2 || replies[0].Path != "/a" || replies[0].Status != 404 || len(replies[0].Header) != 1 ||
		replies[1].Status != 0 {
		t.Errorf("%+v", replies)
	}
	e := first.Exchanges[0]
	if r := e.Request; r.Method != "POST" || r.Host != "a.example:8443" || r.Target != "/x//y?z" || r.Repeat != 3 ||
		r.ServerName != "a.example" || r.Body != "body" || r.Header[0].Value != "a: b" || r.Client != "10.0.0.1" {
		t.Errorf("%+v", r)
	}
	if r := e.Response; r.Statuses["200"] != 2 || r.Statuses["5xx"] != 1 || len(r.Header) != 3 {
		t.Errorf("%+v", r)
	}
	if u := e.Upstreams[0]; u.Request != "GET /x" || u.Counts["default/echo"] != (cases.Range{Min: 1, Max: 2}) {
		t.Errorf("%+v", u)
	}
	if u := second.Exchanges[0].Upstreams[0]; len(u.Counts) != 0 {
		t.Errorf("%+v", u)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"text in front":       "text\n" + minimal,
		"no request":          "=== a\n--- settings\na: b\n",
		"no response":         "=== a\n--- request\nGET http://a/\n",
		"unknown attribute":   "=== a\nunknown: x\n",
		"unknown section":     "=== a\n--- unknown\n",
		"unknown option":      "=== a\n--- request unknown\nGET http://a/\n--- response\n200\n",
		"a target":            "=== a\n--- request\nGET /\n--- response\n200\n",
		"a status":            "=== a\n--- request\nGET http://a/\n--- response\nok\n",
		"the sum of statuses": "=== a\n--- request repeat=3\nGET http://a/\n--- response\n200*2\n",
		"a response first":    "=== a\n--- response\n200\n",
		"an unknown kind":     "=== a\n--- objects\nkind: Pod\n--- request\nGET http://a/\n--- response\n200\n",
		"an unknown field":    strings.Replace(minimal, "metadata: {name: a}", "metadata: {name: a}\nunknown: x", 1),
		"two cases of a name": minimal + minimal,
	} {
		if all, err := cases.Parse("group", text); err == nil {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

func TestMatches(t *testing.T) {
	all, err := cases.Parse("group", minimal)
	if err != nil {
		t.Fatal(err)
	}
	matches := all[0].Stages[0].Exchanges[0].Response.Header
	for i, test := range []struct{ good, bad [][]string }{
		{[][]string{{"https://a.example"}}, [][]string{{}, {"x"}, {"https://a.example", "https://a.example"}}},
		{[][]string{{}}, [][]string{{""}, {"x"}}},
		{[][]string{{"1"}, {"1", "22"}}, [][]string{{}, {"x"}, {"1", "x"}}},
	} {
		for _, values := range test.good {
			if !matches[i].Matches(values) {
				t.Errorf("%+v does not match %q", matches[i], values)
			}
		}
		for _, values := range test.bad {
			if matches[i].Matches(values) {
				t.Errorf("%+v matches %q", matches[i], values)
			}
		}
	}
}
