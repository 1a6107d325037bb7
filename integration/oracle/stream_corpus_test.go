package oracle

import "strings"

// stream is a request in HTTP/2, whose fields may hold what HTTP/1.1 has no place for.
type stream struct {
	name string
	// head and trailer are names and values in turn.
	head, trailer []string
	body          string
	// open ends a request without a body by an empty DATA frame.
	open bool
	// forwarded is what the backend may receive: method, target and body; empty for nothing.
	forwarded string
	// host is what it gets for Host, any.test unless it is set.
	host string
}

// asking returns the fields of a request, with others for the pseudo fields that are named, and more behind them.
func asking(changes ...string) []string {
	head := []string{":method", "GET", ":scheme", "http", ":authority", "any.test", ":path", "/case"}
	for i := 0; i+1 < len(changes); i += 2 {
		changed := false
		for j := 0; j < 8; j += 2 {
			if head[j] == changes[i] {
				head[j+1], changed = changes[i+1], true
			}
		}
		if !changed {
			head = append(head, changes[i], changes[i+1])
		}
	}
	return head
}

// lacking is asking without one of its fields.
func lacking(name string, more ...string) []string {
	var head []string
	for i, all := 0, asking(more...); i < len(all); i += 2 {
		if all[i] != name {
			head = append(head, all[i], all[i+1])
		}
	}
	return head
}

// posting is asking for something with a body.
func posting(more ...string) []string { return asking(append([]string{":method", "POST"}, more...)...) }

const plainCase = "GET /case "

// pseudos is about the fields that become the request line.
func pseudos() []stream {
	const split = " HTTP/1.1\r\nHost: any.test\r\n\r\nGET /evil"
	return []stream{
		{name: "plain", head: asking(), forwarded: plainCase},
		{name: "method own", head: asking(":method", "PURGE"), forwarded: "PURGE /case "},
		{name: "method space", head: asking(":method", "GET /evil")},
		{name: "method is a request", head: asking(":method", "GET /evil HTTP/1.1\r\nHost: any.test\r\n\r\nGET")},
		{name: "method LF", head: asking(":method", "GET\n")},
		{name: "method NUL", head: asking(":method", "GE\x00T")},
		{name: "method colon", head: asking(":method", "GET:")},
		{name: "method empty", head: asking(":method", "")},
		{name: "method missing", head: lacking(":method")},
		{name: "method twice", head: append([]string{":method", "POST"}, asking()...)},
		{name: "method CONNECT", head: asking(":method", "CONNECT")},
		{name: "method CONNECT, as it should be", head: []string{":method", "CONNECT", ":authority", "any.test:443"}},
		{name: "method CONNECT, protocol", head: asking(":method", "CONNECT", ":protocol", "websocket")},
		{name: "path is a request", head: asking(":path", "/case"+split)},
		{name: "path space", head: asking(":path", "/case HTTP/1.1")},
		{name: "path CR LF", head: asking(":path", "/case\r\nX-Evil: 1")},
		{name: "path LF", head: asking(":path", "/case\n")},
		{name: "path CR", head: asking(":path", "/case\r")},
		{name: "path NUL", head: asking(":path", "/case\x00")},
		{name: "path tab", head: asking(":path", "/ca\tse")},
		{name: "path DEL", head: asking(":path", "/ca\x7fse")},
		{name: "path fragment", head: asking(":path", "/case#evil")},
		{name: "path without slash", head: asking(":path", "case")},
		{name: "path authority", head: asking(":path", "evil.test:80")},
		{name: "path empty", head: asking(":path", "")},
		{name: "path missing", head: lacking(":path")},
		{name: "path twice", head: append([]string{":path", "/evil"}, asking()...)},
		{name: "path *", head: asking(":path", "*")},
		{name: "path * of OPTIONS", head: asking(":method", "OPTIONS", ":path", "*")},
		{name: "path scheme relative", head: asking(":path", "//evil.test/case"), forwarded: "GET /evil.test/case "},
		{name: "path absolute", head: asking(":path", "http://evil.test/case")},
		{name: "path absolute, same host", head: asking(":path", "http://any.test/case")},
		{name: "path absolute, https", head: asking(":path", "https://evil.test/case")},
		{name: "path absolute, no authority", head: lacking(":authority", ":path", "http://any.test/case")},
		{name: "path absolute of OPTIONS", head: asking(":method", "OPTIONS", ":path", "http://evil.test")},
		{name: "path absolute, ftp", head: asking(":path", "ftp://evil.test/case")},
		{name: "path absolute, one slash", head: asking(":path", "http:/case")},
		{name: "path absolute, no slash", head: asking(":path", "http:case")},
		{name: "path percent bad", head: asking(":path", "/case%zz")},
		{name: "path letters", head: asking(":path", "/c\u00e4se"), forwarded: "GET /c%C3%A4se "},
		{name: "query space", head: asking(":path", "/case?a b")},
		{name: "query is a request", head: asking(":path", "/case?a"+split)},
		{name: "query LF", head: asking(":path", "/case?a\nb")},
		{name: "query NUL", head: asking(":path", "/case?a\x00b")},
		{name: "scheme is a request", head: asking(":scheme", "http://any.test/evil HTTP/1.1\r\n\r\n")},
		{name: "scheme missing", head: lacking(":scheme")},
		{name: "scheme twice", head: append([]string{":scheme", "https"}, asking()...)},
		{name: "pseudo unknown", head: append([]string{":evil", "1"}, asking()...)},
		{name: "pseudo status", head: append([]string{":status", "200"}, asking()...)},
		{name: "pseudo behind others", head: append([]string{"x-a", "b"}, asking()...)},
	}
}

