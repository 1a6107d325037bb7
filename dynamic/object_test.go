package dynamic

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/document"
)

func TestDecodeObject(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       *Middleware
		problems   []string
	}{
		{
			"defaults, then values", "rateLimit: {average: 5, burst: 0, period: 2}",
			&Middleware{RateLimit: &RateLimit{Average: 5, Period: 2e9}}, nil,
		},
		{
			"a mistake keeps what is right", "rateLimit: {avrage: 5, burst: 7}",
			&Middleware{RateLimit: &RateLimit{Burst: 7, Period: 1e9}},
			[]string{`rateLimit.avrage: unknown option, did you mean "average"?`},
		},
		{
			"two kinds", "addPrefix: {prefix: /a}\nreplacePath: {path: /b}",
			&Middleware{AddPrefix: &AddPrefix{Prefix: "/a"}, ReplacePath: &ReplacePath{Path: "/b"}},
			[]string{"has 2 kinds, addPrefix and replacePath; exactly one is allowed"},
		},
		{"no kind", "{}", &Middleware{}, []string{"has no kind, and exactly one is needed"}},
		{"nothing", "", &Middleware{}, []string{"has no value"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			node, err := document.Parse("a.yaml", []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			got, problems := DecodeObject[Middleware](new(document.Decoder), node)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			var reasons []string
			for _, problem := range problems {
				reasons = append(reasons, problem.String())
			}
			if diff := cmp.Diff(test.problems, reasons); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeObjectSetsItsOwnDefaults(t *testing.T) {
	node := &document.Node{Kind: document.Map}
	options, problems := DecodeObject[TLSOptions](new(document.Decoder), node)
	if len(problems) > 0 || len(options.ALPNProtocols) != 3 {
		t.Errorf("options are %+v with %v, want the default protocols", options, problems)
	}
}
