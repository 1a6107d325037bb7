package oracle

// differences are the requests with which Sluice does what neither nginx nor haproxy does.
func differences() map[string]difference {
	const (
		lf       = "RFC 9112 section 2.2: a bare LF may be taken for the end of a line, or not"
		chunkLF  = "RFC 9112 section 7.1: CR LF ends the lines of chunks (CVE-2025-22871)"
		controls = "RFC 9110 section 5.5: control characters are invalid in a value and dangerous to log"
		authors  = "RFC 9112 section 3.2: an invalid Host is answered with 400"
		brackets = "RFC 9112 section 3.2, RFC 3986 section 3.2.2: brackets hold an IPv6 address, which stands nowhere " +
			"else, has no zone and nothing but a port behind it"
		port = "RFC 9112 section 3.2, RFC 3986 section 3.2.3: a port is a number, and RFC 9293 section 3.1 leaves it " +
			"16 bits"
		word   = "RFC 9112 section 3: one space on each side of the target"
		size   = "RFC 9112 section 7.1: a chunk size is hexadecimal digits, few enough not to overflow"
		white  = "RFC 9112 section 7.1.1: white space stands only before an extension"
		large  = "RFC 6585 section 5: 431 says what the matter is, peers say 400"
		wavers = "; haproxy 2.6 " + sometimes
		tea    = "RFC 9110 section 10.1.1: an expectation that is not known may be answered with 417"
	)
	return map[string]difference{
		"chunk LF behind": {"refuses", chunkLF},
		"chunk size LF":   {"refuses", chunkLF},
		"chunk too short": {
			"refuses",
			"RFC 9112 section 7.1: CR belongs to the data here, and what is behind the data is no CR LF",
		},
		"end LF":                      {"refuses", chunkLF},
		"end LF last":                 {"refuses", chunkLF},
		"extension LF":                {"refuses", chunkLF},
		"field LF":                    {"refuses", lf},
		"field LF LF, request behind": {"refuses", lf},
		"field LF at the end":         {"refuses", lf},
		"field LF everywhere":         {"refuses", lf},
		"line LF":                     {"refuses", lf},
		"line LF first":               {"refuses", lf},
		"second behind LF":            {"refuses", lf},
		"trailer LF":                  {"refuses", chunkLF},
		"chunk size 17 digits":        {"refuses", size},
		"chunk size space behind":     {"refuses", white},
		"chunk size tab behind":       {"refuses", white},
		"extension NUL":               {"refuses", "RFC 9112 section 7.1.1: an extension is of tokens and quoted strings"},
		"extensions on every byte": {
			"refuses",
			"RFC 9112 section 7.1.1: the length of extensions should be limited (CVE-2023-39326)",
		},
		"extension long": {
			"refuses",
			"RFC 9112 section 7.1.1: the length of extensions should be limited (CVE-2023-39326)",
		},
		"trailer NUL": {"refuses", controls},
		"trailer announced length": {
			"refuses",
			"RFC 9110 section 6.5.1: a framing field is no trailer, and who announces it means to frame twice",
		},
		"trailer folded": {"refuses", "RFC 9112 section 5.2: a folded line is refused, or replaced"},
		"trailer space colon": {
			"refuses",
			"RFC 9112 section 5.1: white space before the colon is answered with 400 (CVE-2019-16276)" + wavers,
		},
		"field DEL":                   {"refuses", controls},
		"field control":               {"refuses", controls},
		"field escape":                {"refuses", controls},
		"field vertical tab":          {"refuses", controls},
		"host brackets":               {"refuses", brackets},
		"host IPv4 in brackets":       {"refuses", brackets},
		"host IPv6 and more":          {"refuses", brackets},
		"host IPv6 open":              {"refuses", brackets},
		"host IPv6 zone":              {"refuses", brackets},
		"host IPv6 zone, not encoded": {"refuses", brackets},
		"host IPv6 without brackets":  {"refuses", brackets},
		"host percent":                {"refuses", authors},
		"host percent bad":            {"refuses", authors},
		"host bracket within":         {"refuses", authors},
		"host port negative":          {"refuses", port},
		"host port text":              {"refuses", port},
		"host port text, 1.0":         {"refuses", port},
		"host port too large":         {"refuses", port},
		"host two ports":              {"refuses", port},
		"host backslash":              {"refuses", authors},
		"host fragment":               {"refuses", authors},
		"host other letters":          {"refuses", authors},
		"host query":                  {"refuses", authors},
		"host quotes":                 {"refuses", authors},
		"host userinfo":               {"refuses", authors},
		"line two spaces":             {"refuses", word},
		"line two spaces behind":      {"refuses", word},
		"absolute, ftp":               {"refuses", "RFC 9110 section 7.4: a target of another scheme is not for this server"},
		"expect odd":                  {"refuses", tea},
		"expect other":                {"refuses", tea},
		"field 20 KiB": {
			"accepts",
			"RFC 9110 section 5.4: limits are up to the server; 1 MiB here, as with net/http",
		},
		"field 2 MiB":  {"answers 431 for 400", large},
		"fields 20000": {"answers 431 for 400", large},
		"PRI": {
			"answers 505 for 400",
			"RFC 9110 section 15.6.6: the preface of HTTP/2 that ends early is a request of a version not served here",
		},
		"TLS": {
			"answers 0 for 400",
			"RFC 8446 section 6: a client that begins with a TLS record gets an alert",
		},
	}
}

