package grpcweb

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/middleware/response"
)

// reply is the response writer of a call. A response other than gRPC, such as 503 without an endpoint, passes unchanged
// except for CORS: clients use its status.
type reply struct {
	response.Writer
	// origin is the client's allowed origin.
	origin string
	// text means that the response is encoded in base64.
	text bool
	// native means that the response is gRPC; ended that its head contains the status of the call, without further
	// trailers.
	native, ended bool
	// announced are the names in the header Trailer.
	announced []string
	encoder   encoder
}

// EditHead converts the head from gRPC to gRPC-Web.
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
	// The trailer frame is added.
	delete(header, "Content-Length")
	for _, list := range header["Trailer"] {
		for name := range strings.SplitSeq(list, ",") {
			a.announced = append(a.announced, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
	delete(header, "Trailer")
	_, a.ended = header["Grpc-Status"]
}

// exposed returns the names of headers that scripts of other origins may read: all metadata of the call.
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

// encodes reports whether the body is encoded in base64.
func (a *reply) encodes() bool {
	a.Begin(http.StatusOK)
	return a.native && a.text
}

// Write writes gRPC frames, which are the same in gRPC-Web.
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

func (a *reply) ReadFrom(source io.Reader) (int64, error) {
	if a.encodes() {
		return io.Copy(struct{ io.Writer }{a}, source)
	}
	return a.Writer.ReadFrom(source)
}

// Splices implements httpio.Splicer; false if the body is encoded.
func (a *reply) Splices() bool { return !(a.native && a.text) && a.Writer.Splices() }

// Flush sends everything written so far.
func (a *reply) Flush() { _ = a.FlushError() }

// FlushError sends everything written so far. In base64, the last bytes of an incomplete message wait, since they would
// be padded.
func (a *reply) FlushError() error {
	if a.encodes() {
		if err := a.encoder.pad(a.ResponseWriter, false); err != nil {
			return err
		}
	}
	return a.Writer.FlushError()
}
