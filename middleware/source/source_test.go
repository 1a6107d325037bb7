package source

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio/bucket"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func address(text string) Key { return Key{Addr: netip.MustParseAddr(text)} }

func TestKey(t *testing.T) {
	client := &dynamic.SourceCriterion{IPStrategy: &dynamic.IPStrategy{}}
	behind := &dynamic.SourceCriterion{IPStrategy: &dynamic.IPStrategy{Depth: 2}}
	excluding := &dynamic.SourceCriterion{IPStrategy: &dynamic.IPStrategy{ExcludedIPs: []string{"10.0.0.0/8"}}}
	bits := 64
	grouped := &dynamic.SourceCriterion{IPStrategy: &dynamic.IPStrategy{Depth: 1, IPv6Subnet: &bits}}
	header := &dynamic.SourceCriterion{RequestHeaderName: "x-api-key"}
	hostHeader := &dynamic.SourceCriterion{RequestHeaderName: "host"}
	host := &dynamic.SourceCriterion{RequestHost: true}
	long := strings.Repeat("k", 64)
	tests := []struct {
		name     string
		config   *dynamic.SourceCriterion
		fallback Criterion
		headers  []string
		want     Key
	}{
		{name: "nothing, by address", fallback: ClientAddress, want: address("192.0.2.1")},
		{name: "nothing, by host", fallback: RequestHost, want: Key{Text: "example.com"}},
		{name: "empty, by address", config: &dynamic.SourceCriterion{}, fallback: ClientAddress, want: address("192.0.2.1")},
		{name: "empty, by host", config: &dynamic.SourceCriterion{}, fallback: RequestHost, want: Key{Text: "example.com"}},
		{
			name: "client", config: client, fallback: RequestHost, headers: []string{"X-Forwarded-For: 10.0.0.1"},
			want: address("192.0.2.1"),
		},
		{
			name: "depth", config: behind, headers: []string{"X-Forwarded-For: 10.0.0.1", "X-Forwarded-For: 10.0.0.2"},
			want: address("10.0.0.1"),
		},
		{name: "depth, list too short", config: behind, headers: []string{"X-Forwarded-For: 10.0.0.1"}},
		{name: "depth, garbage", config: behind, headers: []string{"X-Forwarded-For: me, 10.0.0.1"}},
		{
			name: "excluded", config: excluding, headers: []string{"X-Forwarded-For: 203.0.113.1, 10.0.0.1"},
			want: address("203.0.113.1"),
		},
		{name: "subnet", config: grouped, headers: []string{"X-Forwarded-For: 2001:db8::1"}, want: address("2001:db8::")},
		{name: "header", config: header, headers: []string{"X-Api-Key: Secret"}, want: Key{Text: "Secret"}},
		{name: "first of two", config: header, headers: []string{"X-Api-Key: a", "X-API-KEY: b"}, want: Key{Text: "a"}},
		{name: "alias of the header", config: header, headers: []string{"X_Api_Key: a"}},
		{name: "header is missing", config: header},
		{name: "header is empty", config: header, headers: []string{"X-Api-Key:"}},
		{
			name: "longest header as it is", config: header, headers: []string{"X-Api-Key: " + long[1:]},
			want: Key{Text: long[1:]},
		},
		{name: "long header", config: header, headers: []string{"X-Api-Key: " + long}, want: Key{Text: digest(long)}},
		{name: "host", config: host, want: Key{Text: "example.com"}},
		{
			name: "host in another spelling", config: host, headers: []string{"Host: EXAMPLE.com.:8080"},
			want: Key{Text: "example.com"},
		},
		{name: "IPv6 host", config: host, headers: []string{"Host: [2001:DB8:0::1]:80"}, want: Key{Text: "2001:db8::1"}},
		{name: "host that no rule compares", config: host, headers: []string{"Host: ex%61mple.com"}},
		{
			name: "host as a header", config: hostHeader, headers: []string{"Host: Example.com:80"},
			want: Key{Text: "example.com"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			source, err := New("m.sourceCriterion", test.config, test.fallback)
			if err != nil {
				t.Fatal(err)
			}
			key, ok := source.Key(middlewaretest.Request(t, "GET /", test.headers...))
			if key != test.want || ok != (test.want != Key{}) {
				t.Errorf("the key is %+v, %v, want %+v", key, ok, test.want)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	subnet := 129
	for want, config := range map[string]dynamic.SourceCriterion{
		"m.sourceCriterion sets ipStrategy and requestHeaderName, but": {
			IPStrategy:        &dynamic.IPStrategy{},
			RequestHeaderName: "X",
		},
		"m.sourceCriterion sets ipStrategy and requestHost, but": {
			IPStrategy:  &dynamic.IPStrategy{},
			RequestHost: true,
		},
		"m.sourceCriterion sets requestHeaderName and requestHost, but": {
			RequestHeaderName: "X",
			RequestHost:       true,
		},
		"m.sourceCriterion sets ipStrategy and requestHeaderName and requestHost, but": {
			IPStrategy:        &dynamic.IPStrategy{},
			RequestHeaderName: "X", RequestHost: true,
		},
		`m.sourceCriterion.requestHeaderName "X Key" is not the name of a header`: {RequestHeaderName: "X Key"},
		`m.sourceCriterion.requestHeaderName "X:" is not`:                         {RequestHeaderName: "X:"},
		`m.sourceCriterion.ipStrategy.depth -1 is negative`:                       {IPStrategy: &dynamic.IPStrategy{Depth: -1}},
		`m.sourceCriterion.ipStrategy.ipv6Subnet 129 is not`:                      {IPStrategy: &dynamic.IPStrategy{IPv6Subnet: &subnet}},
		`m.sourceCriterion.ipStrategy.trustedIPs: "local" is neither`:             {IPStrategy: &dynamic.IPStrategy{TrustedIPs: []string{"local"}}},
		"m.sourceCriterion.ipStrategy.trustedIPs is set beside depth":             {IPStrategy: &dynamic.IPStrategy{Depth: 1, TrustedIPs: []string{"10.0.0.1"}}},
		`m.sourceCriterion.ipStrategy.excludedIPs: "local" is neither`:            {IPStrategy: &dynamic.IPStrategy{ExcludedIPs: []string{"local"}}},
	} {
		if _, err := New("m.sourceCriterion", &config, ClientAddress); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", config, err, want)
		}
	}
}

func TestKeysAsTextAndHash(t *testing.T) {
	seed := new(bucket.NewHashKey())
	keys := []Key{{}, address("192.0.2.1"), address("2001:db8::1"), {Text: "example.com"}, {Text: digest("long")}}
	texts := []string{"", "192.0.2.1", "2001:db8::1", "example.com", digest("long")}
	seen := map[uint64]Key{}
	for i, key := range keys {
		if key.String() != texts[i] {
			t.Errorf("%+v is %q, want %q", key, key, texts[i])
		}
		hash := key.Hash(seed)
		if other, taken := seen[hash]; taken {
			t.Errorf("%+v and %+v have one hash", key, other)
		}
		seen[hash] = key
		if again := (Key{Addr: key.Addr, Text: strings.Clone(key.Text)}).Hash(seed); again != hash {
			t.Errorf("%+v has the hashes %x and %x", key, hash, again)
		}
	}
	if other := keys[1].Hash(new(bucket.NewHashKey())); other == keys[1].Hash(seed) {
		t.Error("the hash does not depend on the seed")
	}
}

// TestDigestsAreNotForged proves that a short text can't be taken for the digest of a long one.
func TestDigestsAreNotForged(t *testing.T) {
	long := strings.Repeat("secret", 100)
	if forged := short(digest(long)); forged == short(long) {
		t.Errorf("%q stands for two texts", forged)
	}
	if got := short(long); len(got) != digestLength {
		t.Errorf("a long text became one of %d bytes", len(got))
	}
}

func FuzzKey(f *testing.F) {
	f.Add("example.com", "10.0.0.1, 10.0.0.2", "k")
	f.Add("[::1]:80", ",,", "")
	f.Add("EXAMPLE.com.:", "fe80::1%eth0", strings.Repeat("k", 100))
	f.Fuzz(func(t *testing.T, host, forwarded, value string) {
		r := middlewaretest.Request(t, "GET /")
		r.Host = host
		r.Header["X-Forwarded-For"], r.Header["X-Key"] = []string{forwarded}, []string{value}
		for _, config := range []*dynamic.SourceCriterion{
			{RequestHost: true}, {RequestHeaderName: "X-Key"}, {IPStrategy: &dynamic.IPStrategy{Depth: 1}},
		} {
			source, err := New("m.sourceCriterion", config, RequestHost)
			if err != nil {
				t.Fatal(err)
			}
			key, ok := source.Key(r)
			if ok != (key != Key{}) || len(key.Text) > digestLength || key.Addr.Zone() != "" || key.Addr.Is4In6() {
				t.Fatalf("the key is %+v, %v", key, ok)
			}
		}
	})
}

func BenchmarkKey(b *testing.B) {
	seed := new(bucket.NewHashKey())
	r := middlewaretest.Request(b, "GET /", "X-Api-Key: secret")
	for name, config := range map[string]*dynamic.SourceCriterion{
		"address": {IPStrategy: &dynamic.IPStrategy{}}, "host": {RequestHost: true},
		"header": {RequestHeaderName: "X-Api-Key"},
	} {
		source, err := New("m.sourceCriterion", config, ClientAddress)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				key, _ := source.Key(r)
				_ = key.Hash(seed)
			}
		})
	}
}