// authorities is about what becomes Host.
func authorities() []stream {
	return []stream{
		{name: "authority space", head: asking(":authority", "any.test evil.test")},
		{name: "authority CR LF", head: asking(":authority", "any.test\r\nX-Evil: 1")},
		{name: "authority NUL", head: asking(":authority", "any.test\x00")},
		{name: "authority path", head: asking(":authority", "any.test/evil")},
		{name: "authority userinfo", head: asking(":authority", "evil@any.test")},
		{name: "authority list", head: asking(":authority", "any.test, evil.test")},
		{name: "authority letters", head: asking(":authority", "\u00e4ny.test")},
		{
			name: "authority underscore", head: asking(":authority", "any_one.test"), forwarded: plainCase,
			host: "any_one.test",
		},
		{name: "authority port", head: asking(":authority", "any.test:8080"), forwarded: plainCase, host: "any.test:8080"},
		{name: "authority port empty", head: asking(":authority", "any.test:"), forwarded: plainCase, host: "any.test:"},
		{name: "authority port text", head: asking(":authority", "any.test:http")},
		{name: "authority port negative", head: asking(":authority", "any.test:-1")},
		{name: "authority port too large", head: asking(":authority", "any.test:99999")},
		{name: "authority port alone", head: asking(":authority", ":80")},
		{name: "authority two ports", head: asking(":authority", "any.test:80:80")},
		{
			name: "authority IPv6", head: asking(":authority", "[2001:db8::1]:80"), forwarded: plainCase,
			host: "[2001:db8::1]:80",
		},
		{name: "authority IPv6 open", head: asking(":authority", "[2001:db8::1")},
		{name: "authority IPv6 and more", head: asking(":authority", "[::1]x")},
		{name: "authority IPv6 zone", head: asking(":authority", "[::1%25eth0]")},
		{name: "authority brackets", head: asking(":authority", "[]")},
		{name: "authority bracket within", head: asking(":authority", "a]b")},
		{name: "authority percent", head: asking(":authority", "%")},
		{name: "authority percent bad", head: asking(":authority", "any%zztest")},
		{name: "authority empty", head: asking(":authority", "")},
		{name: "authority missing", head: lacking(":authority")},
		{name: "authority missing, host empty", head: lacking(":authority", "host", "")},
		{name: "authority missing, host port text", head: lacking(":authority", "host", "any.test:http")},
		{name: "authority missing, host", head: lacking(":authority", "host", "any.test"), forwarded: plainCase},
		{name: "authority twice", head: append([]string{":authority", "evil.test"}, asking()...)},
		{name: "authority and another host", head: asking("host", "evil.test")},
		{name: "authority and two hosts", head: asking("host", "evil.test", "host", "any.test")},
	}
}

