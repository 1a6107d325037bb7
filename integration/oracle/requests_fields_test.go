package oracle

import (
	"fmt"
	"strings"
)

// fields is about the other fields.
func fields() []request {
	return []request{
		{name: "field fold", bytes: get("X-A: b\r\n c\r\n")},
		{name: "field fold tab", bytes: get("X-A: b\r\n\tc\r\n")},
		{name: "field fold empty", bytes: get("X-A: b\r\n \r\n")},
		{name: "field fold first", bytes: "GET /case HTTP/1.1\r\n X-A: b\r\nHost: any.test\r\n\r\n"},
		{name: "field fold last", bytes: get("X-A: b\r\n ")},
		{name: "field LF", bytes: get("X-A: b\nX-C: d\r\n")},
		{name: "field LF everywhere", bytes: strings.ReplaceAll(post("Content-Length: 5\r\n", "hello"), "\r\n", "\n")},
		{name: "field LF at the end", bytes: "GET /case HTTP/1.1\r\nHost: any.test\r\n\n"},
		{name: "field LF LF, request behind", bytes: "GET /case HTTP/1.1\r\nHost: any.test\r\nX-A: b\n\n" + evil},
		{name: "field CR", bytes: get("X-A: b\rX-C: d\r\n")},
		{name: "field CR last", bytes: get("X-A: b\r\r\n")},
		{name: "field CR alone", bytes: get("\r\r\n")},
		{name: "field space colon", bytes: get("X-A : b\r\n")},
		{name: "field tab colon", bytes: get("X-A\t: b\r\n")},
		{name: "field no colon", bytes: get("X-A\r\n")},
		{name: "field no name", bytes: get(": b\r\n")},
		{name: "field no value", bytes: get("X-A:\r\n")},
		{name: "field no space", bytes: get("X-A:b\r\n")},
		{name: "field spaces", bytes: get("X-A: \t b \t \r\n")},
		{name: "field space in name", bytes: get("X A: b\r\n")},
		{name: "field NUL in name", bytes: get("X\x00A: b\r\n")},
		{name: "field control in name", bytes: get("X\x01A: b\r\n")},
		{name: "field DEL in name", bytes: get("X\x7fA: b\r\n")},
		{name: "field brackets in name", bytes: get("X(A): b\r\n")},
		{name: "field slash in name", bytes: get("X/A: b\r\n")},
		{name: "field quotes in name", bytes: get("\"X-A\": b\r\n")},
		{name: "field other letters in name", bytes: get("X-\u00c4: b\r\n")},
		{name: "field odd name", bytes: get("X!#$%&'*+.^`|~A: b\r\n")},
		{name: "field underscore", bytes: get("X_A: b\r\n")},
		{name: "field dot", bytes: get("X.A: b\r\n")},
		{name: "field colons", bytes: get("X-A:: b\r\n")},
		{name: "field pseudo", bytes: get(":path: /evil\r\n")},
		{name: "field NUL", bytes: get("X-A: b\x00c\r\n")},
		{name: "field control", bytes: get("X-A: b\x01c\r\n")},
		{name: "field escape", bytes: get("X-A: b\x1b[2J\r\n")},
		{name: "field DEL", bytes: get("X-A: b\x7fc\r\n")},
		{name: "field vertical tab", bytes: get("X-A: b\x0bc\r\n")},
		{name: "field tab", bytes: get("X-A: b\tc\r\n")},
		{name: "field other letters", bytes: get("X-A: \u00e4\r\n")},
		{name: "field invalid UTF-8", bytes: get("X-A: \xff\xfe\r\n")},
		{name: "field repeated", bytes: get("X-A: b\r\nX-A: c\r\nx-a: d\r\n")},
		{name: "field 20 KiB", bytes: get("X-A: " + strings.Repeat("a", 20<<10) + "\r\n")},
		{name: "field 2 MiB", bytes: get("X-A: " + strings.Repeat("a", 2<<20) + "\r\n")},
		{name: "field long name", bytes: get("X-" + strings.Repeat("a", 300) + ": b\r\n")},
		{name: "fields 90", bytes: get(numbered(90))},
		{name: "fields 20000", bytes: get(numbered(20_000))},
		{name: "head cut", bytes: "GET /case HTTP/1.1\r\nHost: any.test\r\n", cut: true},
		{name: "head cut in a field", bytes: "GET /case HTTP/1.1\r\nHost: any", cut: true},
		{name: "head cut in the line", bytes: "GET /ca", cut: true},
		{name: "nothing", bytes: "", cut: true},
		{name: "NUL", bytes: "\x00\r\n\r\n"},
		{name: "TLS", bytes: "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00\r\n\r\n"},
		{name: "a response", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
	}
}

func numbered(count int) string {
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, "X-%d: b\r\n", i)
	}
	return text.String()
}

