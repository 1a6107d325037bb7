package oracle

import "strings"

// line puts a request together whose line is special, path one whose target is.
func line(line string) string { return line + "\r\nHost: any.test\r\n\r\n" }

func path(target string) string { return line("GET " + target + " HTTP/1.1") }

// host is one with other fields for Host.
func host(fields string) string { return "GET /case HTTP/1.1\r\n" + fields + "\r\n" }

// methods is about methods and what they may ask for.
func methods() []request {
	return []request{
		{name: "plain", bytes: get("")},
		{name: "method own", bytes: line("PURGE /case HTTP/1.1")},
		{name: "method lower case", bytes: line("get /case HTTP/1.1")},
		{name: "method one letter", bytes: line("G /case HTTP/1.1")},
		{name: "method punctuation", bytes: line("M-SEARCH /case HTTP/1.1")},
		{name: "method odd token", bytes: line("G!#$%&'*+.^_`|~T /case HTTP/1.1")},
		{name: "method brackets", bytes: line("G(T) /case HTTP/1.1")},
		{name: "method colon", bytes: line("GET: /case HTTP/1.1")},
		{name: "method slash", bytes: line("GE/T /case HTTP/1.1")},
		{name: "method control", bytes: line("GE\x01T /case HTTP/1.1")},
		{name: "method NUL", bytes: line("GE\x00T /case HTTP/1.1")},
		{name: "method other letters", bytes: line("G\u00c9T /case HTTP/1.1")},
		{name: "method missing", bytes: line(" /case HTTP/1.1")},
		{name: "method long", bytes: line(strings.Repeat("A", 300) + " /case HTTP/1.1")},
		{name: "TRACE", bytes: line("TRACE /case HTTP/1.1")},
		{name: "CONNECT", bytes: line("CONNECT any.test:443 HTTP/1.1")},
		{name: "CONNECT path", bytes: line("CONNECT /case HTTP/1.1")},
		{name: "PRI", bytes: "PRI * HTTP/2.0\r\n\r\n"},
		{name: "PRI, HTTP/1.1", bytes: line("PRI * HTTP/1.1")},
		{name: "OPTIONS", bytes: line("OPTIONS /case HTTP/1.1")},
		{name: "OPTIONS *", bytes: line("OPTIONS * HTTP/1.1")},
		{name: "GET *", bytes: line("GET * HTTP/1.1")},
		{name: "HEAD", bytes: line("HEAD /case HTTP/1.1")},
	}
}

// lines is about the request line and its version.
func lines() []request {
	return []request{
		{name: "line two spaces", bytes: line("GET  /case HTTP/1.1")},
		{name: "line two spaces behind", bytes: line("GET /case  HTTP/1.1")},
		{name: "line tab", bytes: line("GET\t/case HTTP/1.1")},
		{name: "line tab behind", bytes: line("GET /case\tHTTP/1.1")},
		{name: "line vertical tab", bytes: line("GET /case\x0bHTTP/1.1")},
		{name: "line space first", bytes: line(" GET /case HTTP/1.1")},
		{name: "line space last", bytes: line("GET /case HTTP/1.1 ")},
		{name: "line LF", bytes: "GET /case HTTP/1.1\nHost: any.test\r\n\r\n"},
		{name: "line CR", bytes: "GET /case HTTP/1.1\rHost: any.test\r\n\r\n"},
		{name: "line CR CR LF", bytes: line("GET /case HTTP/1.1\r")},
		{name: "line LF first", bytes: "\n" + get("")},
		{name: "line CR first", bytes: "\r" + get("")},
		{name: "line empty first", bytes: "\r\n" + get("")},
		{name: "line three parts more", bytes: line("GET /case HTTP/1.1 HTTP/1.1")},
		{name: "line no target", bytes: line("GET HTTP/1.1")},
		{name: "line no version", bytes: line("GET /case")},
		{name: "line alone, no version", bytes: "GET /case\r\n"},
		{name: "version 0.9", bytes: line("GET /case HTTP/0.9")},
		{name: "version 1.2", bytes: line("GET /case HTTP/1.2")},
		{name: "version 1.9", bytes: line("GET /case HTTP/1.9")},
		{name: "version 1.10", bytes: line("GET /case HTTP/1.10")},
		{name: "version 01.1", bytes: line("GET /case HTTP/01.1")},
		{name: "version 1", bytes: line("GET /case HTTP/1")},
		{name: "version 1.", bytes: line("GET /case HTTP/1.")},
		{name: "version 1,1", bytes: line("GET /case HTTP/1,1")},
		{name: "version 2.0", bytes: line("GET /case HTTP/2.0")},
		{name: "version 3.0", bytes: line("GET /case HTTP/3.0")},
		{name: "version lower case", bytes: line("GET /case http/1.1")},
		{name: "version name", bytes: line("GET /case HTTQ/1.1")},
		{name: "version other", bytes: line("GET /case ICE/1.0")},
		{name: "version space within", bytes: line("GET /case HTTP /1.1")},
		{name: "version plus", bytes: line("GET /case HTTP/+1.1")},
	}
}