// others is about the other fields.
func others() []stream {
	return []stream{
		{name: "name upper case", head: asking("X-A", "b")},
		{name: "name upper case coding", head: posting("Transfer-Encoding", "chunked"), body: end + evil},
		{name: "name colon", head: asking("x-a:b", "c")},
		{name: "name colon and space", head: asking("x-a: b", "c")},
		{name: "name space", head: asking("x a", "b")},
		{name: "name trailing space", head: asking("x-a ", "b")},
		{name: "name length with space", head: posting("content-length ", "5"), body: "hello"},
		{name: "name CR LF", head: asking("x-a\r\nx-evil", "b")},
		{name: "name is a request", head: asking("x-a: b\r\n\r\nGET /evil HTTP/1.1\r\nhost", "any.test")},
		{name: "name LF", head: asking("x-a\n", "b")},
		{name: "name NUL", head: asking("x\x00a", "b")},
		{name: "name DEL", head: asking("x\x7fa", "b")},
		{name: "name letters", head: asking("x-\u00e4", "b")},
		{name: "name brackets", head: asking("x(a)", "b")},
		{name: "name empty", head: asking("", "b")},
		{
			name: "name underscore", head: posting("transfer_encoding", "chunked"), body: "hello",
			forwarded: "POST /case hello",
		},
		{name: "value CR LF", head: asking("x-a", "b\r\nx-evil: 1")},
		{name: "value CR LF coding", head: posting("x-a", "b\r\ntransfer-encoding: chunked"), body: end + evil},
		{name: "value is a request", head: asking("x-a", "b\r\n\r\n"+evil)},
		{name: "value LF", head: asking("x-a", "b\nx-evil: 1")},
		{name: "value CR", head: asking("x-a", "b\rx-evil: 1")},
		{name: "value NUL", head: asking("x-a", "b\x00c")},
		{name: "value control", head: asking("x-a", "b\x01c")},
		{name: "value DEL", head: asking("x-a", "b\x7fc")},
		{name: "value letters", head: asking("x-a", "\u00e4"), forwarded: plainCase},
		{name: "cookies", head: asking("cookie", "a=b", "cookie", "c=d"), forwarded: plainCase},
		{name: "coding", head: posting("transfer-encoding", "chunked"), body: end + evil},
		{name: "coding and length", head: posting("transfer-encoding", "chunked", "content-length", "5"), body: end},
		{name: "coding identity", head: posting("transfer-encoding", "identity"), body: "hello"},
		{name: "coding hidden", head: posting("transfer-encoding", "\x0bchunked"), body: end},
		{name: "connection close", head: asking("connection", "close")},
		{name: "connection keep-alive", head: asking("connection", "keep-alive")},
		{name: "connection names coding", head: asking("connection", "transfer-encoding")},
		{name: "keep-alive", head: asking("keep-alive", "timeout=5")},
		{name: "proxy-connection", head: asking("proxy-connection", "keep-alive")},
		{name: "upgrade", head: asking("upgrade", "h2c")},
		{name: "upgrade with settings", head: asking("connection", "upgrade, http2-settings", "upgrade", "h2c",
			"http2-settings", "AAMAAABkAAQAAP__")},
		{name: "te trailers", head: asking("te", "trailers"), forwarded: plainCase},
		{name: "te gzip", head: asking("te", "gzip")},
		{
			name: "expect", head: posting("expect", "100-continue", "content-length", "5"), body: "hello",
			forwarded: "POST /case hello",
		},
		{name: "fields many", head: asking(strings.Split(strings.Repeat("x-a,b,", 20_000)+"x,y", ",")...)},
	}
}

