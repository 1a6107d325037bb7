package basicauth

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"strings"

	"github.com/sluiceproxy/sluice/middleware/users"
)

// maxCredentials is the maximum length of credentials in bytes of base64.
const maxCredentials = 4096

// scratch is memory for the credentials of one request and their digest. It is wiped before reuse.
type scratch struct {
	encoded        [maxCredentials]byte
	text           [maxCredentials / 4 * 3]byte
	received, used int    // bytes of encoded and of text
	user, password []byte // parts of text
	// mac is the keyed hash; nil before its first use.
	mac     hash.Hash
	hashed  bool
	lengths [8]byte
	sum     [sha256.Size]byte
}

func newScratch(key []byte) *scratch { return &scratch{mac: hmac.New(sha256.New, key)} }

// read parses the values of Authorization, and reports whether they are credentials by RFC 7617: a single line, the
// scheme Basic in any case, and a name and a password without control characters in base64. The password follows the
// first colon.
func (s *scratch) read(lines []string) bool {
	if len(lines) != 1 {
		return false
	}
	scheme, encoded, _ := strings.Cut(lines[0], " ")
	encoded = strings.Trim(encoded, " ")
	if !strings.EqualFold(scheme, "Basic") || len(encoded) > maxCredentials || strings.ContainsAny(encoded, "\r\n") {
		return false
	}
	s.received = copy(s.encoded[:], encoded)
	n, err := base64.StdEncoding.Decode(s.text[:], s.encoded[:s.received])
	s.used = n
	if err != nil {
		return false
	}
	text := s.text[:n]
	colon := bytes.IndexByte(text, ':')
	if colon < 0 || users.HasControl(text) {
		return false
	}
	s.user, s.password = text[:colon], text[colon+1:]
	return true
}

// digest returns a keyed hash of the credentials and the stored hash. Without the key, neither its input nor another
// password with the same digest can be found. It is called once; the result is valid until wipe.
func (s *scratch) digest(stored []byte) []byte {
	s.hashed = true
	binary.BigEndian.PutUint32(s.lengths[:4], uint32(len(s.user)))
	binary.BigEndian.PutUint32(s.lengths[4:], uint32(len(s.password)))
	_, _ = s.mac.Write(s.lengths[:])
	_, _ = s.mac.Write(s.text[:s.used])
	_, _ = s.mac.Write(stored)
	return s.mac.Sum(s.sum[:0])
}

// wipe overwrites the credentials.
func (s *scratch) wipe() {
	clear(s.encoded[:s.received])
	clear(s.text[:base64.StdEncoding.DecodedLen(s.received)])
	clear(s.sum[:])
	if s.hashed {
		s.mac.Reset()
		s.hashed = false
	}
	s.user, s.password, s.received, s.used = nil, nil, 0, 0
}
