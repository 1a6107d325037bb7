package main

import (
	"net/http"
	"slices"
	"testing"

	"github.com/spf13/pflag"
)

func testFlags() (*pflag.FlagSet, headerFlag, *bool) {
	headers := headerFlag{}
	flags := pflag.NewFlagSet("explain", pflag.ContinueOnError)
	flags.VarP(headers, "header", "H", "")
	flags.StringP(configFile, "c", "", "")
	flags.String(apiFlag, "", "")
	return flags, headers, flags.Bool("json", false, "")
}

func TestArgumentsComeInAnyOrder(t *testing.T) {
	for name, args := range map[string][]string{
		"flags last":   {"GET", "http://x.test/", "-H", "A: 1", "-H", "A: 2", "--json", "--configFile=s.yaml", "--ping=true"},
		"flags first":  {"--json", "-H", "A: 1", "-H=A: 2", "--configFile=s.yaml", "--ping=true", "GET", "http://x.test/"},
		"flags amidst": {"GET", "--configFile=s.yaml", "-H", "A: 1", "http://x.test/", "--ping=true", "-H", "A: 2", "-json"},
		"long and short": {
			"GET", "-c", "s.yaml", "--header", "A: 1", "--header=A: 2", "http://x.test/", "--ping=true",
			"--json",
		},
	} {
		t.Run(name, func(t *testing.T) {
			flags, headers, asJSON := testFlags()
			given, err := parseMixed(flags, args)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(given.positional, []string{"GET", "http://x.test/"}) {
				t.Errorf("positional %q", given.positional)
			}
			if !slices.Equal(given.options, []string{"--configFile=s.yaml", "--ping=true"}) {
				t.Errorf("static options %q", given.options)
			}
			if got := http.Header(headers).Values("A"); !*asJSON || !slices.Equal(got, []string{"1", "2"}) {
				t.Errorf("json %v, headers %q", *asJSON, got)
			}
		})
	}
}

// --api is a section of the static configuration and names the API of a running Sluice.
func TestTheAPIIsAnOptionOrAURL(t *testing.T) {
	tests := []struct {
		args    []string
		url     string
		options []string
	}{
		{[]string{"--api", "http://a.test"}, "http://a.test", nil},
		{[]string{"--api=a.test:8080"}, "a.test:8080", nil},
		{[]string{"--api"}, "", []string{"--api"}},
		{[]string{"--api", "--ping"}, "", []string{"--api", "--ping"}},
		{[]string{"--api=true", "--api.insecure=true"}, "", []string{"--api=true", "--api.insecure=true"}},
	}
	for _, test := range tests {
		flags, _, _ := testFlags()
		given, err := parseMixed(flags, test.args)
		if url := flags.Lookup(apiFlag).Value.String(); err != nil || url != test.url ||
			!slices.Equal(given.options, test.options) {
			t.Errorf("%q: URL %q, options %q, %v", test.args, url, given.options, err)
		}
	}
}

func TestABadHeaderIsNamed(t *testing.T) {
	if err := (headerFlag{}).Set("no colon"); err == nil {
		t.Error("a header without a colon is accepted")
	}
}
