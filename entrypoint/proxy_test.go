package entrypoint_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/pires/go-proxyproto"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/static"
)

// proxyHeader returns a PROXY header of a version.
func proxyHeader(t *testing.T, version byte, source, destination string) string {
	t.Helper()
	from, err := net.ResolveTCPAddr("tcp", source)
	if err != nil {
		t.Fatal(err)
	}
	to, err := net.ResolveTCPAddr("tcp", destination)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := proxyproto.HeaderProxyFromAddrs(version, from, to).WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestProxyProtocol(t *testing.T) {
	trusted := &static.ProxyProtocol{TrustedIPs: ranges(t, "127.0.0.0/8")}
	stranger := &static.ProxyProtocol{TrustedIPs: ranges(t, "192.0.2.1")}
	v1 := proxyHeader(t, 1, "203.0.113.9:4711", "198.51.100.1:80")
	v1six := proxyHeader(t, 1, "[2001:db8::9]:4711", "[2001:db8::1]:80")
	v2 := proxyHeader(t, 2, "203.0.113.9:4711", "198.51.100.1:80")
	local := "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00"
	const here = "127.0.0.1"
	for _, test := range []struct {
		name   string
		config *static.ProxyProtocol
		header string
		// remote is the address that the handler sees; "400" for that answer and "" for none.
		remote string
	}{
		{"v1 trusted", trusted, v1, "203.0.113.9"},
		{"v1 trusted, IPv6", trusted, v1six, "2001:db8::9"},
		{"v1 insecure", &static.ProxyProtocol{Insecure: true}, v1, "203.0.113.9"},
		{"v1 unknown", trusted, "PROXY UNKNOWN\r\n", here},
		{"v1 untrusted", stranger, v1, "400"},
		{"v1 without trust", &static.ProxyProtocol{}, v1, "400"},
		{"v1 not configured", nil, v1, "400"},
		{"v1 malformed", trusted, "PROXY TCP4 203.0.113.9\r\n", ""},
		{"v1 endless", trusted, "PROXY " + strings.Repeat("x", 200), ""},
		{"v2 trusted", trusted, v2, "203.0.113.9"},
		{"v2 local", trusted, local, here},
		{"v2 untrusted", stranger, v2, "400"},
		{"v2 not configured", nil, v2, "400"},
		{"none trusted", trusted, "", here},
		{"none untrusted", stranger, "", here},
		{"twice", trusted, v1 + v1, "400"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				host, _, _ := net.SplitHostPort(r.RemoteAddr)
				_, _ = io.WriteString(w, host)
			}), func(c *static.EntryPoint) { c.ProxyProtocol = test.config })
			got := s.raw(test.header + "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
			switch test.remote {
			case "":
				if got != "" {
					t.Errorf("got %q", got)
				}
				s.logged("connection refused web 127.0.0.1 PROXY header: ")
			case "400":
				if !strings.HasPrefix(got, "HTTP/1.1 400 ") {
					t.Errorf("got %q", got)
				}
			default:
				if !strings.HasSuffix(got, "\r\n\r\n"+test.remote) {
					t.Errorf("got %q", got)
				}
				if record := s.record(); record.Client != test.remote {
					t.Errorf("recorded %q", record.Client)
				}
			}
		})
	}
}

// TestProxyProtocolBefore puts a PROXY header before each protocol, in pieces.
func TestProxyProtocolBefore(t *testing.T) {
	for _, protocol := range tcpProtocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, r.RemoteAddr+" "+r.Header.Get("X-Real-Ip"))
			}), func(c *static.EntryPoint) { c.ProxyProtocol = &static.ProxyProtocol{Insecure: true} })
			client, url := s.client(protocol)
			transport, ok := client.Transport.(*http.Transport)
			if !ok {
				t.Fatal("no transport")
			}
			header := proxyHeader(t, 2, "203.0.113.9:4711", "198.51.100.1:80")
			transport.DialContext = dialAfter(func(conn net.Conn) error {
				for _, piece := range []string{header[:3], header[3:14], header[14:]} {
					if _, err := io.WriteString(conn, piece); err != nil {
						return err
					}
				}
				return nil
			})
			if _, body := do(t, client, http.MethodGet, url, nil); body != "203.0.113.9:4711 203.0.113.9" {
				t.Errorf("got %q", body)
			}
		})
	}
}

func FuzzProxyProtocol(f *testing.F) {
	f.Add([]byte("PROXY TCP4 203.0.113.9 198.51.100.1 4711 80\r\nGET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte("\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\xcb\x00\x71\x09\xc6\x33\x64\x01\x12\x67\x00\x50GET"))
	f.Add([]byte("PROXY UNKNOWN\r\n"))
	f.Add([]byte("PUT / HTTP/1.1\r\n"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		ours, theirs := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = theirs.Write(sent)
			_ = theirs.Close()
		}()
		rest, err := entrypoint.ReadProxy(ours, timeout)
		if err == nil && !bytes.HasSuffix(sent, rest) {
			t.Errorf("%q is not the end of %q", rest, sent)
		}
		if err == nil && !bytes.HasPrefix(sent, []byte("PROXY")) && !bytes.HasPrefix(sent, []byte("\r\n\r\n\x00")) &&
			len(rest) != len(sent) {
			t.Errorf("%q became %q", sent, rest)
		}
		_ = ours.Close()
		<-done
	})
}
