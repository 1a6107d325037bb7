package compress

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func TestAcceptEncoding(t *testing.T) {
	all := []string{"gzip", "br", "zstd"}
	tests := []struct {
		accept    []string
		encodings []string
		fallback  string
		want      string
	}{
		// As documented by Traefik.
		{nil, all, "", ""},
		{nil, all, "zstd", "zstd"},
		{[]string{""}, all, "", ""},
		{[]string{""}, all, "zstd", ""},
		{[]string{"gzip, br"}, all, "", "gzip"},
		{[]string{"zstd, br, gzip"}, all, "", "gzip"},
		{[]string{"zstd, br, gzip"}, all, "br", "gzip"},
		{[]string{"zstd, gzip, br"}, []string{"br", "gzip"}, "", "br"},
		{[]string{"compress, gzip"}, all, "", "gzip"},
		{[]string{"compress, rar"}, all, "", ""},
		{[]string{"compress, rar"}, all, "gzip", ""},
		{[]string{"*"}, all, "", "gzip"},
		{[]string{"*"}, all, "br", "br"},
		{[]string{"br, *"}, all, "", "gzip"},
		{[]string{"br, *"}, all, "zstd", "zstd"},
		{[]string{"br;q=0.8, gzip;q=1.0, *;q=0.1"}, all, "", "gzip"},
		{[]string{"br;q=0.8, gzip;q=1.0, *;q=0.1"}, []string{"zstd", "br"}, "", "br"},
		{[]string{"gzip, br;q=0.9"}, []string{"br", "gzip"}, "", "gzip"},
		{[]string{"br;q=0.8, identity;q=1.0"}, all, "", ""},
		{[]string{"br;q=0.8, identity;q=0.8"}, all, "", "br"},
		{[]string{"compress;q=1.0, gzip;q=0.5"}, all, "", "gzip"},
		{[]string{"gzip, *;q=0"}, all, "", "gzip"},
		{[]string{"compress;q=1.0, identity;q=0"}, all, "", ""},
		{[]string{"compress;q=1.0, *;q=0"}, all, "", ""},
		{[]string{"br;q=0, gzip;q=0, zstd;q=0"}, all, "br", ""},
		{[]string{"br;q=1.0, zstd;q=1.0, gzip;q=1.0"}, []string{"zstd", "br", "gzip"}, "", "zstd"},
		{[]string{"br", "zstd"}, []string{"zstd", "br"}, "", "zstd"},
		// Where Traefik sends what the client has refused, or likes less.
		{[]string{"gzip;q=0, *"}, all, "", "br"},
		{[]string{"gzip;q=0, *"}, all, "gzip", "br"},
		{[]string{"gzip;q=0, *"}, []string{"gzip"}, "gzip", ""},
		{[]string{"gzip;q=0.5, *"}, all, "", "br"},
		{[]string{"gzip;q=0.5, *"}, []string{"gzip"}, "", ""},
		{[]string{"br;q=0.2, *;q=0.5"}, []string{"br"}, "br", ""},
		{[]string{"gzip, gzip;q=0"}, all, "", ""},
		{[]string{"gzip;q=0, gzip"}, all, "", ""},
		// Spelling.
		{[]string{"GZip"}, all, "", "gzip"},
		{[]string{"x-gzip"}, all, "", "gzip"},
		{[]string{"\tbr\t;\tQ=0.5 , zstd ; q = 0.4"}, all, "", "br"},
		{[]string{"gzip;level=9;q=0.1, br;q=0.2"}, all, "", "br"},
		{[]string{"gzip;q=", "br;q=x", "zstd;q=2"}, all, "", ""},
		{[]string{"gzip;q=1.001, br;q=-1, zstd;q=1e0"}, all, "", ""},
		{[]string{"gzip;q=.5, br;q=0.50001"}, all, "", "br"},
		{[]string{"gzip;q=0.00000001"}, all, "", "gzip"},
		{[]string{"gzip;q=0.000000000"}, all, "", ""},
		{[]string{"gzip;q=1.000"}, all, "", "gzip"},
		{[]string{",,;q=1,;,gzip,"}, all, "", "gzip"},
	}
	for _, test := range tests {
		c := made(t, func(config *dynamic.Compress) {
			config.Encodings, config.DefaultEncoding = test.encodings, test.fallback
		})
		r := middlewaretest.Request(t, "GET /")
		if test.accept != nil {
			r.Header["Accept-Encoding"] = test.accept
		}
		got := ""
		if chosen := c.choose(r); chosen != nil {
			got = chosen.name
		}
		if got != test.want {
			t.Errorf("%q with %v, default %q: %q, want %q", test.accept, test.encodings, test.fallback, got, test.want)
		}
	}
}

// FuzzAcceptEncoding holds what the parser chooses against a reading of the header that is made for nothing but
// refusals.
func FuzzAcceptEncoding(f *testing.F) {
	for _, seed := range []string{
		"", "gzip", "gzip, deflate, br, zstd", "gzip;q=0, *", "*;q=0, br", "identity, gzip;q=0.5", "br;q=0.0000",
		"x-gzip;q=0", "gzip;;q=0", "GZIP ; Q=0", "zstd;q=1;q=0", "*;q=0\x00",
	} {
		f.Add(seed, "", uint8(0))
		f.Add(seed, "br;q=0", uint8(3))
	}
	f.Fuzz(func(t *testing.T, one, other string, setup uint8) {
		names := []string{"gzip", "br", "zstd"}
		rand.New(rand.NewPCG(uint64(setup), 0)).Shuffle(len(names), func(i, j int) {
			names[i], names[j] = names[j], names[i]
		})
		fallback := ""
		if setup&1 != 0 {
			fallback = names[0]
		}
		c := made(t, func(config *dynamic.Compress) {
			config.Encodings, config.DefaultEncoding = names[:1+setup%3], fallback
		})
		chosen := c.accepted([]string{one, other})
		if chosen == nil {
			return
		}
		if !slices.Contains(c.codings, chosen) {
			t.Fatalf("%q is none of %v", chosen.name, c.names())
		}
		if !mentioned(one+","+other, chosen.name) {
			t.Errorf("%q, %q: %s, which the client has not mentioned", one, other, chosen.name)
		}
		if refused(one+","+other, chosen.name) {
			t.Errorf("%q, %q: %s, which the client has refused", one, other, chosen.name)
		}
	})
}

// items calls see with the name and the weight of each coding of a list, as written.
func items(list string, see func(name, weight string)) {
	for _, item := range strings.Split(list, ",") {
		parts := strings.Split(item, ";")
		weight := "1"
		for _, part := range parts[1:] {
			if name, value, _ := strings.Cut(part, "="); strings.EqualFold(strings.Trim(name, " \t"), "q") {
				weight = strings.Trim(value, " \t")
				break
			}
		}
		name := strings.ToLower(strings.Trim(parts[0], " \t"))
		if name == "x-gzip" {
			name = "gzip"
		}
		see(name, weight)
	}
}

func mentioned(list, coding string) (found bool) {
	items(list, func(name, _ string) { found = found || name == coding || name == "*" })
	return found
}

func refused(list, coding string) bool {
	listed, own, others := false, false, false
	items(list, func(name, weight string) {
		value, err := strconv.ParseFloat(weight, 64)
		zero := err != nil || value <= 0
		switch name {
		case coding:
			listed, own = true, own || zero
		case "*":
			others = others || zero
		}
	})
	return own || !listed && others
}
