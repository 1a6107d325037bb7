package client

// recordHead is the length of what a TLS record begins with: type, version and length (RFC 8446 section 5.1).
const recordHead = 5

// records follows the records in what TLS reads, to detect boundaries between them.
type records struct {
	head [recordHead]byte
	// have is how much of the head of a record has been read, left how much of its content is to come.
	have, left int
}

// follow looks at the next bytes that were read.
func (r *records) follow(b []byte) {
	for len(b) > 0 {
		if r.left > 0 {
			n := min(r.left, len(b))
			r.left -= n
			b = b[n:]
			continue
		}
		n := copy(r.head[r.have:], b)
		r.have += n
		b = b[n:]
		if r.have == recordHead {
			r.have, r.left = 0, int(r.head[3])<<8|int(r.head[4])
		}
	}
}

// between reports whether no part of a record has been read that is not complete.
func (r *records) between() bool { return r.have == 0 && r.left == 0 }
