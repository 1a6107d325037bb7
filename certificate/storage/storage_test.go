package storage_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestKeysAreTextAndBack(t *testing.T) {
	texts := []string{"", "a", "a:b", "*/?%", "ü\xff\x00 ", strings.Repeat("x ", 5000)}
	seen := map[string]bool{}
	for _, resolver := range texts {
		for _, id := range texts {
			key := storage.Key{Kind: storage.KindDemand, Resolver: resolver, ID: id}
			text := storage.EncodeKey(key)
			if strings.ContainsAny(text, " */?\x00") || seen[text] {
				t.Errorf("%q: %q", key, text)
			}
			seen[text] = true
			if back, err := storage.DecodeKey(text); err != nil || back != key {
				t.Errorf("%q: %q became %q, %v", key, text, back, err)
			}
		}
	}
	for _, text := range []string{"", "a", "a:b", ":a:b", "a:b:c:d", "a:%:b", "a:b:%zz"} {
		if key, err := storage.DecodeKey(text); err == nil {
			t.Errorf("%q is the key %q", text, key)
		}
	}
}

func TestDiff(t *testing.T) {
	a, b := storage.Key{Kind: "order", ID: "a"}, storage.Key{Kind: "order", ID: "b"}
	c := storage.Key{Kind: "order", ID: "c"}
	before := map[storage.Key][]byte{a: []byte("1"), b: []byte("2"), c: []byte("3")}
	after := map[storage.Key][]byte{b: []byte("2"), c: nil, {Kind: "account"}: []byte("4")}
	want := []storage.Change{{Key: storage.Key{Kind: "account"}, Value: []byte("4")}, {Key: a}, {Key: c, Value: []byte{}}}
	if diff := cmp.Diff(want, storage.Diff(before, after)); diff != "" {
		t.Error(diff)
	}
	if changes := storage.Diff(before, before); len(changes) != 0 {
		t.Errorf("%v", changes)
	}
}

func TestIDOfNames(t *testing.T) {
	id := storage.CertificateID([]string{"b.example", "a.example", "b.example"})
	if id != storage.CertificateID([]string{"a.example", "b.example"}) || id == storage.CertificateID([]string{"a.example"}) {
		t.Errorf("the ID depends on the order of names, or not on the names: %s", id)
	}
}
