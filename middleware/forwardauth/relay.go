package forwardauth

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/middleware/authorize"
)

// wholeBytes is how much of an answer without a limit is read before the client gets its beginning.
const wholeBytes = 1 << 20

// relay hands the client an answer that refuses it. It calls release as soon as the answer has been read, so that a
// client that reads slowly holds no slot.
func (f *ForwardAuth) relay(
	ctx context.Context, w http.ResponseWriter, r *http.Request, answered *http.Response, release func(),
) {
	body, whole, err := f.settings.begin(answered)
	if err != nil {
		f.unread(ctx, w, r, err)
		return
	}
	if whole {
		_ = answered.Body.Close() // It has been read.
		release()
	}
	answer.Note(r, f.name, "the authentication server answered with "+strconv.Itoa(answered.StatusCode))
	if answered.StatusCode == http.StatusUnauthorized && f.settings.signIn != "" {
		f.counts.refused.Add(1)
		http.Redirect(w, r, f.settings.signIn, http.StatusFound)
		return
	}
	header := answered.Header
	forwarded.RemoveHopByHop(header, nil)
	delete(header, "Connection")
	delete(header, "Upgrade")
	location, err := f.settings.location(header.Get("Location"))
	if err != nil {
		f.fail(ctx, w, r, err)
		return
	}
	if location != "" {
		header["Location"] = []string{location}
	}
	f.counts.refused.Add(1)
	if whole && answered.Request.Method != http.MethodHead && answered.StatusCode != http.StatusNotModified {
		header["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	for name, values := range header {
		w.Header()[name] = append(w.Header()[name], values...)
	}
	w.WriteHeader(answered.StatusCode)
	if r.Method == http.MethodHead || answered.StatusCode == http.StatusNotModified {
		return
	}
	// The server reports it when the client has left.
	if _, err := w.Write(body); err != nil || whole {
		return
	}
	if _, err := io.Copy(w, answered.Body); err != nil {
		panic(http.ErrAbortHandler) // The client must not take it for the whole.
	}
}

// begin reads the body of an answer: all of it where a limit is set, and what comes first otherwise.
func (s *settings) begin(answered *http.Response) (body []byte, whole bool, err error) {
	if s.maxAnswer >= 0 {
		var read bytes.Buffer
		err = authorize.CopyLimited(&read, answered.Body, s.maxAnswer)
		return read.Bytes(), true, err
	}
	body, err = io.ReadAll(io.LimitReader(answered.Body, wholeBytes+1))
	return body, len(body) <= wholeBytes, err
}

// location returns the target of a redirect: as the server says, or made absolute by the URL of the authentication
// request.
func (s *settings) location(given string) (string, error) {
	parsed, err := url.Parse(given)
	switch {
	case err != nil:
		return "", errLocation
	case given == "" || s.keepLocation:
		return given, nil
	}
	return s.address.url.ResolveReference(parsed).String(), nil
}
