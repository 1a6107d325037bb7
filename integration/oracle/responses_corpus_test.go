package oracle

import "strings"

// response is a backend's response to a request.
type response struct {
	name, bytes string
	// want is the client's result: status and body. With "cut", it is the most that the client gets before the response
	// visibly breaks off.
	want string
	// method is GET when it is empty.
	method string
	// holds keeps the backend's connection open; otherwise it closes behind the bytes.
	holds bool
	// later is sent after the client has its response.
	later string
}

// poison must not be received by any client.
const poison = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"

// ok puts a response together; fields end with CR LF.
func ok(fields, body string) string { return "HTTP/1.1 200 OK\r\n" + fields + "\r\n" + body }

// pieces puts one of chunks together.
func pieces(body string) string { return ok("Transfer-Encoding: chunked\r\n", body) }

const (
	hello   = "200 hello"
	gateway = "502 Bad Gateway"
)

// ends is about where a response's body ends.
func ends() []response {
	return []response{
		{name: "length", bytes: ok("Content-Length: 5\r\n", "hello"), want: hello, holds: true},
		{name: "length and close", bytes: ok("Content-Length: 5\r\n", "hello"), want: hello},
		{name: "chunks", bytes: pieces(five + end), want: hello, holds: true},
		{name: "until close", bytes: ok("", "hello"), want: hello},
		{name: "until close, HTTP/1.0", bytes: "HTTP/1.0 200 OK\r\n\r\nhello", want: hello},
		{name: "length, HTTP/1.0", bytes: "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", want: hello},
		{
			name: "length, HTTP/1.0, kept", bytes: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello",
			want: hello, holds: true,
		},
		{
			name: "chunks, HTTP/1.0", bytes: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + five + end,
			want: gateway,
		},
		{name: "cl.te", bytes: ok("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", five+end), want: gateway},
		{name: "te.cl", bytes: ok("Transfer-Encoding: chunked\r\nContent-Length: 15\r\n", five+end), want: gateway},
		{
			name: "te.cl, poison behind", bytes: ok("Transfer-Encoding: chunked\r\nContent-Length: 59\r\n", end+poison),
			want: gateway, holds: true,
		},
		{name: "cl.cl", bytes: ok("Content-Length: 5\r\nContent-Length: 3\r\n", "hello"), want: gateway},
		{name: "cl.cl, equal", bytes: ok("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"), want: gateway},
		{name: "cl list", bytes: ok("Content-Length: 5, 5\r\n", "hello"), want: gateway},
		{name: "cl plus", bytes: ok("Content-Length: +5\r\n", "hello"), want: gateway},
		{name: "cl minus", bytes: ok("Content-Length: -1\r\n", "hello"), want: gateway},
		{name: "cl hexadecimal", bytes: ok("Content-Length: 0x5\r\n", "hello"), want: gateway},
		{name: "cl empty", bytes: ok("Content-Length:\r\n", "hello"), want: gateway},
		{name: "cl 2^64+5", bytes: ok("Content-Length: 18446744073709551621\r\n", "hello"), want: gateway},
		{name: "cl space colon", bytes: ok("Content-Length : 5\r\n", "hello"), want: gateway},
		{name: "te unknown", bytes: ok("Transfer-Encoding: xchunked\r\n", five+end), want: gateway},
		{
			name: "te twice", bytes: ok("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", five+end),
			want: gateway,
		},
		{name: "te gzip, chunked", bytes: ok("Transfer-Encoding: gzip, chunked\r\n", five+end), want: gateway},
		{name: "te identity", bytes: ok("Transfer-Encoding: identity\r\nContent-Length: 5\r\n", "hello"), want: gateway},
		{name: "te space colon", bytes: ok("Transfer-Encoding : chunked\r\n", five+end), want: gateway},
		{name: "te vertical tab", bytes: ok("Transfer-Encoding: \x0bchunked\r\n", five+end), want: gateway},
		{name: "te behind LF", bytes: ok("X-A: b\nTransfer-Encoding: chunked\r\n", five+end), want: gateway},
		{name: "length, cut", bytes: ok("Content-Length: 50\r\n", "hello"), want: hello + " cut"},
		{name: "length, cut before the body", bytes: ok("Content-Length: 50\r\n", ""), want: "200  cut"},
		{name: "length, cut, large", bytes: ok("Content-Length: 200000\r\n", strings.Repeat("x", 100_000)), want: "200 " +
			strings.Repeat("x", 100_000) + " cut"},
		{name: "chunks, cut", bytes: pieces(five), want: hello + " cut"},
		{name: "chunks, cut within one", bytes: pieces("5\r\nhel"), want: "200 hel cut"},
		{name: "chunks, cut within a size", bytes: pieces(five + "5"), want: hello + " cut"},
		{name: "chunks, cut within the end", bytes: pieces(five + "0\r\n"), want: hello + " cut"},
		{name: "chunks, cut within trailers", bytes: pieces(five + "0\r\nX-Sum: 1\r\n"), want: hello + " cut"},
	}
}

