package environment_test

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/environment"
)

// header is the one that tags are signed for.
const header = "X-Virtual-Env"

func key(t testing.TB, content string) environment.Key {
	t.Helper()
	made, err := environment.NewKey([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func signed(t testing.TB, by environment.Key, tag string, expiry time.Time) string {
	t.Helper()
	value, err := by.Sign(header, tag, expiry)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestValidTag(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]bool{
		"": false, "a": true, "dev.proj1.feature-1_x": true, "A9": true, "a-": false, ".a": false, "_": false, "a b": false,
		"a~b": false, "a,b": false, "ä": false, "a\n": false, "a@b": false, "a[b": false, "a`b": false, "a{b": false,
		strings.Repeat("a", 63): true, strings.Repeat("a", 64): false,
	} {
		if environment.ValidTag(tag) != want {
			t.Errorf("%q is valid: %v", tag, !want)
		}
	}
}

// FuzzValidTag compares with the expression of the Kubernetes documentation.
func FuzzValidTag(f *testing.F) {
	label := regexp.MustCompile(`\A(?:[A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]\z`)
	for _, seed := range []string{"", "a", "dev.proj1", "-a", "a\x00", "É"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, tag string) {
		if got := environment.ValidTag(tag); got != label.MatchString(tag) {
			t.Errorf("%q is valid: %v", tag, got)
		}
	})
}

// TestSignedText keeps the form of signed tags, which other programs can make.
func TestSignedText(t *testing.T) {
	t.Parallel()
	const want = "dev.proj1~1800000000~"
	value := signed(t, key(t, strings.Repeat("k", 32)), "dev.proj1", time.Unix(1800000000, 999))
	if !strings.HasPrefix(value, want) || value[len(want):] != "7vs5zdwCxi6t0jAMd6fvYFYKm3usDeh2R1-1ceTQO-w" {
		t.Errorf("the signed tag is %q", value)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	expiry := time.Unix(1800000000, 0)
	before := expiry.Add(-time.Nanosecond)
	mine, other := key(t, strings.Repeat("k", 32)), key(t, strings.Repeat("k", 33))
	good := signed(t, mine, "dev.proj1", expiry)
	parts := strings.Split(good, "~")
	flipped := []byte(good)
	flipped[len(flipped)-43] ^= 1
	for _, test := range []struct {
		name, header, value string
		key                 environment.Key
		now                 time.Time
		want                error
	}{
		{"valid", header, good, mine, before, nil},
		{"header in another case", "x-virtual-ENV", good, mine, before, nil},
		{"at its expiry", header, good, mine, expiry, environment.ErrExpired},
		{"long expired", header, good, mine, expiry.AddDate(50, 0, 0), environment.ErrExpired},
		{"another key", header, good, other, before, environment.ErrSignature},
		{"another header", "X-Env", good, mine, before, environment.ErrSignature},
		{"another tag", header, "dev.proj2~" + parts[1] + "~" + parts[2], mine, before, environment.ErrSignature},
		{"a later expiry", header, parts[0] + "~1900000000~" + parts[2], mine, before, environment.ErrSignature},
		{"a changed signature", header, string(flipped), mine, before, environment.ErrSignature},
		{"an expiry with a sign", header, parts[0] + "~+1800000000~" + parts[2], mine, before, environment.ErrMalformed},
		{"an expiry with a zero", header, parts[0] + "~01800000000~" + parts[2], mine, before, environment.ErrMalformed},
		{
			"an expiry beyond int64", header, parts[0] + "~9999999999999999999~" + parts[2], mine, before,
			environment.ErrMalformed,
		},
		{"no expiry", header, parts[0] + "~~" + parts[2], mine, before, environment.ErrMalformed},
		{"a negative expiry", header, parts[0] + "~-1~" + parts[2], mine, before, environment.ErrMalformed},
		{"no signature", header, parts[0] + "~" + parts[1] + "~", mine, before, environment.ErrMalformed},
		{"a short signature", header, good[:len(good)-1], mine, before, environment.ErrMalformed},
		{"a fourth part", header, good + "~", mine, before, environment.ErrMalformed},
		{"a line break in the signature", header, good[:len(good)-1] + "\n", mine, before, environment.ErrMalformed},
		{"padding", header, good + "=", mine, before, environment.ErrMalformed},
		{"no tag", header, "~" + parts[1] + "~" + parts[2], mine, before, environment.ErrMalformed},
		{"a plain tag", header, "dev.proj1", mine, before, environment.ErrMalformed},
		{"nothing", header, "", mine, before, environment.ErrMalformed},
	} {
		tag, err := test.key.Verify(test.header, test.value, test.now)
		if !errors.Is(err, test.want) || (err == nil) != (tag == "dev.proj1") || err != nil && tag != "" {
			t.Errorf("%s: %q, %v; want %v", test.name, tag, err, test.want)
		}
	}
}

func TestSignRefuses(t *testing.T) {
	t.Parallel()
	k := key(t, strings.Repeat("k", 32))
	for _, tag := range []string{"", "a~b", "a\nb", "-a", strings.Repeat("a", 64)} {
		if value, err := k.Sign(header, tag, time.Unix(1800000000, 0)); err == nil {
			t.Errorf("%q is signed: %q", tag, value)
		}
	}
	if value, err := k.Sign(header, "dev", time.Time{}); err == nil {
		t.Errorf("an expiry of zero is signed: %q", value)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	if _, err := environment.NewKey([]byte(strings.Repeat("k", 31) + "\n")); err == nil ||
		err.Error() != "has 31 bytes, and at least 32 are needed" {
		t.Errorf("a short key: %v", err)
	}
	content := []byte(strings.Repeat("k", 32) + "\r\n")
	made := key(t, string(content))
	kept, err := environment.NewKey(content)
	if err != nil {
		t.Fatal(err)
	}
	clear(content)
	expiry := time.Unix(1800000000, 0)
	want := signed(t, key(t, strings.Repeat("k", 32)), "dev", expiry)
	if signed(t, made, "dev", expiry) != want || signed(t, kept, "dev", expiry) != want {
		t.Error("a line break at the end, or the memory of the caller, is a part of the key")
	}
	if text := fmt.Sprintf("%v %+v %#v %s %x", made, made, made, made, made); strings.Contains(text, "kkk") ||
		!strings.Contains(text, "signing key") {
		t.Errorf("a key is printed as %q", text)
	}
}

// FuzzVerify demands that only what Sign returns is valid, byte for byte.
func FuzzVerify(f *testing.F) {
	k := key(f, strings.Repeat("k", 32))
	good := signed(f, k, "dev.proj1", time.Unix(1800000000, 0))
	for _, seed := range []string{good, "", "dev", "~~", "dev~1~", good + "~", strings.ToUpper(good)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		tag, err := k.Verify(header, value, time.Unix(0, 0))
		if err != nil {
			if tag != "" {
				t.Errorf("%q has the tag %q beside an error", value, tag)
			}
			return
		}
		var expiry int64
		if _, err := fmt.Sscanf(strings.Split(value, "~")[1], "%d", &expiry); err != nil {
			t.Fatal(err)
		}
		again, err := k.Sign(header, tag, time.Unix(expiry, 0))
		if err != nil || !bytes.Equal([]byte(again), []byte(value)) {
			t.Errorf("%q is valid, but Sign returns %q, %v", value, again, err)
		}
	})
}
