package ingressnginx

import (
	"cmp"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/regexrewrite"
	engine "github.com/sluiceproxy/sluice/nginx/location"
	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/nginx/uri"
)

// server is what ingress-nginx makes of the Ingresses of one host, from their objects alone.
type server struct {
	engine.Server
	host    string
	appRoot string
	// of has what a location does.
	of map[*engine.Location]*block
}

// block is what a location of a server does.
type block struct {
	name, service string
	target        string
	exact         bool
	// beside says that it is the exact location beside a prefix.
	beside    bool
	owner     *site
	rewriting *regexrewrite.RegexRewrite
}

// site is a generated Ingress of one host.
type site struct {
	object
	paths                      []sitePath
	rewrite, appRoot, redirect string
	regex, force, relative     bool
	preserve                   bool
}

// sitePath is a path of a site; kind is E or P.
type sitePath struct{ kind, path, service string }

// modelOf returns the server of a host, whose sites are in order.
func modelOf(t *testing.T, host string, sites []*site) *server {
	t.Helper()
	s := &server{host: host, of: map[*engine.Location]*block{}}
	type key struct{ kind, path string }
	root := sitePath{"P", "/", ""}
	seen := map[key]bool{}
	// The location of the default backend is there from the beginning, and a declared one takes its place.
	declared := []*block{made(sites[0], root)}
	for _, one := range sites {
		for _, path := range one.paths {
			this := key{path.kind, path.path}
			switch {
			case seen[this]:
			case path.kind == root.kind && path.path == root.path:
				declared[0] = made(one, path)
			default:
				declared = append(declared, made(one, path))
			}
			seen[this] = true
		}
	}
	slices.SortStableFunc(declared, func(a, b *block) int {
		return cmp.Or(cmp.Compare(len(b.name), len(a.name)), cmp.Compare(b.name, a.name))
	})
	s.arrange(t, declared, sites, func(path string) bool { return seen[key{"E", path}] })
	return s
}

// made returns what a path of a site does.
func made(owner *site, path sitePath) *block {
	return &block{
		name: path.path, service: path.service, exact: path.kind == "E", owner: owner, target: owner.rewrite,
	}
}

// arrange makes the locations of the declared paths.
func (s *server) arrange(t *testing.T, declared []*block, sites []*site, exact func(path string) bool) {
	t.Helper()
	var all []*block
	for _, one := range declared {
		s.appRoot = cmp.Or(s.appRoot, one.owner.appRoot)
		if one.exact || one.name == "/" || one.owner.regex || one.target != "" && one.target != one.name {
			all = append(all, one)
			continue
		}
		below := *one
		below.name = strings.TrimSuffix(one.name, "/") + "/"
		all = append(all, &below)
		if !exact(one.name) {
			one.exact, one.beside = true, true
			all = append(all, one)
		}
	}
	regular := slices.ContainsFunc(all, func(b *block) bool {
		return b.owner.regex || b.target != "" && b.target != b.name
	})
	if !regular {
		all = withoutTwins(all, sites)
	}
	blocks := map[*[]engine.Location][]*block{}
	for _, one := range all {
		added := engine.Location{Name: one.name, Redirects: true}
		into := &s.Prefix
		switch {
		case regular:
			added.Name = "^" + one.name
			compiled, err := pcre.Compile(added.Name, pcre.Caseless)
			if err != nil {
				t.Fatal(err)
			}
			added.Regexp, into = compiled, &s.Regex
		case one.exact:
			into = &s.Exact
		}
		if !slices.ContainsFunc(*into, func(l engine.Location) bool { return l.Name == added.Name }) {
			*into, blocks[into] = append(*into, added), append(blocks[into], one)
		}
	}
	for of, all := range blocks {
		for i, one := range all {
			one.prepare(t)
			s.of[&(*of)[i]] = one
		}
	}
}

// withoutTwins leaves out prefixes that differ from one of an earlier site in a final slash alone, for which nginx
// refuses its configuration.
func withoutTwins(all []*block, sites []*site) []*block {
	kept := map[string]*block{}
	for _, one := range all {
		before := kept[one.name]
		if !one.exact && (before == nil || slices.Index(sites, one.owner) < slices.Index(sites, before.owner)) {
			kept[one.name] = one
		}
	}
	return slices.DeleteFunc(all, func(one *block) bool {
		prefix := kept[one.name]
		if one.exact {
			return one.beside && prefix != nil && prefix.service != one.service
		}
		return prefix != one
	})
}

// prepare makes what rewrites the requests of a block.
func (b *block) prepare(t *testing.T) {
	t.Helper()
	if b.target == "" || b.target == b.name {
		return
	}
	made, err := regexrewrite.New("rewrite@test", dynamic.RegexRewrite{Regex: "(?i)" + b.name, Replacement: b.target})
	if err != nil {
		t.Fatal(err)
	}
	b.rewriting = made
}

// answer returns what ingress-nginx answers to a plain request: STATUS LOCATION, or SERVICE URI. It is empty where the
// target is refused.
func (s *server) answer(target string) string {
	path, ok := uri.Normalize(target)
	if !ok {
		return ""
	}
	if s.appRoot != "" && path == "/" {
		return "302 http://" + s.host + s.appRoot
	}
	choice := s.Choose(path)
	one := s.of[choice.Location]
	if choice.Redirect != "" {
		query := ""
		if _, rest, given := strings.Cut(target, "?"); given && rest != "" {
			query = "?" + rest
		}
		scheme := "http://" + s.host
		if one.owner.relative {
			scheme = ""
		}
		return "301 " + scheme + choice.Redirect + query
	}
	if one.owner.redirect != "" {
		return "301 " + one.owner.redirect
	}
	if one.owner.force {
		to := "https://" + s.host + target
		if !one.owner.preserve {
			to = strings.TrimSuffix(to, "/")
		}
		return "308 " + to
	}
	if one.rewriting != nil {
		recorder := httptest.NewRecorder()
		request := httptest.NewRequestWithContext(context.Background(), http.MethodGet, target, http.NoBody)
		seen := ""
		one.rewriting.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			seen = r.URL.RequestURI()
		})).ServeHTTP(recorder, request)
		if seen == "" {
			return http.StatusText(recorder.Code)
		}
		target = seen
	}
	if one.service == "" {
		return "default"
	}
	return one.service + " " + target
}
