package wire

// staticIndex returns the index of a name, in canonical or lower case, in the static table of HPACK (RFC 7541, appendix
// A), or 0. Of several entries with the name it is the first.
func staticIndex(name string) int {
	switch len(name) {
	case 3:
		return pick(name, "Age", "age", 21) + pick(name, "Via", "via", 60)
	case 4:
		switch name {
		case "Date", "date":
			return 33
		case "Etag", "etag":
			return 34
		case "From", "from":
			return 37
		case "Host", "host":
			return 38
		case "Link", "link":
			return 45
		case "Vary", "vary":
			return 59
		}
	case 5:
		return pick(name, "Allow", "allow", 22) + pick(name, "Range", "range", 50)
	case 6:
		switch name {
		case "Accept", "accept":
			return 19
		case "Cookie", "cookie":
			return 32
		case "Expect", "expect":
			return 35
		case "Server", "server":
			return 54
		}
	case 7:
		return pick(name, "Expires", "expires", 36) + pick(name, "Referer", "referer", 51) +
			pick(name, "Refresh", "refresh", 52)
	case 8:
		return pick(name, "If-Match", "if-match", 39) + pick(name, "If-Range", "if-range", 42) +
			pick(name, "Location", "location", 46)
	default:
		return longIndex(name)
	}
	return 0
}

func longIndex(name string) int {
	switch name {
	case "Accept-Charset", "accept-charset":
		return 15
	case "Accept-Encoding", "accept-encoding":
		return 16
	case "Accept-Language", "accept-language":
		return 17
	case "Accept-Ranges", "accept-ranges":
		return 18
	case "Access-Control-Allow-Origin", "access-control-allow-origin":
		return 20
	case "Authorization", "authorization":
		return 23
	case "Cache-Control", "cache-control":
		return 24
	case "Content-Disposition", "content-disposition":
		return 25
	case "Content-Encoding", "content-encoding":
		return 26
	case "Content-Language", "content-language":
		return 27
	case "Content-Length", "content-length":
		return 28
	case "Content-Location", "content-location":
		return 29
	case "Content-Range", "content-range":
		return 30
	case "Content-Type", "content-type":
		return 31
	case "If-Modified-Since", "if-modified-since":
		return 40
	case "If-None-Match", "if-none-match":
		return 41
	case "If-Unmodified-Since", "if-unmodified-since":
		return 43
	case "Last-Modified", "last-modified":
		return 44
	case "Max-Forwards", "max-forwards":
		return 47
	case "Proxy-Authenticate", "proxy-authenticate":
		return 48
	case "Proxy-Authorization", "proxy-authorization":
		return 49
	case "Retry-After", "retry-after":
		return 53
	case "Set-Cookie", "set-cookie":
		return 55
	case "Strict-Transport-Security", "strict-transport-security":
		return 56
	case "Transfer-Encoding", "transfer-encoding":
		return 57
	case "User-Agent", "user-agent":
		return 58
	case "Www-Authenticate", "www-authenticate":
		return 61
	}
	return 0
}

func pick(name, canonical, lower string, index int) int {
	if name == canonical || name == lower {
		return index
	}
	return 0
}
