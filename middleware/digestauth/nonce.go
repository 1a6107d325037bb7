package digestauth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// lifetime is the lifetime of a challenge.
const lifetime = 5 * time.Minute

const (
	idLength   = 16 // creation time and random bytes
	sealLength = 16
)

// nonce is a challenge made by this object.
type nonce struct {
	id     [idLength]byte
	issued time.Duration
}

// nonces makes and verifies challenges without storing them. Those of another object, such as the one before a change
// of the users, are invalid.
type nonces struct {
	key    []byte
	opaque string
	start  time.Time
}

func newNonces(start time.Time) *nonces {
	n := &nonces{key: make([]byte, sha256.Size), start: start}
	random(n.key)
	opaque := make([]byte, idLength)
	random(opaque)
	n.opaque = hex.EncodeToString(opaque)
	return n
}

// now returns the time since the start; it is not 0.
func (n *nonces) now() time.Duration { return time.Since(n.start) + 1 }

// mint returns a new challenge.
func (n *nonces) mint() string {
	var text [idLength + sealLength]byte
	binary.BigEndian.PutUint64(text[:8], uint64(n.now()))
	random(text[8:idLength])
	n.seal(text[:idLength], text[idLength:])
	return base64.RawURLEncoding.EncodeToString(text[:])
}

func (n *nonces) seal(id, to []byte) {
	mac := hmac.New(sha256.New, n.key)
	_, _ = mac.Write(id)
	copy(to, mac.Sum(nil))
}

// open verifies a challenge.
func (n *nonces) open(text string) (found nonce, ok bool) {
	var read, want [idLength + sealLength]byte
	if len(text) != base64.RawURLEncoding.EncodedLen(len(read)) {
		return nonce{}, false
	}
	if _, err := base64.RawURLEncoding.Strict().Decode(read[:], []byte(text)); err != nil {
		return nonce{}, false
	}
	copy(found.id[:], read[:])
	n.seal(found.id[:], want[idLength:])
	if !hmac.Equal(read[idLength:], want[idLength:]) {
		return nonce{}, false
	}
	found.issued = time.Duration(binary.BigEndian.Uint64(read[:8]))
	return found, true
}
