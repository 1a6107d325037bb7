package certificate_test

import (
	"bytes"
	"crypto/tls"
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