// chunked responses with other chunks than there should be; what came before is with the client already.
func crumbs() []response {
	return []response{
		{name: "chunk size not hexadecimal", bytes: pieces(five + "g\r\nhello\r\n" + end), want: hello + " cut"},
		{name: "chunk size plus", bytes: pieces(five + "+5\r\nhello\r\n" + end), want: hello + " cut"},
		{name: "chunk size minus", bytes: pieces(five + "-1\r\nhello\r\n" + end), want: hello + " cut"},
		{name: "chunk size prefix", bytes: pieces(five + "0x5\r\nhello\r\n" + end), want: hello + " cut"},
		{name: "chunk size 2^64+5", bytes: pieces(five + "10000000000000005\r\nhello\r\n" + end), want: hello + " cut"},
		{name: "chunk size empty", bytes: pieces(five + "\r\nhello\r\n" + end), want: hello + " cut"},
		{name: "chunk size LF", bytes: pieces(five + "5\nhello\r\n" + end), want: hello + " cut"},
		{name: "chunk LF behind", bytes: pieces(five + "5\r\nhello\n" + end), want: hello + "hello cut"},
		{name: "chunk too long", bytes: pieces(five + "3\r\nhello\r\n" + end), want: hello + "hel cut"},
		{name: "chunk extension", bytes: pieces("5;a=b\r\nhello\r\n" + end), want: hello, holds: true},
		{name: "chunk extension LF", bytes: pieces(five + "5;a\nhello\r\n" + end), want: hello + " cut"},
		{name: "chunk end LF", bytes: pieces(five + "0\n\n"), want: hello + " cut"},
		{name: "trailers", bytes: pieces(five + "0\r\nX-Sum: 1\r\n\r\n"), want: hello, holds: true},
		{name: "trailer length", bytes: pieces(five + "0\r\nContent-Length: 3\r\n\r\n"), want: hello, holds: true},
		{name: "trailer no colon", bytes: pieces(five + "0\r\nX-Sum\r\n\r\n"), want: hello + " cut"},
		{name: "trailer LF", bytes: pieces(five + "0\r\nX-Sum: 1\n\r\n"), want: hello + " cut"},
		{name: "trailers without end", bytes: pieces(five + "0\r\n" + strings.Repeat("X-A: "+strings.Repeat("a", 1000)+"\r\n",
			2000) + "\r\n"), want: hello + " cut"},
	}
}

