package probe

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Head returns the request line and the header fields as HTTP/1.1 has them, without the empty line at the end. The
// error is for a probe with characters that would make it another request.
func (p Probe) Head() ([]byte, error) {
	var out bytes.Buffer
	line := func(parts ...string) error {
		for _, part := range parts {
			if strings.ContainsFunc(part, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				return fmt.Errorf("%q has a control character", part)
			}
			_, _ = out.WriteString(part) // It never fails.
		}
		_, _ = out.WriteString("\r\n") // It never fails.
		return nil
	}
	if strings.Contains(p.Target, " ") || p.Target == "" {
		return nil, fmt.Errorf("%q is no target of a request", p.Target)
	}
	if err := line(p.Method, " ", p.Target, " HTTP/1.1"); err != nil {
		return nil, err
	}
	if err := line("Host: ", p.Host); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(p.Header)) {
		if name == "" || strings.ContainsAny(name, " \t:") {
			return nil, fmt.Errorf("%q is no name of a header", name)
		}
		for _, value := range p.Header[name] {
			if err := line(name, ": ", value); err != nil {
				return nil, err
			}
		}
	}
	if p.Header.Get("User-Agent") == "" {
		_, _ = out.WriteString("User-Agent: sluice-migrate\r\n") // It never fails.
	}
	return out.Bytes(), nil
}
