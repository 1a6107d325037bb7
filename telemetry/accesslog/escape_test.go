package accesslog

import (
	"strings"
	"testing"
)

// TestPlainPart puts every byte at every place of texts of every length up to three words, before and behind
// others that are close to it.
func TestPlainPart(t *testing.T) {
	for length := range 25 {
		for place := range length {
			for c := range 256 {
				text := []byte(strings.Repeat("~", place) + string([]byte{byte(c)}) + strings.Repeat("!", length-place-1))
				want := length
				if !plain(byte(c)) {
					want = place
				}
				if got := plainPart(string(text)); got != want {
					t.Fatalf("%d bytes of %q are plain, want %d", got, text, want)
				}
			}
		}
	}
	if got := plainPart("abcdefg\"\\\x01\x7f\xff"); got != 7 {
		t.Errorf("%d bytes are plain, want 7", got)
	}
}
