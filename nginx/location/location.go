// Package location selects the location of a server for a request as nginx does.
package location

import (
	"strings"

	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/nginx/uri"
)

// Location is one location block.
type Location struct {
	// Name is the path or the prefix, as a decoded path; or the pattern, which is Regexp.
	Name string
	// Regexp is the compiled pattern of a regular expression.
	Regexp *pcre.Regexp
	// Redirects is set for a location that proxies (proxy_pass). If its name is a path or a prefix with a final slash,
	// requests for the name without that slash are redirected to it.
	Redirects bool
}

// Server has the locations of one server.
type Server struct {
	// Exact are the locations "= NAME", Prefix those "NAME". Of each, all names differ.
	Exact, Prefix []Location
	// Regex are the locations "~ NAME" and "~* NAME", in the order of the configuration.
	Regex []Location
}

// Choice is the location of a request.
type Choice struct {
	// Location is a location of the server. It is nil when there is none, which nginx answers with 404.
	Location *Location
	// Redirect is the path, percent-encoded, to which the request is redirected with 301 and its query. It is empty when
	// the request is not redirected.
	Redirect string
}

// Choose returns the location of a request for a path that [uri.Normalize] has returned: the exact one; else the first
// regular expression that matches, unless the longest prefix redirects; else the longest prefix. The redirection
// applies to what is not in the names of the server itself.
func (s *Server) Choose(path string) Choice {
	for i := range s.Exact {
		if s.Exact[i].Name == path {
			return Choice{Location: &s.Exact[i]}
		}
	}
	longest := s.longest(path)
	if longest == nil || longest.Name != path {
		if target := s.slashed(path); target != nil {
			return Choice{Location: target, Redirect: uri.Escape(target.Name)}
		}
	}
	for i := range s.Regex {
		if s.Regex[i].Regexp.Match(path) {
			return Choice{Location: &s.Regex[i]}
		}
	}
	return Choice{Location: longest}
}

// longest returns the location of the longest prefix, or nil.
func (s *Server) longest(path string) *Location {
	var best *Location
	for i := range s.Prefix {
		if one := &s.Prefix[i]; strings.HasPrefix(path, one.Name) && (best == nil || len(one.Name) > len(best.Name)) {
			best = one
		}
	}
	return best
}

// slashed returns the location whose name is the path and a slash, if one of them redirects. The exact one is that of
// the request, whichever redirects.
func (s *Server) slashed(path string) *Location {
	var found *Location
	redirects := false
	for _, all := range [][]Location{s.Prefix, s.Exact} {
		for i := range all {
			if rest, is := strings.CutPrefix(all[i].Name, path); is && rest == "/" {
				found, redirects = &all[i], redirects || all[i].Redirects
			}
		}
	}
	if !redirects {
		return nil
	}
	return found
}
