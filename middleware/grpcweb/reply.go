package grpcweb

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/middleware/response"
)

// reply is the writer of the answer to a call. An answer that is not of gRPC, such as that of a proxy without an
// endpoint, passes as it is, but for the fields of CORS: a client goes by its status.
type reply struct {
	response.Writer
	// origin is that of the client, if it is allowed.
	origin string
	// text says that the client wants base64.
	text bool
	// native says that the answer is one of gRPC, ended that its head has the status of the call, which has no other
	// trailers then.
	native, ended bool
	// announced are the names of the trailers that the head has announced.
	announced []string
	encoder   encoder
}

// EditHead makes a head of gRPC-Web of one of gRPC.
func (a *reply) EditHead(header http.Header, status int) {
	if kinds := header["Content-Type"]; status >= http.StatusOK && len(kinds) == 1 {
		var rest string
		if rest, a.native = parseNative(kinds[0]); a.native {
			a.head(header, rest)
		}
	}
	header["Vary"] = append(slices.Clip(header["Vary"]), "Origin")
	if a.origin == "" {
		return
	}
	header[allowOrigin], header[allowCredentials] = []string{a.origin}, []string{"true"}
	header[exposeHeaders] = []string{strings.Join(exposed(header), ", ")}
}

func (a *reply) head(header http.Header, rest string) {
	kind := webType
	if a.text {
		kind = textType
	}
	header["Content-Type"] = []string{kind + rest}
	// The frame of the trailers comes on top.
	delete(header, "Content-Length")
	for _, list := range header["Trailer"] {
		for name := range strings.SplitSeq(list, ",") {
			a.announced = append(a.announced, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
	delete(header, "Trailer")
	_, a.ended = header["Grpc-Status"]
}

// exposed returns the names of the headers that scripts of other origins may read: all of the call's metadata.
func exposed(header http.Header) []string {
	names := []string{"Grpc-Message", "Grpc-Status"}
	for name := range header {
		if !strings.HasPrefix(name, "Access-Control-") && !strings.HasPrefix(name, http.TrailerPrefix) &&
			name != "Set-Cookie" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// encodes tells whether the body is to be written in base64.
func (a *reply) encodes() bool {
	a.Begin(http.StatusOK)
	return a.native && a.text
}

// Write writes frames of gRPC, which are those of gRPC-Web.
func (a *reply) Write(p []byte) (int, error) {
	if a.encodes() {
		return a.encoder.write(a.ResponseWriter, p)
	}
	return a.Writer.Write(p)
}

// WriteString is Write.
func (a *reply) WriteString(text string) (int, error) {
	if a.encodes() {
		return a.encoder.write(a.ResponseWriter, []byte(text))
	}
	return a.Writer.WriteString(text)
}

// ReadFrom writes what source has to say.
func (a *reply) ReadFrom(source io.Reader) (int64, error) {
	if a.encodes() {
		return io.Copy(struct{ io.Writer }{a}, source)
	}
	return a.Writer.ReadFrom(source)
}

// Splices says what the server's writer says, unless the body is changed.
func (a *reply) Splices() bool { return !(a.native && a.text) && a.Writer.Splices() }

// Flush sends what has been written so far.
func (a *reply) Flush() { _ = a.FlushError() }

// FlushError sends what has been written so far. Of a message in base64 that is not complete the last bytes wait, as
// they would have to be padded.
func (a *reply) FlushError() error {
	if a.encodes() {
		if err := a.encoder.pad(a.ResponseWriter, false); err != nil {
			return err
		}
	}
	return a.Writer.FlushError()
}
