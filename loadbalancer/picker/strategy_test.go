package picker

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
)

func percent(n int) *int { return &n }

func TestNewStrategy(t *testing.T) {
	for _, test := range []struct {
		name string
		hash *dynamic.HashStrategy
		want Strategy
	}{
		{"", nil, Strategy{Name: "wrr"}},
		{"p2c", nil, Strategy{Name: "p2c"}},
		{"peakewma", nil, Strategy{Name: "peakewma"}},
		{"hash", nil, Strategy{"hash", Hash{Source: "clientIP", BoundedLoad: 125}}},
		{"hash", &dynamic.HashStrategy{}, Strategy{"hash", Hash{Source: "clientIP", BoundedLoad: 125}}},
		{
			"hash", &dynamic.HashStrategy{Source: "header", Name: "x-user", BoundedLoad: percent(0)},
			Strategy{"hash", Hash{Source: "header", Name: "X-User"}},
		},
		{
			"hash", &dynamic.HashStrategy{Source: "cookie", Name: "Sid", BoundedLoad: percent(200)},
			Strategy{"hash", Hash{Source: "cookie", Name: "Sid", BoundedLoad: 200}},
		},
		{
			"hash", &dynamic.HashStrategy{Source: "query", Name: "a b"},
			Strategy{"hash", Hash{Source: "query", Name: "a b", BoundedLoad: 125}},
		},
		{"hash", &dynamic.HashStrategy{Source: "path"}, Strategy{"hash", Hash{Source: "path", BoundedLoad: 125}}},
		{
			"hash", &dynamic.HashStrategy{Source: "expression", Expression: "$host$request_uri", SubsetSize: 3},
			Strategy{"hash", Hash{Source: "expression", Expression: "$host$request_uri", SubsetSize: 3, BoundedLoad: 125}},
		},
	} {
		got, err := NewStrategy(test.name, test.hash)
		if err != nil {
			t.Errorf("%q: %v", test.name, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestStrategiesThatMakeNoSense(t *testing.T) {
	for _, test := range []struct {
		name string
		hash *dynamic.HashStrategy
		want string
	}{
		{"peakewm", nil, `the strategy "peakewm" is unknown; did you mean "peakewma"?`},
		{"rr", nil, `the strategy "rr" is unknown; did you mean "wrr"?`},
		{"somethingelse", nil, "none of wrr, p2c, hrw, leasttime, peakewma, leastrequest, hash"},
		{"p2c", &dynamic.HashStrategy{}, "the strategy is p2c"},
		{
			"hash", &dynamic.HashStrategy{Source: "clientip"},
			`strategy hash: the source "clientip" is unknown; did you mean "clientIP"?`,
		},
		{"hash", &dynamic.HashStrategy{Source: "header"}, "the source header needs a name"},
		{"hash", &dynamic.HashStrategy{Source: "query"}, "the source query needs a name"},
		{"hash", &dynamic.HashStrategy{Source: "cookie", Name: "a=b"}, `"a=b" can't be the name of a cookie`},
		{"hash", &dynamic.HashStrategy{Source: "path", Name: "x"}, "the source path has no name"},
		{"hash", &dynamic.HashStrategy{Source: "expression"}, "need one another"},
		{"hash", &dynamic.HashStrategy{Source: "path", Expression: "$uri"}, "need one another"},
		{
			"hash", &dynamic.HashStrategy{Source: "expression", Expression: "$uri", Name: "x"},
			"the source expression has no name",
		},
		{
			"hash", &dynamic.HashStrategy{Source: "expression", Expression: "$nothing"},
			"expression: the variable $nothing is unknown",
		},
		{"hash", &dynamic.HashStrategy{Source: "expression", Expression: "$1"}, "no pattern that $1 could be a group of"},
		{"hash", &dynamic.HashStrategy{SubsetSize: -1}, "a subset size of -1 is negative"},
		{"hash", &dynamic.HashStrategy{BoundedLoad: percent(99)}, "99 %"},
		{"hash", &dynamic.HashStrategy{BoundedLoad: percent(-1)}, "-1 %"},
	} {
		if _, err := NewStrategy(test.name, test.hash); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v, want %s", test.name, err, test.want)
		}
	}
}

func TestWhatStrategiesNeed(t *testing.T) {
	for _, test := range []struct {
		strategy      Strategy
		latency, pool bool
	}{
		{Strategy{}, false, false},
		{named("wrr"), false, false},
		{named("p2c"), false, false},
		{named("hrw"), false, false},
		{named("leastrequest"), false, false},
		{named("leasttime"), true, false},
		{named("peakewma"), true, false},
		{named("hash"), false, true},
		{unbounded(), false, false},
	} {
		if test.strategy.UsesLatency() != test.latency || test.strategy.CountsPool() != test.pool {
			t.Errorf("%+v: latency %v, pool %v", test.strategy, test.strategy.UsesLatency(), test.strategy.CountsPool())
		}
	}
}