// rewritten are the requests of which the backend gets something else from Sluice than from the peers that are named.
func rewritten() map[string]rewrite {
	const (
		everybody = nginx + " " + haproxy + " " + theirs
		servers   = nginx + " " + haproxy
		canonical = "RFC 3986 section 6.2.2: routes are chosen by the normal form, and the backend gets what was decided on"
		encoded   = "RFC 3986 section 2.1: bytes that no path may contain are sent encoded"
		alias     = "RFC 9110 section 5.1: any token names a field; nginx drops what CGI confuses with other names"
		absent    = "RFC 9112 section 3.2: a request in HTTP/1.1 has a Host, and where the client names none it is the " +
			"backend's"
		origin   = "RFC 9112 section 3.2.2: to an origin server the target goes in origin form"
		hops     = "RFC 9110 section 7.6.1: the field is for this hop"
		upgrades = "RFC 9110 section 7.8: an upgrade is passed on if Connection lists it, and then alone"
	)
	return map[string]rewrite{
		"absolute":          {haproxy, origin},
		"absolute, https":   {haproxy, origin},
		"absolute, no path": {haproxy, origin},
		"absolute, other host": {
			nginx,
			"RFC 9112 section 3.2.2: the target's host replaces the Host that came with it",
		},
		"absolute, port empty": {
			servers,
			"RFC 9112 section 3.2.2: the target's host replaces the Host that came with it",
		},
		"absolute, upper case":    {servers, origin},
		"connection names own":    {servers, hops},
		"field dot":               {nginx, alias},
		"field odd name":          {nginx, alias},
		"field underscore":        {nginx, alias},
		"te underscore":           {nginx, alias},
		"host empty":              {haproxy, absent},
		"host missing, 1.0":       {servers, absent},
		"keep-alive field":        {haproxy, hops},
		"path LF encoded":         {everybody, canonical},
		"path backslash":          {servers, encoded},
		"path dots":               {everybody, canonical},
		"path dots above":         {haproxy + " " + theirs, canonical},
		"path dots encoded":       {everybody, canonical},
		"path invalid UTF-8":      {nginx, encoded},
		"path other letters":      {nginx, encoded},
		"path quotes":             {servers, encoded},
		"path slash encoded":      {everybody, canonical},
		"path slashes":            {everybody, canonical},
		"path unreserved encoded": {everybody, canonical},
		"scheme relative":         {everybody, canonical},
		"proxy authorization":     {servers, hops},
		"proxy keep-alive":        {servers, hops},
		"query odd": {
			theirs,
			"RFC 3986 section 3.4: the query is the backend's, and goes as it came; ReverseProxy drops what it can't parse",
		},
		"te field": {
			nginx,
			"RFC 9110 section 10.1.4: trailers are passed on, so whether they are welcome is, too",
		},
		"upgrade h2c": {
			everybody,
			"RFC 9113 section 3.1: the upgrade to h2c is obsolete, and smuggles where it is passed on",
		},
		"upgrade websocket, refused":        {nginx, upgrades},
		"upgrade websocket, request behind": {nginx, upgrades},
		"upgrade with body":                 {theirs, upgrades},
		"upgrade without Connection":        {haproxy, upgrades},
	}
}

// responseDifferences are the responses with which Sluice does what neither nginx nor haproxy does.
func responseDifferences() map[string]difference {
	const (
		lf       = "RFC 9112 section 2.2: a bare LF is a part of the line if it is not taken for its end"
		both     = "RFC 9112 section 6.3: two lengths ought to be an error, they split responses"
		lengths  = "RFC 9112 section 6.3: one length, or the framing is invalid"
		status   = "RFC 9112 section 4: three digits, from 100"
		controls = "RFC 9112 section 4, RFC 9110 section 5.5: control characters are invalid"
	)
	return map[string]difference{
		"1xx flood":            {"refuses", "RFC 9110 section 15.2: any number of them, but not without end"},
		"LF behind a field":    {"refuses", lf},
		"LF behind the line":   {"refuses", lf},
		"LF everywhere":        {"refuses", lf},
		"chunk LF behind":      {"refuses", lf},
		"chunk end LF":         {"refuses", lf},
		"chunk extension LF":   {"refuses", lf},
		"chunk size LF":        {"refuses", lf},
		"te behind LF":         {"refuses", lf},
		"trailer LF":           {"refuses", lf},
		"chunks, HTTP/1.0":     {"refuses", "RFC 9112 section 6.1: a transfer coding in HTTP/1.0 is faulty framing"},
		"cl list":              {"refuses", lengths},
		"cl.cl, equal":         {"refuses", lengths},
		"cl.te":                {"refuses", both},
		"te.cl":                {"refuses", both},
		"te.cl, poison behind": {"refuses", both},
		"control in a value":   {"refuses", controls},
		"reason with NUL":      {"refuses", controls},
		"empty line first":     {"refuses", "RFC 9112 section 2.2: empty lines are ignored before requests alone"},
		"status 99":            {"refuses", status},
		"status four digits":   {"refuses", status},
		"status two digits":    {"refuses", status},
		"status two spaces":    {"refuses", "RFC 9112 section 4: one space before the status"},
		"version 2.0":          {"refuses", "RFC 9110 section 2.5: another major version has another syntax"},
	}
}
