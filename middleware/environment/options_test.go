package environment_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/environment"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	sources := func(s dynamic.EnvironmentSources) func(*dynamic.EnvironmentMiddleware) {
		return func(config *dynamic.EnvironmentMiddleware) { config.Sources = &s }
	}
	trust := func(one dynamic.EnvironmentTrust) func(*dynamic.EnvironmentMiddleware) {
		return func(config *dynamic.EnvironmentMiddleware) { config.Trust = &one }
	}
	signing := func(s dynamic.EnvironmentSigning) func(*dynamic.EnvironmentMiddleware) {
		return trust(dynamic.EnvironmentTrust{Signed: &s})
	}
	key := strings.Repeat("s", 31)
	for want, change := range map[string]func(*dynamic.EnvironmentMiddleware){
		`environment.header "" is not the name`:         func(c *dynamic.EnvironmentMiddleware) { c.Header = "" },
		`environment.header "X Y" is not the name`:      func(c *dynamic.EnvironmentMiddleware) { c.Header = "X Y" },
		`environment.header host has a meaning`:         func(c *dynamic.EnvironmentMiddleware) { c.Header = "host" },
		`environment.header X-Real-Ip identifies`:       func(c *dynamic.EnvironmentMiddleware) { c.Header = "X-Real-Ip" },
		`environment.aliases[1] Cookie has a meaning`:   func(c *dynamic.EnvironmentMiddleware) { c.Aliases = []string{"a", "Cookie"} },
		`environment.untrusted "ignore" is none of`:     func(c *dynamic.EnvironmentMiddleware) { c.Untrusted = "ignore" },
		`environment.default "a b" is not the value`:    func(c *dynamic.EnvironmentMiddleware) { c.Default = "a b" },
		`environment.stamp "always" is none of`:         func(c *dynamic.EnvironmentMiddleware) { c.Stamp = "always" },
		`environment.stamp is default, and environment`: func(c *dynamic.EnvironmentMiddleware) { c.Stamp = "default" },
		`environment.sources.query has a control`:       sources(dynamic.EnvironmentSources{Query: "a\n"}),
		`environment.sources.cookie "a=" is not`:        sources(dynamic.EnvironmentSources{Cookie: "a="}),
		`environment.sources.path "/env" does not end`:  sources(dynamic.EnvironmentSources{Path: "/env"}),
		`environment.sources.path "/{tag}/x" does not`:  sources(dynamic.EnvironmentSources{Path: "/{tag}/x"}),
		`environment.sources.path "/{tag}/{tag}" does`:  sources(dynamic.EnvironmentSources{Path: "/{tag}/{tag}"}),
		`environment.sources.path "/{tag}" would take`:  sources(dynamic.EnvironmentSources{Path: "/{tag}"}),
		`environment.sources.path "env/{tag}" does not`: sources(dynamic.EnvironmentSources{Path: "env/{tag}"}),
		`environment.sources.path "/a/../{tag}":`:       sources(dynamic.EnvironmentSources{Path: "/a/../{tag}"}),
		`environment.sources.host "a.test" does not`:    sources(dynamic.EnvironmentSources{Host: "a.test"}),
		`environment.sources.host "{tag}.{tag}" does`:   sources(dynamic.EnvironmentSources{Host: "{tag}.{tag}"}),
		`environment.sources.host "{tag}" would take`:   sources(dynamic.EnvironmentSources{Host: "{tag}"}),
		`environment.sources.host "{tag}.a:80" is not`:  sources(dynamic.EnvironmentSources{Host: "{tag}.a:80"}),
		`environment.sources.host "*.{tag}.a" is not`:   sources(dynamic.EnvironmentSources{Host: "*.{tag}.a"}),
		`environment.sources.hostSplitter is set with`:  sources(dynamic.EnvironmentSources{HostSplitter: "-"}),
		`environment.sources.hostSplitter may have`:     sources(dynamic.EnvironmentSources{Host: "{tag}.a", HostSplitter: "."}),
		`environment.trust.sourceRange: "10.0.0.0/33"`:  trust(dynamic.EnvironmentTrust{SourceRange: []string{"10.0.0.0/33"}}),
		`environment.trust.ipStrategy is set without`:   trust(dynamic.EnvironmentTrust{IPStrategy: &dynamic.IPStrategy{}}),
		`environment.trust.ipStrategy.depth -1`: trust(dynamic.EnvironmentTrust{
			SourceRange: []string{"10.0.0.0/8"}, IPStrategy: &dynamic.IPStrategy{Depth: -1},
		}),
		`environment.trust.anyone is set, and`: trust(dynamic.EnvironmentTrust{Anyone: true, Authenticated: true}),
		`environment.trust.signed has no key`:  signing(dynamic.EnvironmentSigning{}),
		`environment.trust.signed sets key and keyFile, and`: signing(dynamic.EnvironmentSigning{
			Key: key, KeyFile: key,
		}),
		`environment.trust.signed.key has 31 bytes, and at least 32`: signing(dynamic.EnvironmentSigning{Key: key}),
		`environment.trust.signed.keyFile can't be read: file does`:  signing(dynamic.EnvironmentSigning{KeyFile: key}),
		`environment.trust.signed.keyFile is not the path`:           signing(dynamic.EnvironmentSigning{KeyFile: key + "\nx"}),
	} {
		var config dynamic.EnvironmentMiddleware
		config.SetDefaults()
		change(&config)
		made, err := environment.New("e@file", config, environment.Options{ReadFile: func(path string) ([]byte, error) {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}})
		if made != nil || err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), key) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestKeysAreNotPrinted(t *testing.T) {
	t.Parallel()
	step := build(t, trusting(signedOnly()))
	if text := fmt.Sprintf("%v %+v %#v", step, step, step); strings.Contains(text, secret) {
		t.Errorf("the middleware is printed as %s", text)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*dynamic.EnvironmentMiddleware)
		want   []string
	}{
		"defaults": {nil, nil},
		"sources without trust": {
			trusting(nobody()),
			[]string{"environment.sources is without effect, since environment.trust lets no client choose"},
		},
		"empty trust": {
			func(c *dynamic.EnvironmentMiddleware) { c.Trust = &dynamic.EnvironmentTrust{} },
			[]string{"environment.trust is empty: no client may choose"},
		},
		"anyone with aliases": {
			trusting(anyone()),
			[]string{"environment.aliases removes nothing, since environment.trust.anyone trusts all clients"},
		},
		"the Internet": {
			trusting(dynamic.EnvironmentTrust{SourceRange: []string{"0.0.0.0/0"}}),
			[]string{"environment.trust.sourceRange lists half of the Internet or more; environment.trust.anyone trusts all clients"},
		},
		"default without stamp": {
			func(c *dynamic.EnvironmentMiddleware) { c.Default = "dev" },
			[]string{"environment.default is without effect, since environment.stamp is never"},
		},
	} {
		if diff := cmp.Diff(test.want, build(t, test.change).Warnings()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestExamples checks that the examples of the README do what it says.
func TestExamples(t *testing.T) {
	t.Parallel()
	examples := middlewaretest.Examples(t, "README.md")
	made := func(name string) *environment.Environment {
		return build(t, func(config *dynamic.EnvironmentMiddleware) { *config = *examples[name].Environment })
	}
	got := serve(t, made("developers"), middlewaretest.Request(t, "GET /", "Host: dev-proj1--shop.example.com",
		"X-Forwarded-For: 10.1.2.3"))
	if got.header.Get(header) != "dev.proj1" {
		t.Errorf("developers: %+v", got)
	}
	if got := serve(t, made("developers"), middlewaretest.Request(t, "GET /?env=a")); got.status != http.StatusForbidden {
		t.Errorf("developers: an outsider gets %+v", got)
	}
	got = serve(t, made("production"), middlewaretest.Request(t, "GET /", header+": a"))
	if got.header.Get(header) != "" {
		t.Errorf("production: %+v", got)
	}
	got = serve(t, made("laboratory"), middlewaretest.Request(t, "GET /", "X-Lab: a"))
	if got.header.Get("X-Lab") != "a" {
		t.Errorf("laboratory: %+v", got)
	}
}

// TestOptionsAreDescribed checks that every option stands in the table of the README.
func TestOptionsAreDescribed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var visit func(prefix string, of reflect.Type)
	visit = func(prefix string, of reflect.Type) {
		for field := range of.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !strings.Contains(string(text), prefix+name+"`") {
				t.Errorf("%s%s is not described", prefix, name)
			}
			if field.Type.Kind() == reflect.Pointer && field.Type.Elem().Kind() == reflect.Struct {
				visit(name+".", field.Type.Elem())
			}
		}
	}
	visit("", reflect.TypeFor[dynamic.EnvironmentMiddleware]())
}
