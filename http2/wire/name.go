package wire

import "net/textproto"

// Canonical returns the canonical spelling of the name of a field in lower case, as net/http has it. Common names cost
// no allocation.
func Canonical(name string) string {
	switch name {
	case "accept":
		return "Accept"
	case "accept-charset":
		return "Accept-Charset"
	case "accept-encoding":
		return "Accept-Encoding"
	case "accept-language":
		return "Accept-Language"
	case "accept-ranges":
		return "Accept-Ranges"
	case "access-control-allow-origin":
		return "Access-Control-Allow-Origin"
	case "access-control-request-headers":
		return "Access-Control-Request-Headers"
	case "access-control-request-method":
		return "Access-Control-Request-Method"
	case "age":
		return "Age"
	case "allow":
		return "Allow"
	case "authorization":
		return "Authorization"
	case "cache-control":
		return "Cache-Control"
	case "content-disposition":
		return "Content-Disposition"
	case "content-encoding":
		return "Content-Encoding"
	case "content-language":
		return "Content-Language"
	case "content-length":
		return "Content-Length"
	case "content-location":
		return "Content-Location"
	case "content-range":
		return "Content-Range"
	case "content-type":
		return "Content-Type"
	case "cookie":
		return "Cookie"
	case "date":
		return "Date"
	case "dnt":
		return "Dnt"
	case "etag":
		return "Etag"
	case "expect":
		return "Expect"
	case "expires":
		return "Expires"
	case "forwarded":
		return "Forwarded"
	case "from":
		return "From"
	default:
		return canonicalRest(name)
	}
}

func canonicalRest(name string) string {
	switch name {
	case "grpc-encoding":
		return "Grpc-Encoding"
	case "grpc-accept-encoding":
		return "Grpc-Accept-Encoding"
	case "grpc-message":
		return "Grpc-Message"
	case "grpc-status":
		return "Grpc-Status"
	case "grpc-timeout":
		return "Grpc-Timeout"
	case "if-match":
		return "If-Match"
	case "if-modified-since":
		return "If-Modified-Since"
	case "if-none-match":
		return "If-None-Match"
	case "if-range":
		return "If-Range"
	case "if-unmodified-since":
		return "If-Unmodified-Since"
	case "last-modified":
		return "Last-Modified"
	case "location":
		return "Location"
	case "origin":
		return "Origin"
	case "pragma":
		return "Pragma"
	case "priority":
		return "Priority"
	case "range":
		return "Range"
	case "referer":
		return "Referer"
	case "retry-after":
		return "Retry-After"
	case "sec-ch-ua":
		return "Sec-Ch-Ua"
	case "sec-ch-ua-mobile":
		return "Sec-Ch-Ua-Mobile"
	case "sec-ch-ua-platform":
		return "Sec-Ch-Ua-Platform"
	case "sec-fetch-dest":
		return "Sec-Fetch-Dest"
	case "sec-fetch-mode":
		return "Sec-Fetch-Mode"
	case "sec-fetch-site":
		return "Sec-Fetch-Site"
	case "sec-fetch-user":
		return "Sec-Fetch-User"
	case "server":
		return "Server"
	case "set-cookie":
		return "Set-Cookie"
	case "strict-transport-security":
		return "Strict-Transport-Security"
	case "te":
		return "Te"
	case "upgrade-insecure-requests":
		return "Upgrade-Insecure-Requests"
	case "user-agent":
		return "User-Agent"
	case "vary":
		return "Vary"
	case "via":
		return "Via"
	case "www-authenticate":
		return "Www-Authenticate"
	case "x-forwarded-for":
		return "X-Forwarded-For"
	case "x-forwarded-host":
		return "X-Forwarded-Host"
	case "x-forwarded-proto":
		return "X-Forwarded-Proto"
	case "x-request-id":
		return "X-Request-Id"
	}
	return textproto.CanonicalMIMEHeaderKey(name)
}