// surplus has bytes after a response, which must be dropped.
func surplus() []response {
	return []response{
		{name: "surplus response", bytes: ok("Content-Length: 5\r\n", "hello") + poison, want: hello, holds: true},
		{name: "surplus response and close", bytes: ok("Content-Length: 5\r\n", "hello") + poison, want: hello},
		{name: "surplus text", bytes: ok("Content-Length: 5\r\n", "hellopoison"), want: hello, holds: true},
		{name: "surplus empty lines", bytes: ok("Content-Length: 5\r\n", "hello\r\n\r\n"), want: hello, holds: true},
		{name: "surplus behind chunks", bytes: pieces(five+end) + poison, want: hello, holds: true},
		{name: "surplus behind no body", bytes: ok("Content-Length: 0\r\n", "") + poison, want: "200 ", holds: true},
		{
			name: "surplus behind HEAD", method: "HEAD", bytes: ok("Content-Length: 6\r\n", "poison"), want: "200 ",
			holds: true,
		},
		{
			name: "surplus behind HEAD, chunks", method: "HEAD", bytes: pieces("6\r\npoison\r\n" + end), want: "200 ",
			holds: true,
		},
		{
			name: "surplus behind HEAD, response", method: "HEAD", bytes: ok("Content-Length: 6\r\n", "") + poison, want: "200 ",
			holds: true,
		},
		{name: "HEAD", method: "HEAD", bytes: ok("Content-Length: 6\r\n", ""), want: "200 ", holds: true},
		{name: "HEAD, no length", method: "HEAD", bytes: ok("", ""), want: "200 ", holds: true},
		{name: "204", bytes: "HTTP/1.1 204 No Content\r\n\r\n", want: "204 ", holds: true},
		{name: "204 with length", bytes: "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", want: "204 ", holds: true},
		{
			name: "204 with body", bytes: "HTTP/1.1 204 No Content\r\nContent-Length: 6\r\n\r\npoison", want: "204 ",
			holds: true,
		},
		{
			name:  "204 with chunks",
			bytes: "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n6\r\npoison\r\n0\r\n\r\n", want: "204 ",
			holds: true,
		},
		{name: "204 with response", bytes: "HTTP/1.1 204 No Content\r\n\r\n" + poison, want: "204 ", holds: true},
		{
			name: "205 with body", bytes: "HTTP/1.1 205 Reset Content\r\nContent-Length: 5\r\n\r\nhello", want: "205 hello",
			holds: true,
		},
		{name: "304 with length", bytes: "HTTP/1.1 304 Not Modified\r\nContent-Length: 6\r\n\r\n", want: "304 ", holds: true},
		{
			name: "304 with body", bytes: "HTTP/1.1 304 Not Modified\r\nContent-Length: 6\r\n\r\npoison", want: "304 ",
			holds: true,
		},
		{
			name: "304 with chunks", bytes: "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", want: "304 ",
			holds: true,
		},
		{name: "later response", bytes: ok("Content-Length: 5\r\n", "hello"), later: poison, want: hello, holds: true},
		{
			name: "later 408", bytes: ok("Content-Length: 5\r\n", "hello"),
			later: "HTTP/1.1 408 Request Timeout\r\nContent-Length: 6\r\n\r\npoison", want: hello, holds: true,
		},
		{name: "later text", bytes: pieces(five + end), later: "poison", want: hello, holds: true},
		{name: "later byte", bytes: ok("Content-Length: 5\r\n", "hello"), later: "\n", want: hello, holds: true},
	}
}

// interim is about responses before the final one.
func interim() []response {
	last := ok("Content-Length: 5\r\n", "hello")
	return []response{
		{name: "100 without a request", bytes: "HTTP/1.1 100 Continue\r\n\r\n" + last, want: hello, holds: true},
		{name: "102", bytes: "HTTP/1.1 102 Processing\r\n\r\n" + last, want: hello, holds: true},
		{name: "103", bytes: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + last, want: hello, holds: true},
		{
			name: "103 with length", bytes: "HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n" + last, want: hello,
			holds: true,
		},
		{
			name: "103 with chunks", bytes: "HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\n\r\n" + last, want: hello,
			holds: true,
		},
		{name: "103 malformed", bytes: "HTTP/1.1 103 Early Hints\r\nX : y\r\n\r\n" + last, want: gateway},
		{
			name: "1xx three", bytes: strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 3) + last, want: hello,
			holds: true,
		},
		{name: "1xx flood", bytes: strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 100_000) + last, want: gateway},
		{name: "1xx alone", bytes: "HTTP/1.1 100 Continue\r\n\r\n", want: gateway},
		{name: "1xx unknown", bytes: "HTTP/1.1 199 What\r\n\r\n" + last, want: hello, holds: true},
		{
			name:  "101 without a request",
			bytes: "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + poison,
			want:  gateway,
		},
		{name: "101 bare", bytes: "HTTP/1.1 101 Switching Protocols\r\n\r\n" + poison, want: gateway},
	}
}

