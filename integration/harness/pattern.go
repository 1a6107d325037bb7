package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
)

// Pattern returns a reader of size bytes that do not repeat at a power of two, so that lost, duplicate or moved pieces
// are detected.
func Pattern(size int64) io.Reader { return io.LimitReader(&pattern{}, size) }

type pattern struct{ at int64 }

const period = 251 // a prime

func (r *pattern) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r.at % period)
		r.at++
	}
	return len(p), nil
}

// PatternHash returns the SHA-256 of Pattern(size) in hexadecimal.
func PatternHash(size int64) string {
	hash, _, _ := Hash(Pattern(size))
	return hash
}

// Hash reads to the end and returns the SHA-256 in hexadecimal and the number of bytes.
func Hash(r io.Reader) (string, int64, error) {
	hash := sha256.New()
	n, err := io.Copy(hash, r)
	return hex.EncodeToString(hash.Sum(nil)), n, err
}
