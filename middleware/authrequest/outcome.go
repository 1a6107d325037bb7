package authrequest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/response"
)

const setCookie = "Set-Cookie"

// outcome is what is used of an answer. It may be kept and shared, and is not changed.
type outcome struct {
	status int
	// granted are the values of the headers of settings.granted; empty where the answer has none.
	granted []string
	// cookies and challenges are the lines of Set-Cookie and WWW-Authenticate.
	cookies, challenges []string
}

// outcome returns what is used of an answer. Values of several lines are one, as nginx's variables have them.
func (s *settings) outcome(answered *http.Response) *outcome {
	o := &outcome{
		status: answered.StatusCode, cookies: answered.Header[setCookie],
		challenges: answered.Header["Www-Authenticate"],
	}
	if len(s.granted) > 0 && o.passes() {
		o.granted = make([]string, len(s.granted))
		for i, name := range s.granted {
			o.granted[i] = strings.Join(answered.Header[name], ", ")
		}
	}
	return o
}

// clone returns a copy that shares no memory with the answer.
func (o *outcome) clone() *outcome {
	apart := func(lines []string) []string {
		var own []string
		for _, line := range lines {
			own = append(own, strings.Clone(line))
		}
		return own
	}
	return &outcome{
		status: o.status, granted: apart(o.granted), cookies: apart(o.cookies), challenges: apart(o.challenges),
	}
}

// passes reports whether the request may pass.
func (o *outcome) passes() bool { return o.status >= 200 && o.status < 300 }

// size is the memory of the outcome in bytes, roughly.
func (o *outcome) size() int {
	const base, each = 256, 16
	size := base
	for _, lines := range [...][]string{o.granted, o.cookies, o.challenges} {
		for _, line := range lines {
			size += each + len(line)
		}
	}
	return size
}

// grant gives a request the headers of the answer, and removes those of the client, from the head and from the
// trailers. No Connection header takes away what is set.
func (s *settings) grant(r *http.Request, o *outcome) {
	if len(s.granted) == 0 {
		return
	}
	forwarded.RemoveHeader(r.Header, s.granted...)
	values := slices.Clone(o.granted)
	for i, name := range s.granted {
		if values[i] != "" {
			r.Header[name] = values[i : i+1 : i+1]
		}
	}
	if forwarded.MayHaveTrailers(r) {
		forwarded.RemoveTrailers(r, s.granted...)
	}
}

// cookieWriter adds the cookies of an answer to a response.
type cookieWriter struct {
	response.Writer
	cookies []string
	always  bool
}

// serveWithCookies calls next, and adds the cookies to its response if the status is one of those that nginx's
// add_header has, or always.
func serveWithCookies(w http.ResponseWriter, r *http.Request, next http.Handler, cookies []string, always bool) {
	writer := &cookieWriter{cookies: cookies, always: always}
	writer.ResponseWriter, writer.Editor = w, writer
	next.ServeHTTP(writer, r)
	writer.Begin(http.StatusOK)
}

// EditHead adds the cookies.
func (w *cookieWriter) EditHead(header http.Header, status int) {
	switch status {
	case 200, 201, 204, 206, 301, 302, 303, 304, 307, 308:
	default:
		if !w.always {
			return
		}
	}
	addCookies(header, w.cookies)
}

func addCookies(header http.Header, cookies []string) {
	if len(cookies) > 0 {
		header[setCookie] = append(slices.Clip(header[setCookie]), cookies...)
	}
}