// lengthsAndTrailers is about what becomes the framing in HTTP/1.1.
func lengthsAndTrailers() []stream {
	const whole = "POST /case hello"
	return []stream{
		{name: "body", head: posting(), body: "hello", forwarded: whole},
		{name: "body is chunks and a request", head: posting(), body: hiding, forwarded: "POST /case " + hiding},
		{name: "body of GET is a request", head: asking(), body: evil, forwarded: plainCase + evil},
		{name: "body of HEAD", head: asking(":method", "HEAD"), body: evil, forwarded: "HEAD /case " + evil},
		{name: "length", head: posting("content-length", "5"), body: "hello", forwarded: whole},
		{name: "length too small", head: posting("content-length", "3"), body: "hello"},
		{name: "length too small, request behind", head: posting("content-length", "5"), body: "hello" + evil},
		{name: "length too large", head: posting("content-length", "50"), body: "hello"},
		{name: "length twice", head: posting("content-length", "5", "content-length", "5"), body: "hello"},
		{name: "length twice, other", head: posting("content-length", "5", "content-length", "0"), body: "hello"},
		{name: "length twice, other first", head: posting("content-length", "0", "content-length", "5"), body: "hello"},
		{name: "length list", head: posting("content-length", "5, 0"), body: "hello"},
		{name: "length list, equal", head: posting("content-length", "5, 5"), body: "hello"},
		{name: "length plus", head: posting("content-length", "+5"), body: "hello"},
		{name: "length plus, no body", head: posting("content-length", "+5")},
		{name: "length minus", head: posting("content-length", "-5"), body: "hello"},
		{name: "length minus, no body", head: posting("content-length", "-5")},
		{name: "length hexadecimal", head: posting("content-length", "0x5"), body: "hello"},
		{name: "length fraction", head: posting("content-length", "5.0"), body: "hello"},
		{name: "length empty", head: posting("content-length", ""), body: "hello"},
		{name: "length empty, no body", head: posting("content-length", "")},
		{name: "length spaces", head: posting("content-length", " 5 "), body: "hello"},
		{name: "length 2^64+5", head: posting("content-length", "18446744073709551621"), body: "hello"},
		{name: "length other digits", head: posting("content-length", "\u0665"), body: "hello"},
		{name: "length invalid, open", head: posting("content-length", "+0"), open: true},
		{name: "length, no body", head: posting("content-length", "5")},
		{name: "length, empty body", head: posting("content-length", "5"), open: true},
		{name: "length of GET, no body", head: asking("content-length", "5")},
		{name: "length 0", head: posting("content-length", "0"), forwarded: "POST /case "},
		{name: "length 0, empty body", head: posting("content-length", "0"), open: true, forwarded: "POST /case "},
		{name: "length 0, body", head: posting("content-length", "0"), body: "hello"},
		{name: "length 0, request behind", head: posting("content-length", "0"), body: evil},
		{
			name: "length 0, trailers", head: posting("content-length", "0"), trailer: []string{"x-sum", "1"},
			forwarded: "POST /case ",
		},
		{name: "no length, empty body", head: posting(), open: true, forwarded: "POST /case "},
		{name: "length CR LF", head: posting("content-length", "5\r\nTransfer-Encoding: chunked"), body: "hello"},
		{
			name: "trailers", head: posting("trailer", "x-sum"), body: "hello", trailer: []string{"x-sum", "1"},
			forwarded: whole,
		},
		{name: "trailer CR LF", head: posting("trailer", "x-sum"), body: "hello", trailer: []string{"x-sum", "1\r\n\r\n" +
			evil}},
		{name: "trailer name CR LF", head: posting(), body: "hello", trailer: []string{"x-sum\r\n\r\n", "1"}},
		{
			name: "trailer length", head: posting("trailer", "content-length"), body: "hello",
			trailer: []string{"content-length", "50"}, forwarded: whole,
		},
		{name: "trailer coding", head: posting(), body: "hello", trailer: []string{"transfer-encoding", "chunked"}},
		{name: "trailer pseudo", head: posting(), body: "hello", trailer: []string{":path", "/evil"}},
		{name: "trailer upper case", head: posting(), body: "hello", trailer: []string{"X-Sum", "1"}},
	}
}

func streams() []stream {
	var all []stream
	for _, class := range [][]stream{pseudos(), authorities(), others(), lengthsAndTrailers()} {
		all = append(all, class...)
	}
	return all
}
