package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// proveRequest compares everything that the backend receives of a request with what was sent.
func proveRequest(t *testing.T, c cell) {
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"} {
		for _, body := range []string{"", "a body"} {
			request := c.Request(method, "/a%20b/%2Fc;d/e?q=1&q=2&empty=&plus=a+b%2Bc", strings.NewReader(body))
			if body == "" {
				request = c.Request(method, "/a%20b/%2Fc;d/e?q=1&q=2&empty=&plus=a+b%2Bc", nil)
			}
			request.Header = http.Header{
				"X-Twice":        {"one", "two, three"},
				"X-Empty":        {""},
				"Accept":         {"text/html"},
				"Cookie":         {"a=1; b=2"},
				"User-Agent":     {"test"},
				"Connection":     {"X-Hop"},
				"X-Hop":          {"of this connection"},
				"Authorization":  {"Basic YTpi"},
				"If-None-Match":  {`"x"`},
				"Content-Type":   {"text/plain"},
				"Accept-Charset": {"ütf-8"},
			}
			if !speaksHTTP1(c) {
				// Not a field of HTTP/2 or HTTP/3 (RFC 9113, section 8.2.2, RFC 9114, section 4.2).
				delete(request.Header, "Connection")
				delete(request.Header, "X-Hop")
			}
			got := c.Send(request).Echo(t)
			want := harness.Echo{
				Backend: "one", Proto: "HTTP/1.1", Method: method, Host: c.host, Path: "/a b//c;d/e",
				Query: "q=1&q=2&empty=&plus=a+b%2Bc", RequestURI: "/a%20b/%2Fc;d/e?q=1&q=2&empty=&plus=a+b%2Bc",
				ContentLength: int64(len(body)), BodyLength: int64(len(body)), BodyHash: sum(body),
				Header: http.Header{
					"X-Twice": {"one", "two, three"}, "X-Empty": {""}, "Accept": {"text/html"}, "Cookie": {"a=1; b=2"},
					"User-Agent": {"test"}, "Authorization": {"Basic YTpi"}, "If-None-Match": {`"x"`},
					"Content-Type": {"text/plain"}, "Accept-Charset": {"ütf-8"},
				},
			}
			if c.upstream != upstreamH1 {
				want.Proto = "HTTP/2.0"
			}
			forwarded(&want, c)
			if length := got.Header.Get("Content-Length"); length != "" {
				want.Header.Set("Content-Length", fmt.Sprint(len(body))) // required in HTTP/1.1, optional in HTTP/2
			}
			got.RemoteAddr = ""
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s with body %q (-want +got):\n%s", method, body, diff)
			}
		}
	}
}

// forwarded adds the headers that identify the client.
func forwarded(echo *harness.Echo, c cell) {
	h := echo.Header
	h.Set("X-Forwarded-For", "127.0.0.1")
	h.Set("X-Real-Ip", "127.0.0.1")
	h.Set("X-Forwarded-Host", c.host)
	h.Set("X-Forwarded-Proto", c.Protocol.Scheme())
	h.Set("X-Forwarded-Port", map[string]string{"http": "80", "https": "443"}[c.Protocol.Scheme()])
	h.Set("X-Forwarded-Server", serverName())
}

func sum(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:])
}

// proveResponse compares the head of a response with what the backend sent.
func proveResponse(t *testing.T, c cell) {
	got := c.Get("/fields")
	want := http.Header{
		"Set-Cookie":          {"a=1; Path=/", "b=2; HttpOnly"},
		"X-Empty":             {""},
		"Via":                 {"1.1 origin"},
		"Server":              {"origin"},
		"Date":                {"Thu, 01 Jan 2026 00:00:00 GMT"},
		"X-Backend":           {"one"},
		"X-Upstream-Protocol": {upstreamProto(c)},
		"Content-Length":      {"0"},
	}
	if c.wrapped {
		want["X-Wrapped"] = []string{"yes"}
	}
	if got.StatusCode != http.StatusAccepted || got.Text != "" {
		t.Errorf("status %d, body %q", got.StatusCode, got.Text)
	}
	if diff := cmp.Diff(want, got.Header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	for _, code := range []int{200, 201, 206, 301, 400, 401, 404, 418, 429, 500, 502, 503, 599} {
		got := c.Get(fmt.Sprintf("/status?code=%d", code))
		if got.StatusCode != code || got.Text != fmt.Sprintf("status %d", code) || got.Header.Get("Etag") != `"one"` {
			t.Errorf("status %d: got %d, %q, %v", code, got.StatusCode, got.Text, got.Header)
		}
	}
}

func upstreamProto(c cell) string {
	if c.upstream == upstreamH1 {
		return "HTTP/1.1"
	}
	return "HTTP/2.0"
}

// proveHead requests a head: the length of the response to GET, and no body.
func proveHead(t *testing.T, c cell) {
	got := c.Send(c.Request(http.MethodHead, "/bytes?size=1000", nil))
	if got.StatusCode != http.StatusOK || got.ContentLength != 1000 || got.Text != "" {
		t.Errorf("status %d, length %d, body %q", got.StatusCode, got.ContentLength, got.Text)
	}
	// The connection is of use to the next request.
	if got := c.Get("/bytes?size=10"); got.ContentLength != 10 || len(got.Text) != 10 {
		t.Errorf("afterwards: length %d, body %q", got.ContentLength, got.Text)
	}
}

// proveBodyless requests statuses without a body (RFC 9110 section 6.4.1).
func proveBodyless(t *testing.T, c cell) {
	for _, code := range []int{http.StatusNoContent, http.StatusNotModified} {
		got := c.Get(fmt.Sprintf("/status?code=%d", code))
		if got.StatusCode != code || got.Text != "" || got.Header.Get("Etag") != `"one"` ||
			got.Header.Get("Content-Length") != "" {
			t.Errorf("%d: status %d, header %v, body %q", code, got.StatusCode, got.Header, got.Text)
		}
	}
}

// proveRequestTrailers sends trailers after a body of unknown length.
func proveRequestTrailers(t *testing.T, c cell) {
	body, writer := io.Pipe()
	request := c.Request(http.MethodPost, "/trailing", body)
	request.Trailer = http.Header{"X-Checksum": nil, "X-Count": nil}
	go func() {
		_, _ = io.WriteString(writer, "a body")
		request.Trailer["X-Checksum"] = []string{"abc"}
		request.Trailer["X-Count"] = []string{"6"}
		_ = writer.Close()
	}()
	got := c.Send(request).Echo(t)
	if diff := cmp.Diff(http.Header{"X-Checksum": {"abc"}, "X-Count": {"6"}}, got.Trailer); diff != "" {
		t.Errorf("trailers (-want +got):\n%s", diff)
	}
	if got.BodyHash != sum("a body") || got.ContentLength != -1 {
		t.Errorf("body: %+v", got)
	}
}

// proveResponseTrailers gets a trailer that was announced and one that was not.
func proveResponseTrailers(t *testing.T, c cell) {
	got := c.Get("/trailers")
	if got.Text != "body" {
		t.Errorf("body %q", got.Text)
	}
	if diff := cmp.Diff(http.Header{"X-Announced": {"first"}, "X-Late": {"second"}}, got.Trailer); diff != "" {
		t.Errorf("trailers (-want +got):\n%s", diff)
	}
	if got.Header.Get("X-Announced")+got.Header.Get("X-Late") != "" {
		t.Errorf("trailers are in the head: %v", got.Header)
	}
}