// sequences is about several requests on a connection, and what rules its life.
func sequences() []request {
	second := "GET /second HTTP/1.1\r\nHost: any.test\r\n\r\n"
	old := func(fields string) string { return "GET /case HTTP/1.0\r\nHost: any.test\r\n" + fields + "\r\n" }
	return []request{
		{name: "two", bytes: get("") + second},
		{name: "two with bodies", bytes: post("Content-Length: 5\r\n", "hello") + chunked("2\r\nab\r\n0\r\n\r\n")},
		{name: "three", bytes: get("") + second + "GET /third HTTP/1.1\r\nHost: any.test\r\n\r\n"},
		{name: "second is malformed", bytes: get("") + "GET /evil HTTP/1.1\r\nX : y\r\n\r\n"},
		{name: "second is ambiguous", bytes: get("") + post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
			"0\r\n\r\n")},
		{name: "second behind bad chunks", bytes: chunked("5\r\nhelloXX0\r\n\r\n") + evil},
		{name: "second behind empty lines", bytes: get("") + "\r\n" + second},
		{name: "second behind LF", bytes: get("") + "\n" + second},
		{name: "second behind close", bytes: get("Connection: close\r\n") + evil},
		{name: "second behind close in a list", bytes: get("Connection: x, close\r\n") + evil},
		{name: "second behind CLOSE", bytes: get("Connection: CLOSE\r\n") + evil},
		{name: "second behind close and keep-alive", bytes: get("Connection: close, keep-alive\r\n") + evil},
		{name: "second behind HTTP/1.0", bytes: old("") + evil},
		{name: "second behind HTTP/1.0, kept", bytes: old("Connection: keep-alive\r\n") + second},
		{name: "second behind HTTP/1.0, kept and closed", bytes: old("Connection: keep-alive, close\r\n") + evil},
		{
			name:  "second behind HTTP/1.0 body",
			bytes: "POST /case HTTP/1.0\r\nHost: any.test\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello" + second,
		},
		{name: "second behind HTTP/0.9", bytes: "GET /case\r\n" + evil},
		{name: "second is another method", bytes: "HEAD /case HTTP/1.1\r\nHost: any.test\r\n\r\n" + second},
		{name: "second without space", bytes: get("Content-Length: 0\r\n") + "X" + second},
		{name: "proxy keep-alive", bytes: old("Proxy-Connection: keep-alive\r\n")},
		{name: "expect", bytes: post("Expect: 100-continue\r\nContent-Length: 5\r\n", "hello")},
		{name: "expect chunks", bytes: post("Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n",
			"5\r\nhello\r\n0\r\n\r\n")},
		{name: "expect without body", bytes: get("Expect: 100-continue\r\n")},
		{
			name:  "expect in HTTP/1.0",
			bytes: "POST /case HTTP/1.0\r\nHost: any.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello",
		},
		{name: "expect other", bytes: get("Expect: tea\r\n")},
		{name: "expect odd", bytes: post("Expect: 100-continuex\r\nContent-Length: 5\r\n", "hello")},
		{name: "expect folded", bytes: post("Expect:\r\n 100-continue\r\nContent-Length: 5\r\n", "hello")},
		{name: "expect, request in body", bytes: post("Expect: 100-continue\r\nContent-Length: 38\r\n", evil) + second},
		{name: "connection names own", bytes: get("Connection: X-A\r\nX-A: b\r\n")},
		{name: "connection names Host", bytes: get("Connection: Host\r\n")},
		{name: "connection odd", bytes: get("Connection: ,;\"\r\n")},
		{name: "keep-alive field", bytes: get("Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n")},
		{name: "te field", bytes: get("TE: trailers, deflate\r\nConnection: TE\r\n")},
		{name: "proxy authorization", bytes: get("Proxy-Authorization: Basic YTpi\r\n")},
		{
			name:  "upgrade h2c",
			bytes: get("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"),
		},
		{
			name: "upgrade websocket, refused",
			bytes: get("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
				"AAAAAAAAAAAAAAAAAAAAAA==\r\n"),
		},
		{
			name: "upgrade websocket, request behind",
			bytes: get("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 777\r\nSec-WebSocket-Key: "+
				"AAAAAAAAAAAAAAAAAAAAAA==\r\n") + second,
		},
		{name: "upgrade with body", bytes: post("Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 38\r\n", evil)},
		{name: "upgrade without Connection", bytes: get("Upgrade: websocket\r\n")},
		{name: "max forwards", bytes: "OPTIONS /case HTTP/1.1\r\nHost: any.test\r\nMax-Forwards: 0\r\n\r\n"},
		{name: "range of POST", bytes: post("Range: bytes=0-0,0-0\r\nContent-Length: 5\r\n", "hello")},
		{name: "large body", bytes: post("Content-Length: 300000\r\n", strings.Repeat("x", 300_000))},
		{name: "large body, request behind", bytes: post("Content-Length: 100000\r\n", strings.Repeat("x", 100_000)) +
			second},
	}
}

func requests() []request {
	var all []request
	for _, class := range [][]request{
		framing(), codings(), breaks(), chunks(), methods(), lines(), hosts(), targets(), fields(), sequences(),
	} {
		all = append(all, class...)
	}
	return all
}
