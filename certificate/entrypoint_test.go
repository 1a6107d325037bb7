package certificate_test

import (
	"bytes"
	"crypto/tls"
	"slices"
	"testing"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
)

// The certificates of an entrypoint come before those of all, and are seen nowhere else.
func TestEntryPointsHaveCertificatesOfTheirOwn(t *testing.T) {
	shared, inner := issueFor(t, "a.test", "x.wild.test", "b.test"), issueFor(t, "a.test", "*.wild.test", "only.test")
	both, fallback := issueFor(t, "both.test"), issueFor(t, "default.test")
	set, problems := certificate.NewSet([]certificate.Entry{
		{Name: "shared", Certificate: shared.inline()},
		{Name: "inner", Certificate: inner.inline(), EntryPoints: []string{"inner"}},
		{Name: "both", Certificate: both.inline(), EntryPoints: []string{"inner", "other"}},
		{Name: "default", Certificate: fallback.inline(), Default: true},
	}, nil)
	if len(problems) != 0 {
		t.Fatalf("problems: %v", problems)
	}
	for _, test := range []struct {
		entryPoint, name string
		want             issued
		strict           bool // sniStrict accepts the name.
	}{
		{"web", "a.test", shared, true},
		{"inner", "a.test", inner, true},
		{"inner", "A.TEST.", inner, true},
		{"web", "x.wild.test", shared, true},
		{"inner", "x.wild.test", inner, true},
		{"inner", "b.test", shared, true},
		{"web", "only.test", fallback, false},
		{"other", "only.test", fallback, false},
		{"inner", "only.test", inner, true},
		{"web", "both.test", fallback, false},
		{"inner", "both.test", both, true},
		{"other", "both.test", both, true},
		{"inner", "", fallback, false},
		{"inner", "y.only.test", fallback, false},
	} {
		on := set.On(test.entryPoint)
		if got := on.Get(hello(test.name), false); !bytes.Equal(got.Leaf.Raw, test.want.leaf.Raw) {
			t.Errorf("%s on %s: the certificate of %v", test.name, test.entryPoint, got.Leaf.DNSNames)
		}
		if got := on.Get(hello(test.name), true) != nil; got != test.strict {
			t.Errorf("%s on %s, strict: found %v, want %v", test.name, test.entryPoint, got, test.strict)
		}
	}
	if n := len(set.Leaves()); n != 4 {
		t.Errorf("%d leaves, want 4", n)
	}
	client := hello("a.test")
	if n := testing.AllocsPerRun(100, func() { set.On("inner").Get(client, true) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// A listener presents its own certificates alone, whose first one is its default: others may be those of other tenants.
func TestListenersPresentNoOtherCertificates(t *testing.T) {
	shared, first, second := issueFor(t, "shop.test", "x.wild.test"), issueFor(t, "dummy.test"), issueFor(t, "*.wild.test")
	nameless, fallback := issueFor(t), issueFor(t, "default.test")
	set, problems := certificate.NewSet([]certificate.Entry{
		{Name: "shared", Certificate: shared.inline()},
		{Name: "default", Certificate: fallback.inline(), Default: true},
		{Name: "first", Certificate: first.inline(), EntryPoints: []string{"evil@gw"}},
		{Name: "second", Certificate: second.inline(), EntryPoints: []string{"evil@gw", "web"}},
		{Name: "nameless", Certificate: nameless.inline(), EntryPoints: []string{"plain@gw"}},
	}, nil)
	if len(problems) != 0 {
		t.Fatalf("problems: %v", problems)
	}
	for _, test := range []struct {
		on, name string
		want     issued
		strict   bool // sniStrict accepts the name.
	}{
		{"evil@gw", "shop.test", first, false},
		{"evil@gw", "", first, false},
		{"evil@gw", "dummy.test", first, true},
		{"evil@gw", "x.wild.test", second, true},
		{"evil@gw", "default.test", first, false},
		{"plain@gw", "shop.test", nameless, false},
		{"web", "shop.test", shared, true},
		{"web", "dummy.test", fallback, false},
	} {
		on := set.On(test.on)
		if got := on.Get(hello(test.name), false); !bytes.Equal(got.Leaf.Raw, test.want.leaf.Raw) {
			t.Errorf("%q on %s: the certificate of %v", test.name, test.on, got.Leaf.DNSNames)
		}
		if got := on.Get(hello(test.name), true) != nil; got != test.strict {
			t.Errorf("%q on %s, strict: found %v, want %v", test.name, test.on, got, test.strict)
		}
	}
	bare := set.On("bare@gw")
	if got := bare.Get(hello("shop.test"), false); got == nil || bare.Get(hello("shop.test"), true) != nil ||
		slices.ContainsFunc([]issued{shared, fallback, first}, func(i issued) bool {
			return bytes.Equal(got.Leaf.Raw, i.leaf.Raw)
		}) {
		t.Error("a listener without certificates presents another than the generated one")
	}
}

// A listener obtains no certificates by SNI.
func TestListenersObtainNoCertificates(t *testing.T) {
	set, _ := certificate.NewSet([]certificate.Entry{
		{Name: "own", Certificate: issueFor(t, "own.test").inline(), EntryPoints: []string{"evil@gw"}},
	}, nil)
	obtained := issueFor(t, "shop.test").pair(t)
	obtain := func(*tls.ClientHelloInfo) *tls.Certificate { return &obtained }
	options, err := certificate.NewOptions("default", nil, func() *certificate.Set { return set }, obtain, nil)
	if err != nil {
		t.Fatal(err)
	}
	for entryPoint, want := range map[string]string{"web": "shop.test", "evil@gw": "own.test"} {
		state, err := shake(t, options.On(entryPoint).Config(), blind("shop.test"))
		if err != nil || state.PeerCertificates[0].DNSNames[0] != want {
			t.Errorf("%s: %v, %v", entryPoint, state.PeerCertificates, err)
		}
	}
}

// A session of one entrypoint is not resumed on another one, where the client would see another certificate.
func TestSessionsStayOnTheirEntryPoint(t *testing.T) {
	certificates, tickets := newSet(t, "a.example.com"), certificate.NewTickets()
	plain := func(entryPoint string) *certificate.Options {
		return newOptions(t, &dynamic.TLSOptions{}, certificates, tickets).On(entryPoint)
	}
	strict := func(entryPoint string) *certificate.Options {
		return newOptions(t, &dynamic.TLSOptions{SNIStrict: true}, certificates, tickets).On(entryPoint)
	}
	if plain("inner").Fingerprint != plain("web").Fingerprint {
		t.Error("options accept other clients on another entrypoint")
	}
	for name, options := range map[string]func(string) *certificate.Options{"plain": plain, "strict": strict} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			if !resumes(t, options("inner"), options("inner"), "a.example.com", version) {
				t.Errorf("%s, %x: no session is resumed after a reload", name, version)
			}
			if resumes(t, options("inner"), options("web"), "a.example.com", version) {
				t.Errorf("%s, %x: a session is resumed on another entrypoint", name, version)
			}
		}
	}
}

func TestEntryPointsAreNoPartOfWhatOptionsAccept(t *testing.T) {
	certificates := newSet(t, "a.example.com")
	one := newOptions(t, &dynamic.TLSOptions{}, certificates, nil)
	other := newOptions(t, &dynamic.TLSOptions{EntryPoints: []string{"inner"}}, certificates, nil)
	if one.Fingerprint != other.Fingerprint {
		t.Error("the fingerprints differ")
	}
}
