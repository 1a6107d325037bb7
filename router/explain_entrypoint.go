package router

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// choose returns the entrypoint or listener by name, else by port, else the first default one that fits the scheme. Of
// listeners only those count that the host selects. guess says why, and is empty when the question names the
// entrypoint.
func (t *Table) choose(question Question, port, host string, secure bool) (found *entry, guess string, err error) {
	if name := question.EntryPoint; name != "" {
		if found, known := t.entries[name]; known {
			return found, "", nil
		}
		return nil, "", fmt.Errorf("entrypoint %q is none of %s", name,
			strings.Join(slices.Sorted(maps.Keys(t.entries)), ", "))
	}
	if port == "" {
		port = "80"
		if secure {
			port = "443"
		}
	}
	for _, candidate := range t.entries {
		if node := candidate.listener; node != nil && !t.sites.selects(node, host, secure) {
			continue
		}
		if found == nil || candidate.fits(port, secure, found) {
			found = candidate
		}
	}
	if found == nil {
		return nil, "", errors.New("there is no entrypoint")
	}
	return found, found.guess(question.URL, port, secure), nil
}

// fits reports whether e is a better guess than other for a port and scheme; names decide between equals.
func (e *entry) fits(port string, secure bool, other *entry) bool {
	score := func(x *entry) int {
		points := 0
		if x.listensOn(port) {
			points += 4
		}
		if x.index(secure).Len() > 0 || x.streams.needs != 0 {
			points += 2
		}
		if x.entrypoint.Default {
			points++
		}
		return points
	}
	mine, theirs := score(e), score(other)
	return mine > theirs || (mine == theirs && e.entrypoint.Name < other.entrypoint.Name)
}

func (e *entry) listensOn(port string) bool { return strconv.Itoa(int(e.entrypoint.Port)) == port }

// guess says why the entrypoint fits a URL that does not name one; port is that of the URL or of its scheme.
func (e *entry) guess(url, port string, secure bool) string {
	reason := "it listens on port " + port
	if e.listener != nil && e.listensOn(port) {
		reason = "its clients connect to port " + port + ", and no other listener of its address is nearer to the host"
	}
	if !e.listensOn(port) {
		reason = "no entrypoint listens on port " + port
		if e.index(secure).Len() > 0 {
			reason += "; it has routers for requests " + withTLS(secure)
		}
	}
	if !strings.Contains(url, "://") {
		reason = "the URL has no scheme and is taken as http://; " + reason
	}
	return reason
}
