package main

import (
	"io"
	"net/http"
	"slices"
	"testing"
)

func TestArgumentsComeInAnyOrder(t *testing.T) {
	for name, args := range map[string][]string{
		"flags last":   {"GET", "http://x.test/", "-H", "A: 1", "-H", "A: 2", "--json", "--configFile=s.yaml", "--ping=true"},
		"flags first":  {"--json", "-H", "A: 1", "-H=A: 2", "--configFile=s.yaml", "--ping=true", "GET", "http://x.test/"},
		"flags amidst": {"GET", "--configFile=s.yaml", "-H", "A: 1", "http://x.test/", "--ping=true", "-H", "A: 2", "-json"},
	} {
		t.Run(name, func(t *testing.T) {
			headers := headerFlag{}
			flags := newFlags("explain", "", io.Discard)
			flags.Var(headers, "H", "")
			asJSON := flags.Bool("json", false, "")
			positional, static, err := parseMixed(flags, args)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(positional, []string{"GET", "http://x.test/"}) {
				t.Errorf("positional %q", positional)
			}
			if !slices.Equal(static, []string{"--configFile=s.yaml", "--ping=true"}) {
				t.Errorf("static options %q", static)
			}
			if got := http.Header(headers).Values("A"); !*asJSON || !slices.Equal(got, []string{"1", "2"}) {
				t.Errorf("json %v, headers %q", *asJSON, got)
			}
		})
	}
}

func TestConfigFileMayStandApart(t *testing.T) {
	_, static, err := parseMixed(newFlags("check", "", io.Discard), []string{"--configFile", "s.yaml"})
	if err != nil || !slices.Equal(static, []string{"--configFile", "s.yaml"}) {
		t.Errorf("static options %q, error %v", static, err)
	}
}

func TestABadHeaderIsNamed(t *testing.T) {
	if err := (headerFlag{}).Set("no colon"); err == nil {
		t.Error("a header without a colon is accepted")
	}
}
