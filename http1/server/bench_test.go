package server_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/http1/server"
)

// loop is a connection in memory that repeats one request, and counts the answers to it.
type loop struct {
	net.Conn
	request []byte
	left    int
	sent    int
}

func (l *loop) Read(p []byte) (int, error) {
	if l.left == 0 {
		return 0, io.EOF
	}
	l.left--
	return copy(p, l.request), nil
}

func (l *loop) Write(p []byte) (int, error) {
	l.sent += len(p)
	return len(p), nil
}

func (l *loop) Close() error                     { return nil }
func (l *loop) LocalAddr() net.Addr              { return noAddr{} }
func (l *loop) RemoteAddr() net.Addr             { return noAddr{} }
func (l *loop) SetDeadline(time.Time) error      { return nil }
func (l *loop) SetReadDeadline(time.Time) error  { return nil }
func (l *loop) SetWriteDeadline(time.Time) error { return nil }

const browserGet = "GET /shop/articles?page=2&sort=price HTTP/1.1\r\n" +
	"Host: shop.example.com\r\n" +
	"Connection: keep-alive\r\n" +
	"Cache-Control: max-age=0\r\n" +
	"sec-ch-ua: \"Chromium\";v=\"142\", \"Not?A_Brand\";v=\"24\"\r\n" +
	"sec-ch-ua-mobile: ?0\r\n" +
	"sec-ch-ua-platform: \"Linux\"\r\n" +
	"DNT: 1\r\n" +
	"Upgrade-Insecure-Requests: 1\r\n" +
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36\r\n" +
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n" +
	"Sec-Fetch-Site: same-origin\r\n" +
	"Sec-Fetch-Mode: navigate\r\n" +
	"Sec-Fetch-User: ?1\r\n" +
	"Sec-Fetch-Dest: document\r\n" +
	"Referer: https://shop.example.com/shop/articles?page=1\r\n" +
	"Accept-Encoding: gzip, deflate, br, zstd\r\n" +
	"Accept-Language: de-DE,de;q=0.9,en-US;q=0.8,en;q=0.7\r\n" +
	"If-None-Match: \"33a64df551425fcc55e4d42a148795d9f25f89d4\"\r\n" +
	"X-Request-Id: 7b1c9a52-6c3e-4f0e-9a55-0a5b8f1f2f11\r\n"

func browserRequest() string {
	return browserGet + "Cookie: session=" + strings.Repeat("0123456789abcdef", 64) + "\r\n\r\n"
}

// small answers with 128 bytes and a length, as an endpoint does.
func small(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h["Content-Type"] = smallType
	h["Content-Length"] = smallLength
	_, _ = io.WriteString(w, smallBody)
}

var (
	smallBody   = strings.Repeat("0123456789abcde\n", 8)
	smallType   = []string{"text/plain"}
	smallLength = []string{"128"}
)

// BenchmarkServerExchange serves requests in memory.
func BenchmarkServerExchange(b *testing.B) {
	for name, request := range map[string]string{"small": get, "browser": browserRequest()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			conn := &loop{request: []byte(request), left: b.N}
			server := &server.Server{Handler: http.HandlerFunc(small), ReadTimeout: time.Minute, IdleTimeout: 3 * time.Minute}
			b.ResetTimer()
			server.ServeConn(b.Context(), conn)
			if conn.sent < b.N*len(smallBody) {
				b.Errorf("%d bytes for %d answers", conn.sent, b.N)
			}
		})
	}
}
