// Package canonical defines the canonical form of a request's host and path. Rules, matching, middlewares and
// forwarding all use this form and change it through this package only, so that a request is forwarded with the path by
// which it was routed.
//
// [Policy.Normalize] turns the received request target into a [Target] (the path to forward and the path to route by),
// and [Host] the received Host value into a host.
//
// # Escaped path and routing path
//
// The escaped path is forwarded. It is the received path, byte for byte, except for four normalisations:
// percent-encodings of unreserved characters are decoded (RFC 3986 section 6.2.2.2), the digits of the others are upper
// case (6.2.2.1), bytes that are invalid in a path are percent-encoded, and with [Policy.Sanitize] dot segments and
// empty segments are removed. The routing path is matched with rules: it is the escaped path with every
// percent-encoding decoded except those of reserved characters and of "%" itself, which stay encoded in upper case.
// Each determines the other, so that route(forwarded) == route(received).
//
// # Examples
//
// With [DefaultPolicy]; "refused" is an [*Error], with status 400 unless noted.
//
//	received                    forwarded            routed by           why
//	/a/b                        as received          /a/b
//	/a%20b                      as received          "/a b"
//	/%61%7E                     /a~                  /a~                 unreserved characters are decoded
//	/a%2fb /a%2Fb               /a%2Fb               /a%2Fb              an encoded slash is no separator; AllowSlash
//	/a%5cb, /a\b                /a%5Cb               /a\b                never a separator; AllowBackSlash
//	/a%00b                      as received          /a, NUL, b          AllowNullCharacter
//	/a%3bb %25 %3f %23          upper case           upper case          AllowSemicolon, -Percent, -QuestionMark, -Hash
//	/a;b                        as received          /a;b                a raw semicolon is an ordinary character
//	/a//b, /a/./b, /a/c/../b    /a/b                 /a/b                Sanitize; otherwise as received
//	/%2e%2E/b, /../b            /b                   /b                  Sanitize; never above the root
//	/a/b/.., /a/.               /a                   /a                  Sanitize; no trailing slash is added
//	/a/..;x/b, /a/.;/b          refused                                  Sanitize; some servers read "..;" as ".."
//	/;/a, /;x=y/a, /a/;         refused                                  Sanitize; AllowOnlyParameters
//	/é, /a|b, /a"b (raw)        /%C3%A9, /a%7Cb      /é, /a|b            bytes that are invalid in a path
//	raw space, control bytes    refused                                  they end or split a request line
//	%, %4, %zz                  refused                                  not an encoding
//	raw # in path or query      refused                                  a request target has no fragment
//	OPTIONS *                   *                    *                   other methods: refused
//	OPTIONS http://h            *                    *                   RFC 9112 section 3.2.4
//	http://h/p (absolute form)  /p, Host: h          /p                  RFC 9112 section 3.2.2; empty path is /
//	http://h/p in HTTP/2        refused                                  RFC 9113 section 8.3.1: see :authority
//	http://u@h/p, ftp://h/p     refused                                  userinfo and other schemes
//	CONNECT h:443, CONNECT /p   refused, status 501                      this is no forward proxy
//	anything else without /     refused
//
// Servers refuse invalid hosts (RFC 3986), see [ValidAuthority]: "h:http", "h:99999", ":80", "[::1", "[::1%25eth0]".
// The [Host] of "EXAMPLE.com.:8080" is "example.com", that of "[::1]:80" is "::1".
package canonical
