package nginx_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sluiceproxy/sluice/integration/nginx"
	"github.com/sluiceproxy/sluice/nginx/location"
	"github.com/sluiceproxy/sluice/nginx/uri"
)

// seedVariable is the environment variable with another seed than the usual one, which makes other cases.
const seedVariable = "TEST_NGINX_SEED"

const (
	// servers and targets are how many servers are made, and requests to each of them.
	servers, targets = 2000, 50
	// together is how many servers are in one configuration.
	together = 200
	// connections is how many of them are sent requests at once.
	connections = 16
)

func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(1)
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed: %s=%d", seedVariable, seed)
	return seed
}

// TestLocation compares the location that nginx selects, its path, and its redirections with those of the package
// location.
func TestLocation(t *testing.T) {
	g := newGenerator(seedOf(t))
	p := nginx.Start(t, nginx.Options{})
	counts := map[string]int{}
	for range servers / together {
		round := make([]*trial, together)
		for i := range round {
			round[i] = &trial{server: g.server(), name: "s" + strconv.Itoa(i)}
			for range targets {
				round[i].targets = append(round[i].targets, g.target(round[i].server))
			}
		}
		compare(t, p, round, counts)
	}
	t.Logf("%d requests, by answer: %v", servers*targets, counts)
	for _, class := range []string{"e", "p", "r", "301", "400", "404"} {
		if counts[class] < servers {
			t.Errorf("only %d answers are of the class %s", counts[class], class)
		}
	}
}

// class is the kind of location that has answered, or the status.
func (a reply) class() string {
	if a.status == http.StatusOK && len(a.text) > 1 {
		return a.text[1:2]
	}
	return strconv.Itoa(a.status)
}

// trial is one server with requests.
type trial struct {
	name    string
	server  *location.Server
	targets []string
	replies []reply
}

// compare sends the requests of all trials to one nginx. It reports and shrinks the first difference.
func compare(t *testing.T, p *nginx.Process, round []*trial, counts map[string]int) {
	t.Helper()
	if err := p.Reload(config(p, round)); err != nil {
		t.Fatal(err)
	}
	if err := askAll(t.Context(), p, round); err != nil {
		t.Fatal(err)
	}
	for _, one := range round {
		for i, got := range one.replies {
			counts[got.class()]++
			if want := expected(one.server, one.targets[i]); got != want {
				shrink(t, p, one.server, one.targets[i])
			}
		}
	}
}

// askAll sends the requests over several connections.
func askAll(ctx context.Context, p *nginx.Process, round []*trial) error {
	var workers sync.WaitGroup
	waiting := make(chan *trial, len(round))
	failures := make(chan error, connections)
	for range connections {
		workers.Go(func() {
			l := &pipeline{process: p}
			defer l.close()
			for one := range waiting {
				replies, err := l.ask(ctx, one.name, one.targets)
				if err != nil {
					failures <- err
					return
				}
				one.replies = replies
			}
		})
	}
	for _, one := range round {
		waiting <- one
	}
	close(waiting)
	workers.Wait()
	close(failures)
	return <-failures
}

// config writes the servers, and the one that answers with the path that it gets.
func config(p *nginx.Process, round []*trial) string {
	var text strings.Builder
	fmt.Fprintf(&text, "keepalive_requests 1000000; absolute_redirect off; proxy_http_version 1.1;\n"+
		"proxy_set_header Connection \"\"; proxy_set_header Host echo;\n"+
		"upstream echo { server unix:%[1]s; keepalive 32; }\n"+
		"server { listen unix:%[1]s; location / { return 200 $request_uri; } }\n"+
		"root %[2]s;\n", p.Socket("echo"), p.Socket("none")) // There is nothing for requests without location.
	for _, one := range round {
		fmt.Fprintf(&text, "server { listen unix:%s; server_name %s;\n", p.Socket("web"), one.name)
		for _, kind := range kindsOf(one.server) {
			for i, l := range kind.locations {
				content := fmt.Sprintf("rewrite ^ /%s%d$uri? break; proxy_pass http://echo;", kind.letter, i)
				if !l.Redirects {
					content = fmt.Sprintf("return 200 /%s%d$uri;", kind.letter, i)
				}
				fmt.Fprintf(&text, "  location %s %s { %s }\n", kind.modifier, nginx.Quote(l.Name), content)
			}
		}
		text.WriteString("}\n")
	}
	return text.String()
}

// kind is a kind of locations.
type kind struct {
	letter, modifier string
	locations        []location.Location
}

func kindsOf(s *location.Server) []kind {
	return []kind{{"e", "=", s.Exact}, {"p", "", s.Prefix}, {"r", "~*", s.Regex}}
}

// expected is the answer of the package location.
func expected(s *location.Server, target string) reply {
	path, ok := uri.Normalize(target)
	if !ok {
		return reply{status: http.StatusBadRequest}
	}
	choice := s.Choose(path)
	switch {
	case choice.Location == nil:
		return reply{status: http.StatusNotFound}
	case choice.Redirect != "":
		location := choice.Redirect
		_, query, _ := strings.Cut(target, "?")
		if query, _, _ = strings.Cut(query, "#"); query != "" && !strings.Contains(target[:strings.IndexByte(target, '?')], "#") {
			location += "?" + query
		}
		return reply{http.StatusMovedPermanently, location}
	}
	for _, kind := range kindsOf(s) {
		for i := range kind.locations {
			if &kind.locations[i] == choice.Location {
				path = fmt.Sprintf("/%s%d%s", kind.letter, i, path)
			}
		}
	}
	if choice.Location.Redirects {
		path = uri.Escape(path)
	}
	return reply{http.StatusOK, path}
}

// shrink fails with the smallest server and target that it finds for which the answers differ.
func shrink(t *testing.T, p *nginx.Process, s *location.Server, target string) {
	t.Helper()
	differs := func(s *location.Server, target string) bool {
		text := config(p, []*trial{{name: "s", server: s}})
		return once(t, p, text, "s", target) != expected(s, target)
	}
	for smaller := true; smaller; {
		smaller = false
		for _, candidate := range without(s) {
			if differs(candidate, target) {
				s, smaller = candidate, true
				break
			}
		}
	}
	for i := len(target) - 1; i > 0; i-- {
		if candidate := target[:i] + target[i+1:]; differs(s, candidate) {
			target = candidate
		}
	}
	text := config(p, []*trial{{name: "s", server: s}})
	t.Fatalf("%q: nginx answers %v, want %v, with\n%s", target, once(t, p, text, "s", target), expected(s, target), text)
}

// without returns the server without one of its locations, in all ways.
func without(s *location.Server) []*location.Server {
	var all []*location.Server
	for i := range s.Exact {
		all = append(all, &location.Server{Exact: dropped(s.Exact, i), Prefix: s.Prefix, Regex: s.Regex})
	}
	for i := range s.Prefix {
		all = append(all, &location.Server{Exact: s.Exact, Prefix: dropped(s.Prefix, i), Regex: s.Regex})
	}
	for i := range s.Regex {
		all = append(all, &location.Server{Exact: s.Exact, Prefix: s.Prefix, Regex: dropped(s.Regex, i)})
	}
	return all
}

func dropped(all []location.Location, i int) []location.Location {
	return slices.Delete(slices.Clone(all), i, i+1)
}
