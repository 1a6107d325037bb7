package wire

import "bytes"

// Limits bound a head and the trailer section of a body.
type Limits struct {
	// HeadBytes is the largest head, with its first line and its blank line; 0 is no limit.
	HeadBytes int
	// Fields is how many field lines a head may have; 0 is no limit.
	Fields int
}

// Scanner finds the end of a head while its bytes arrive. The zero value is ready for the first byte.
type Scanner struct {
	// line is where the current line begins, seen how far it has been searched, count how many lines are complete.
	line, seen, count int
}

// Reset makes the scanner ready for another head.
func (s *Scanner) Reset() { *s = Scanner{} }

// Fields returns how many field lines the head has, once it is complete.
func (s *Scanner) Fields() int { return max(s.count-1, 0) }

// Scan looks at all bytes of the head that have arrived so far and returns the length of the head with its blank line,
// or 0 while it is not complete. Empty lines before the first line are for the caller to skip ([SkipEmptyLines]). The
// errors concern lines and limits; Parse finds the others.
func (s *Scanner) Scan(b []byte, limits Limits) (int, error) {
	for {
		i := bytes.IndexByte(b[s.seen:], '\n')
		if i < 0 {
			s.seen = len(b)
			return 0, s.checkBytes(len(b), limits)
		}
		end := s.seen + i
		if end == s.line || b[end-1] != '\r' {
			return 0, ErrBareLF
		}
		if err := s.checkBytes(end, limits); err != nil {
			return 0, err
		}
		blank := end-1 == s.line
		s.line, s.seen = end+1, end+1
		if blank {
			return end + 1, nil
		}
		if s.count++; limits.Fields > 0 && s.count > limits.Fields+1 {
			return 0, ErrTooManyFields
		}
	}
}

// checkBytes refuses a head whose end is not within the limit.
func (s *Scanner) checkBytes(n int, limits Limits) error {
	switch {
	case limits.HeadBytes <= 0 || n < limits.HeadBytes:
		return nil
	case s.count == 0:
		return ErrLineTooLong
	}
	return ErrHeadTooLarge
}

// maxEmptyLines is how many empty lines before a request are ignored.
const maxEmptyLines = 2

// SkipEmptyLines returns the length of the empty lines at the beginning of b, two at most: a server ignores them before
// a request (RFC 9112, section 2.2). more is set if b ends within an empty line.
func SkipEmptyLines(b []byte) (n int, more bool) {
	for range maxEmptyLines {
		rest := b[n:]
		switch {
		case len(rest) >= 2 && rest[0] == '\r' && rest[1] == '\n':
			n += 2
		case len(rest) == 1 && rest[0] == '\r':
			return n, true
		default:
			return n, false
		}
	}
	return n, false
}
