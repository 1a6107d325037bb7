package h3

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/quic-go/quic-go"
)

const (
	// streamWindow and connWindow are how many bytes of bodies a client may send at first before a handler has read
	// them, on one stream and on all of a connection. maxStreamWindow and maxConnWindow are what quic-go lets them grow
	// to for clients that fill them: 2 MiB make 160 Mbit/s at a round trip of 100 ms.
	streamWindow, connWindow       = 64 << 10, 128 << 10
	maxStreamWindow, maxConnWindow = 2 << 20, 4 << 20
	// totalWindow is what all connections of the process may have beyond connWindow.
	totalWindow = 128 << 20
	// idBytes is the length of connection identifiers.
	idBytes = 8
	// authBytes is the length of idKey, and of a block that it encrypts.
	authBytes = aes.BlockSize
)

// StateVersion is the version of what Process.Export returns.
const StateVersion = 1

// Process is what the HTTP/3 servers of one process have in common: the keys of stateless resets, address tokens and
// connection identifiers, the generation in these, and the budget of receive windows. The keys are random, or those of
// a predecessor. Tokens of a process with other keys are ignored, and its clients get a reset that they do not
// recognise, so that they wait for their time-out.
type Process struct {
	generation byte
	resetKey   quic.StatelessResetKey
	tokenKey   quic.TokenGeneratorKey
	idKey      [authBytes]byte
	// auth is the cipher of idKey.
	auth cipher.Block
	// windows is the sum of what receive windows have grown.
	windows atomic.Int64
}

// NewProcess draws the keys.
func NewProcess() *Process {
	p := new(Process)
	var generation [1]byte
	// Read never fails.
	_, _ = rand.Read(generation[:])
	_, _ = rand.Read(p.resetKey[:])
	_, _ = rand.Read(p.tokenKey[:])
	_, _ = rand.Read(p.idKey[:])
	p.generation = generation[0]
	p.setAuth()
	return p
}

// processState is what a successor gets. It is secret.
type processState struct {
	Generation byte   `json:"generation"`
	ResetKey   []byte `json:"resetKey"`
	TokenKey   []byte `json:"tokenKey"`
	IDKey      []byte `json:"idKey"`
}

// Export returns the generation and the keys for NewSuccessor of another process. They are secret.
func (p *Process) Export() ([]byte, error) {
	return json.Marshal(processState{p.generation, p.resetKey[:], p.tokenKey[:], p.idKey[:]})
}

// NewSuccessor returns a Process with the keys of another one, as its Export has returned them, and the next
// generation. The error does not contain them.
func NewSuccessor(state []byte) (*Process, error) {
	var s processState
	p := new(Process)
	if json.Unmarshal(state, &s) != nil {
		return nil, errors.New("the keys of HTTP/3 are malformed")
	}
	for _, key := range []struct {
		to   []byte
		from []byte
	}{{p.resetKey[:], s.ResetKey}, {p.tokenKey[:], s.TokenKey}, {p.idKey[:], s.IDKey}} {
		if len(key.from) != len(key.to) {
			return nil, fmt.Errorf("a key of HTTP/3 has %d bytes, not %d", len(key.from), len(key.to))
		}
		copy(key.to, key.from)
	}
	p.generation = s.Generation + 1
	p.setAuth()
	return p, nil
}

// String returns the generation without the keys, which are secret.
func (p *Process) String() string { return fmt.Sprintf("generation %d", p.generation) }

// GoString is String.
func (p *Process) GoString() string { return p.String() }

// setAuth sets the cipher of idKey.
func (p *Process) setAuth() {
	block, err := aes.NewCipher(p.idKey[:])
	if err != nil {
		panic(err) // The length of the key is one of AES.
	}
	p.auth = block
}

// grow reserves bytes of receive windows, and reports whether the budget has room for them.
func (p *Process) grow(bytes int64) bool {
	if p.windows.Add(bytes) <= totalWindow {
		return true
	}
	p.windows.Add(-bytes)
	return false
}

// authenticate returns the second byte of an identifier, which authenticates the others. block is a buffer.
func (p *Process) authenticate(block *[authBytes]byte, id []byte) byte {
	*block = [authBytes]byte{}
	copy(block[:], id)
	block[1] = 0
	p.auth.Encrypt(block[:], block[:])
	return block[0]
}

// identifiers generates connection identifiers.
type identifiers struct{ process *Process }

// GenerateConnectionID returns a new identifier.
func (i identifiers) GenerateConnectionID() (quic.ConnectionID, error) {
	id := [idBytes]byte{i.process.generation}
	_, err := rand.Read(id[2:])
	id[1] = i.process.authenticate(new([authBytes]byte), id[:])
	return quic.ConnectionIDFromBytes(id[:]), err
}

// ConnectionIDLen returns the length of identifiers.
func (identifiers) ConnectionIDLen() int { return idBytes }
