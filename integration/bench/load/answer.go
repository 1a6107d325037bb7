package main

import (
	"bytes"
	"fmt"
	"strconv"
)

// answer parses one response with a Content-Length in pieces, without keeping its body.
type answer struct {
	head [8 << 10]byte
	// have is the length of the head so far; left the missing part of the body after the head.
	have  int
	left  int64
	whole bool
}

// buffer returns where to read to.
func (a *answer) buffer() []byte {
	if a.whole {
		return a.head[:min(int64(len(a.head)), a.left)]
	}
	return a.head[a.have:]
}

// add processes n bytes of the buffer, and reports whether the response is complete. The next one begins then.
func (a *answer) add(n int) (complete bool, err error) {
	if a.whole {
		a.left -= int64(n)
	} else {
		from := max(0, a.have-3)
		a.have += n
		end := bytes.Index(a.head[from:a.have], []byte("\r\n\r\n"))
		if end < 0 {
			if a.have == len(a.head) {
				return false, fmt.Errorf("the response's head is longer than %d bytes", len(a.head))
			}
			return false, nil
		}
		end += from + 4
		length, err := contentLength(a.head[:end])
		if err != nil {
			return false, err
		}
		a.whole, a.left = true, length-int64(a.have-end)
	}
	if a.left < 0 {
		return false, fmt.Errorf("%d bytes follow the response", -a.left)
	}
	if a.left > 0 {
		return false, nil
	}
	a.whole, a.have = false, 0
	return true, nil
}

// contentLength returns the length of the body after a head with status 200.
func contentLength(head []byte) (int64, error) {
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 200 ")) {
		line, _, _ := bytes.Cut(head, []byte("\r\n"))
		return 0, fmt.Errorf("the response begins with %q", line)
	}
	rest := head
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		const name = "content-length:"
		if len(line) > len(name) && bytes.EqualFold(line[:len(name)], []byte(name)) {
			return strconv.ParseInt(string(bytes.TrimSpace(line[len(name):])), 10, 64)
		}
	}
	return 0, fmt.Errorf("the response has no length")
}
