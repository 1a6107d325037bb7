package accesslog

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync/atomic"
)

const (
	// requestIDHeader is the header that carries the id of a request to clients and endpoints.
	requestIDHeader = "X-Request-Id"
	// maxRequestID is how long, in bytes, an id may be that a client has chosen.
	maxRequestID = 128
)

// ids makes ids of requests: the same 16 hexadecimal digits for one process, and a number that no other of its
// requests has.
type ids struct {
	process string
	last    atomic.Uint64
}

func newIDs() *ids {
	var process [8]byte
	_, _ = rand.Read(process[:]) // It never fails (documented since Go 1.24).
	return &ids{process: hex.EncodeToString(process[:])}
}

// next returns the number of a new id.
func (i *ids) next() uint64 { return i.last.Add(1) }

// appendID appends the id of that number: 33 bytes or fewer, of hexadecimal digits and one dash.
func (i *ids) appendID(b []byte, number uint64) []byte {
	b = append(b, i.process...)
	b = append(b, '-')
	return strconv.AppendUint(b, number, 16)
}

// sentID returns the id that a client has sent, or nothing when it is none that others should have to bear: too
// long, or of more than visible ASCII.
func sentID(header http.Header) string {
	values := header[requestIDHeader]
	if len(values) != 1 || len(values[0]) > maxRequestID {
		return ""
	}
	for i := range len(values[0]) {
		if c := values[0][i]; c <= ' ' || c >= 0x7f {
			return ""
		}
	}
	return values[0]
}
