package oracle

import "strings"

// request is what a client sends.
type request struct {
	name, bytes string
	// cut closes the client's side of the connection before the end.
	cut bool
}

// evil is the request that an attacker smuggles.
const evil = "GET /evil HTTP/1.1\r\nHost: any.test\r\n\r\n"

// get and post put a request together; fields end with CR LF.
func get(fields string) string { return "GET /case HTTP/1.1\r\nHost: any.test\r\n" + fields + "\r\n" }

func post(fields, body string) string {
	return "POST /case HTTP/1.1\r\nHost: any.test\r\n" + fields + "\r\n" + body
}

// chunked puts a request with chunks together.
func chunked(body string) string { return post("Transfer-Encoding: chunked\r\n", body) }

// What bodies of chunks are made of.
const (
	end  = "0\r\n\r\n"
	five = "5\r\nhello\r\n"
	// hiding ends as chunks where evil begins.
	hiding = end + evil
)

// framing is about lengths, and bodies with two of them.
func framing() []request {
	return []request{
		{name: "length", bytes: post("Content-Length: 5\r\n", "hello")},
		{name: "chunks", bytes: chunked(five + end)},
		{name: "no body", bytes: post("", "")},
		{name: "empty body", bytes: post("Content-Length: 0\r\n", "")},
		{name: "no length, bytes behind", bytes: post("", "hello")},
		{name: "no length, request behind", bytes: post("", evil)},
		{name: "cl.te", bytes: post("Content-Length: 42\r\nTransfer-Encoding: chunked\r\n", hiding)},
		{name: "cl.te, short length", bytes: post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")},
		{name: "te.cl", bytes: post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "5c\r\n"+strings.Repeat("x", 92)+
			"\r\n"+end)},
		{name: "te.cl, equal", bytes: post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", end)},
		{
			name:  "cl.te in HTTP/1.0",
			bytes: "POST /case HTTP/1.0\r\nHost: any.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + end,
		},
		{name: "te in HTTP/1.0", bytes: "POST /case HTTP/1.0\r\nHost: any.test\r\nTransfer-Encoding: chunked\r\n\r\n" + end},
		{
			name: "te in HTTP/1.0, kept",
			bytes: "POST /case HTTP/1.0\r\nHost: any.test\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n" +
				hiding,
		},
		{name: "cl.cl", bytes: post("Content-Length: 5\r\nContent-Length: 0\r\n", "hello")},
		{name: "cl.cl, request behind", bytes: post("Content-Length: 0\r\nContent-Length: 38\r\n", evil)},
		{name: "cl.cl, equal", bytes: post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello")},
		{name: "cl list", bytes: post("Content-Length: 5, 0\r\n", "hello")},
		{name: "cl list, equal", bytes: post("Content-Length: 5, 5\r\n", "hello")},
		{name: "cl list, trailing comma", bytes: post("Content-Length: 5,\r\n", "hello")},
		{name: "cl plus", bytes: post("Content-Length: +5\r\n", "hello")},
		{name: "cl minus", bytes: post("Content-Length: -5\r\n", "hello")},
		{name: "cl minus zero", bytes: post("Content-Length: -0\r\n", "")},
		{name: "cl hexadecimal", bytes: post("Content-Length: 0x5\r\n", "hello")},
		{name: "cl fraction", bytes: post("Content-Length: 5.0\r\n", "hello")},
		{name: "cl exponent", bytes: post("Content-Length: 5e0\r\n", "hello")},
		{name: "cl empty", bytes: post("Content-Length:\r\n", "hello")},
		{name: "cl two numbers", bytes: post("Content-Length: 5 5\r\n", "hello")},
		{name: "cl underscore", bytes: post("Content-Length: 0_5\r\n", "hello")},
		{name: "cl quoted", bytes: post("Content-Length: \"5\"\r\n", "hello")},
		{name: "cl zeros", bytes: post("Content-Length: 005\r\n", "hello")},
		{name: "cl many zeros", bytes: post("Content-Length: "+strings.Repeat("0", 30)+"5\r\n", "hello")},
		{name: "cl 2^63", bytes: post("Content-Length: 9223372036854775808\r\n", "hello")},
		{name: "cl 2^64+5", bytes: post("Content-Length: 18446744073709551621\r\n", "hello")},
		{name: "cl other digits", bytes: post("Content-Length: \u0665\r\n", "hello")},
		{name: "cl vertical tab", bytes: post("Content-Length: \x0b5\r\n", "hello")},
		{name: "cl NUL", bytes: post("Content-Length: 5\x00\r\n", "hello")},
		{name: "cl space colon", bytes: post("Content-Length : 5\r\n", "hello")},
		{name: "cl folded", bytes: post("Content-Length:\r\n 5\r\n", "hello")},
		{name: "cl with tab", bytes: post("Content-Length:\t5\t\r\n", "hello")},
		{name: "cl of GET", bytes: get("Content-Length: 38\r\n") + evil},
		{name: "cl of HEAD", bytes: "HEAD /case HTTP/1.1\r\nHost: any.test\r\nContent-Length: 5\r\n\r\nhello"},
		{name: "cl of DELETE", bytes: "DELETE /case HTTP/1.1\r\nHost: any.test\r\nContent-Length: 5\r\n\r\nhello"},
		{name: "cl in Connection", bytes: post("Content-Length: 38\r\nConnection: Content-Length\r\n", evil)},
	}
}

// codings is about Transfer-Encoding and its disguises.
func codings() []request {
	return []request{
		{name: "te in Connection", bytes: post("Transfer-Encoding: chunked\r\nConnection: Transfer-Encoding\r\n", hiding)},
		{name: "te of GET", bytes: get("Transfer-Encoding: chunked\r\n") + five + end},
		{name: "te other case", bytes: post("tRANSFER-eNCODING: Chunked\r\n", five+end)},
		{name: "te identity", bytes: post("Transfer-Encoding: identity\r\nContent-Length: 5\r\n", "hello")},
		{name: "te unknown", bytes: post("Transfer-Encoding: xchunked\r\n", end)},
		{name: "te suffix", bytes: post("Transfer-Encoding: chunkedx\r\n", end)},
		{name: "te gzip, chunked", bytes: post("Transfer-Encoding: gzip, chunked\r\n", end)},
		{name: "te chunked, gzip", bytes: post("Transfer-Encoding: chunked, gzip\r\n", end)},
		{name: "te chunked, identity", bytes: post("Transfer-Encoding: chunked, identity\r\n", hiding)},
		{name: "te twice", bytes: post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", hiding)},
		{name: "te twice, other", bytes: post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", hiding)},
		{name: "te twice in a list", bytes: post("Transfer-Encoding: chunked, chunked\r\n", end)},
		{name: "te quoted", bytes: post("Transfer-Encoding: \"chunked\"\r\n", end)},
		{name: "te parameter", bytes: post("Transfer-Encoding: chunked;x=y\r\n", end)},
		{name: "te comma", bytes: post("Transfer-Encoding: ,chunked\r\n", end)},
		{name: "te empty", bytes: post("Transfer-Encoding:\r\nContent-Length: 5\r\n", "hello")},
		{name: "te vertical tab", bytes: post("Transfer-Encoding: \x0bchunked\r\n", end)},
		{name: "te form feed", bytes: post("Transfer-Encoding: chunked\x0c\r\n", end)},
		{name: "te NUL", bytes: post("Transfer-Encoding: chunked\x00\r\n", end)},
		{name: "te no-break space", bytes: post("Transfer-Encoding: \u00a0chunked\r\n", end)},
		{name: "te tabs", bytes: post("Transfer-Encoding:\tchunked\t\r\n", five+end)},
		{name: "te space colon", bytes: post("Transfer-Encoding : chunked\r\nContent-Length: 5\r\n", end)},
		{name: "te tab colon", bytes: post("Transfer-Encoding\t: chunked\r\nContent-Length: 5\r\n", end)},
		{name: "te space first", bytes: post(" Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", end)},
		{name: "te folded", bytes: post("Transfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n", end)},
		{name: "te behind a fold", bytes: post("X-A: b\r\n Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", end)},
		{name: "te behind LF", bytes: post("X-A: b\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n", end)},
		{name: "te behind CR", bytes: post("X-A: b\rTransfer-Encoding: chunked\r\nContent-Length: 5\r\n", end)},
		{name: "te underscore", bytes: post("Transfer_Encoding: chunked\r\nContent-Length: 5\r\n", "hello")},
		{name: "te other letters", bytes: post("Tran\u017ffer-Encoding: chunked\r\nContent-Length: 5\r\n", "hello")},
	}
}

// breaks is about bodies that end too early.
func breaks() []request {
	return []request{
		{name: "length, cut", bytes: post("Content-Length: 50\r\n", "hello"), cut: true},
		{name: "length, cut before the body", bytes: post("Content-Length: 5\r\n", ""), cut: true},
		{name: "chunks, cut", bytes: chunked(five), cut: true},
		{name: "chunks, cut within one", bytes: chunked("5\r\nhel"), cut: true},
		{name: "chunks, cut within a size", bytes: chunked("5"), cut: true},
		{name: "chunks, cut within the end", bytes: chunked(five + "0\r\n"), cut: true},
	}
}