// tops is about the heads of responses.
func tops() []response {
	status := func(line string) string { return line + "\r\nContent-Length: 5\r\n\r\nhello" }
	field := func(text string) string { return ok("Content-Length: 5\r\n"+text, "hello") }
	return []response{
		{name: "no reason", bytes: status("HTTP/1.1 200 "), want: hello},
		{name: "no reason, no space", bytes: status("HTTP/1.1 200"), want: hello},
		{name: "reason with letters", bytes: status("HTTP/1.1 200 \u00e4"), want: hello},
		{name: "reason with NUL", bytes: status("HTTP/1.1 200 O\x00K"), want: gateway},
		{name: "reason with CR", bytes: status("HTTP/1.1 200 O\rK"), want: gateway},
		{name: "status 99", bytes: status("HTTP/1.1 099 x"), want: gateway},
		{name: "status two digits", bytes: status("HTTP/1.1 20 OK"), want: gateway},
		{name: "status four digits", bytes: status("HTTP/1.1 2000 OK"), want: gateway},
		{name: "status plus", bytes: status("HTTP/1.1 +20 OK"), want: gateway},
		{name: "status text", bytes: status("HTTP/1.1 OK"), want: gateway},
		{name: "status 600", bytes: status("HTTP/1.1 600 x"), want: "600 hello"},
		{name: "status 999", bytes: status("HTTP/1.1 999 x"), want: "999 hello"},
		{name: "status two spaces", bytes: status("HTTP/1.1  200 OK"), want: gateway},
		{name: "version 1.2", bytes: status("HTTP/1.2 200 OK"), want: hello},
		{name: "version 2.0", bytes: status("HTTP/2.0 200 OK"), want: gateway},
		{name: "version 0.9", bytes: "hello", want: gateway},
		{name: "version 1.10", bytes: status("HTTP/1.10 200 OK"), want: gateway},
		{name: "version lower case", bytes: status("http/1.1 200 OK"), want: gateway},
		{name: "version ICY", bytes: status("ICY 200 OK"), want: gateway},
		{name: "empty line first", bytes: "\r\n" + status("HTTP/1.1 200 OK"), want: gateway},
		{name: "space first", bytes: status(" HTTP/1.1 200 OK"), want: gateway},
		{name: "a request", bytes: get(""), want: gateway},
		{name: "garbage", bytes: "\x00\xff\x16\r\n\r\n", want: gateway},
		{name: "nothing", bytes: "", want: gateway},
		{name: "head cut", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", want: gateway},
		{name: "head cut in the line", bytes: "HTTP/1.1 2", want: gateway},
		{name: "LF everywhere", bytes: "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", want: gateway},
		{name: "LF behind the line", bytes: "HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\nhello", want: gateway},
		{name: "LF behind a field", bytes: field("X-A: b\nX-C: d\r\n"), want: gateway},
		{name: "CR in a value", bytes: field("X-A: b\rX-C: d\r\n"), want: gateway},
		{name: "NUL in a value", bytes: field("X-A: b\x00c\r\n"), want: gateway},
		{name: "control in a value", bytes: field("X-A: b\x01c\r\n"), want: gateway},
		{name: "letters in a value", bytes: field("X-A: \u00e4\r\n"), want: hello},
		{name: "fold", bytes: field("X-A: b\r\n c\r\n"), want: gateway},
		{name: "fold first", bytes: ok(" X-A: b\r\nContent-Length: 5\r\n", "hello"), want: gateway},
		{name: "no colon", bytes: field("X-A\r\n"), want: gateway},
		{name: "no name", bytes: field(": b\r\n"), want: gateway},
		{name: "space colon", bytes: field("X-A : b\r\n"), want: gateway},
		{name: "space in a name", bytes: field("X A: b\r\n"), want: gateway},
		{name: "NUL in a name", bytes: field("X\x00A: b\r\n"), want: gateway},
		{name: "letters in a name", bytes: field("X-\u00c4: b\r\n"), want: gateway},
		{name: "pseudo field", bytes: field(":status: 204\r\n"), want: gateway},
		{name: "connection names length", bytes: field("Connection: Content-Length\r\n"), want: hello, holds: true},
		{name: "connection names own", bytes: field("Connection: X-A\r\nX-A: b\r\n"), want: hello, holds: true},
		{
			name: "upgrade without a request", bytes: field("Connection: Upgrade\r\nUpgrade: h2c\r\n"),
			want: hello, holds: true,
		},
		{name: "head too large", bytes: field("X-A: " + strings.Repeat("a", 2<<20) + "\r\n"), want: gateway},
		{name: "fields too many", bytes: field(numbered(50_000)), want: gateway},
	}
}

func responses() []response {
	var all []response
	for _, class := range [][]response{ends(), crumbs(), surplus(), interim(), tops()} {
		all = append(all, class...)
	}
	return all
}