// hosts is about Host.
func hosts() []request {
	return []request{
		{name: "host missing", bytes: host("")},
		{name: "host missing, 1.0", bytes: "GET /case HTTP/1.0\r\n\r\n"},
		{name: "host empty", bytes: host("Host:\r\n")},
		{name: "host twice", bytes: host("Host: any.test\r\nHost: any.test\r\n")},
		{name: "host twice, other", bytes: host("Host: any.test\r\nHost: evil.test\r\n")},
		{name: "host list", bytes: host("Host: any.test, evil.test\r\n")},
		{name: "host space", bytes: host("Host: any.test evil.test\r\n")},
		{name: "host userinfo", bytes: host("Host: evil@any.test\r\n")},
		{name: "host path", bytes: host("Host: any.test/evil\r\n")},
		{name: "host query", bytes: host("Host: any.test?evil\r\n")},
		{name: "host fragment", bytes: host("Host: any.test#evil\r\n")},
		{name: "host backslash", bytes: host("Host: any.test\\evil\r\n")},
		{name: "host quotes", bytes: host("Host: \"any.test\"\r\n")},
		{name: "host port", bytes: host("Host: any.test:8080\r\n")},
		{name: "host empty port", bytes: host("Host: any.test:\r\n")},
		{name: "host port too large", bytes: host("Host: any.test:99999\r\n")},
		{name: "host IPv6", bytes: host("Host: [2001:db8::1]:80\r\n")},
		{name: "host upper case", bytes: host("Host: ANY.Test\r\n")},
		{name: "host trailing dot", bytes: host("Host: any.test.\r\n")},
		{name: "host dots", bytes: host("Host: any..test\r\n")},
		{name: "host underscore", bytes: host("Host: any_one.test\r\n")},
		{name: "host other letters", bytes: host("Host: \u00e4ny.test\r\n")},
		{name: "host encoded", bytes: host("Host: any%2etest\r\n")},
		{name: "host NUL", bytes: host("Host: any.test\x00evil\r\n")},
		{name: "host space colon", bytes: host("Host : any.test\r\n")},
		{name: "host folded", bytes: host("Host:\r\n any.test\r\n")},
		{name: "host long", bytes: host("Host: " + strings.Repeat("a", 300) + ".test\r\n")},
	}
}

// targets is about the forms of a target, and what its path is made of.
func targets() []request {
	return []request{
		{name: "absolute", bytes: path("http://any.test/case?q")},
		{name: "absolute, other host", bytes: path("http://other.test/case")},
		{name: "absolute, no path", bytes: path("http://any.test")},
		{name: "absolute, query alone", bytes: path("http://any.test?q")},
		{name: "absolute, upper case", bytes: path("HTTP://ANY.test/case")},
		{name: "absolute, https", bytes: path("https://any.test/case")},
		{name: "absolute, ftp", bytes: path("ftp://any.test/case")},
		{name: "absolute, no host", bytes: path("http:///case")},
		{name: "absolute, one slash", bytes: path("http:/case")},
		{name: "absolute, userinfo", bytes: path("http://user:secret@any.test/case")},
		{name: "absolute, two userinfos", bytes: path("http://evil.test@user@any.test/case")},
		{name: "absolute, port text", bytes: path("http://any.test:http/case")},
		{name: "absolute, two ports", bytes: path("http://any.test:80:80/case")},
		{name: "absolute, IPv6 open", bytes: path("http://[2001:db8::1/case")},
		{name: "absolute, encoded host", bytes: path("http://any%2etest/case")},
		{name: "absolute, percent in host", bytes: path("http://%zz/case")},
		{name: "absolute, no Host", bytes: "GET http://any.test/case HTTP/1.1\r\n\r\n"},
		{name: "absolute, two hosts", bytes: "GET http://any.test/case HTTP/1.1\r\nHost: any.test\r\nHost: evil.test\r\n\r\n"},
		{name: "absolute, backslash", bytes: path("http://any.test\\evil/case")},
		{name: "authority of GET", bytes: path("any.test:80")},
		{name: "scheme relative", bytes: path("//evil.test/case")},
		{name: "path without slash", bytes: path("case")},
		{name: "path query alone", bytes: path("?case")},
		{name: "path fragment", bytes: path("/case#evil")},
		{name: "path space encoded", bytes: path("/a%20b")},
		{name: "path dots", bytes: path("/a/../case")},
		{name: "path dots above", bytes: path("/../../case")},
		{name: "path dots encoded", bytes: path("/a/%2e%2e/case")},
		{name: "path slash encoded", bytes: path("/a%2fcase")},
		{name: "path slashes", bytes: path("/a//b///case")},
		{name: "path backslash", bytes: path("/a\\case")},
		{name: "path NUL encoded", bytes: path("/case%00")},
		{name: "path LF encoded", bytes: path("/case%0d%0aX-Evil:%201")},
		{name: "path percent alone", bytes: path("/case%")},
		{name: "path percent short", bytes: path("/case%4")},
		{name: "path percent bad", bytes: path("/case%zz")},
		{name: "path percent twice", bytes: path("/case%252e")},
		{name: "path unreserved encoded", bytes: path("/c%61se")},
		{name: "path other letters", bytes: path("/c\u00e4se")},
		{name: "path invalid UTF-8", bytes: path("/c\xffse")},
		{name: "path control", bytes: path("/c\x01se")},
		{name: "path NUL", bytes: path("/c\x00se")},
		{name: "path DEL", bytes: path("/c\x7fse")},
		{name: "path tab", bytes: path("/c\tse")},
		{name: "path CR", bytes: path("/c\rse")},
		{name: "path quotes", bytes: path("/c\"<>`{}|^se")},
		{name: "path semicolon", bytes: path("/case;a=b")},
		{name: "query odd", bytes: path("/case?a=b&&c;d=%zz&\"<>|")},
		{name: "query other letters", bytes: path("/case?c\u00e4se")},
		{name: "query NUL", bytes: path("/case?c\x00se")},
		{name: "query question marks", bytes: path("/case??a?b")},
		{name: "path long", bytes: path("/" + strings.Repeat("a", 6000))},
		{name: "path too long", bytes: path("/" + strings.Repeat("a", 2<<20))},
	}
}
