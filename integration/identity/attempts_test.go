package identity

import (
	"slices"
	"strings"
)

// forged is what attempts have for a value.
const forged = "forged"

// field is a header field as sent. One without a name is a raw line of HTTP/1.1.
type field struct{ name, value string }

// attempt is one way to write a header into a request.
type attempt struct {
	name          string
	head, trailer []field
	// only is the version of HTTP in which the attempt can be made, 1 or 2; 0 is both.
	only int
	// malformed is set if the request may be refused, since clients have no reason to send it.
	malformed bool
	// pseudo replaces fields that HTTP/2 begins with.
	pseudo map[string]string
	// version takes the place of HTTP/1.1.
	version string
}

// attempts returns every way to forge a header.
func attempts(header string) []attempt {
	return slices.Concat(spelt(header), removed(header), raw(header), binary(header))
}

// spellings are the names under which a service may take a field for the header.
func spellings(header string) map[string]string {
	alias := strings.ReplaceAll(header, "-", "_")
	all := map[string]string{
		"plain": header, "in lower case": strings.ToLower(header), "in upper case": strings.ToUpper(header),
		"in mixed case": mixed(header),
		"as an alias":   alias, "as an alias in lower case": strings.ToLower(alias),
		"as an alias in upper case": strings.ToUpper(alias),
	}
	for i, c := range header {
		if c == '-' {
			all["as an alias at "+header[:i]] = header[:i] + "_" + header[i+1:]
		}
	}
	return all
}

func mixed(header string) string {
	text := []byte(strings.ToLower(header))
	for i := 1; i < len(text); i += 2 {
		text[i] = strings.ToUpper(string(text[i]))[0]
	}
	return string(text)
}

// spelt are attempts by well-formed messages.
func spelt(header string) []attempt {
	all := []attempt{{name: "nothing"}}
	add := func(name string, head, trailer []field) {
		all = append(all, attempt{name: name, head: head, trailer: trailer})
	}
	for how, name := range spellings(header) {
		one := field{name, forged}
		add(how, []field{one}, nil)
		add(how+", twice", []field{one, one}, nil)
		add(how+", empty and not", []field{{name, ""}, one, {name, " "}}, nil)
		add(how+", empty", []field{{name, ""}}, nil)
		add(how+", with a header of its own in between", []field{one, {"X-Other", "1"}, one}, nil)
		add(how+", in a trailer", []field{{"Trailer", name}}, []field{one})
		add(how+", in a trailer in other spellings", []field{{"Trailer", name}}, []field{
			{header, forged},
			{strings.ToLower(header), forged},
			one,
		})
		add(how+", in a trailer that was not announced", []field{{"Te", "trailers"}}, []field{one, one})
		add(how+", in the head and a trailer", []field{one, {"Trailer", name + ", " + header}},
			[]field{one, {header, forged}})
		add(how+", announced alone", []field{{"Trailer", name}}, nil)
	}
	var whole []field
	for _, name := range spellings(header) {
		whole = append(whole, field{name, forged})
	}
	add("in all spellings", whole, nil)
	add("in all spellings, in the trailer", []field{{"Trailer", header}}, whole)
	add("many times", slices.Repeat([]field{{header, forged}}, 60), nil)
	add("as a list", []field{{header, forged + ", " + forged + ";" + forged}}, nil)
	add("long", []field{{header, strings.Repeat(forged, 1000)}}, nil)
	return all
}

// removed are attempts to have the header taken away again, or taken for one of the connection (RFC 9110 section
// 7.6.1).
func removed(header string) []attempt {
	var all []attempt
	for how, name := range spellings(header) {
		if strings.Contains(how, " at ") || strings.Contains(how, "mixed") {
			continue
		}
		for what, connection := range map[string][]field{
			"named in Connection":             {{"Connection", name}},
			"named in Connection with others": {{"Connection", "keep-alive, " + name + " ,Te"}, {"Te", "trailers"}},
			"named in two Connections":        {{"Connection", "close"}, {"connection", name}},
			"named in Connection twice":       {{"Connection", name + "," + name + ",, " + strings.ToLower(name)}},
			"named in Proxy-Connection":       {{"Proxy-Connection", name}, {"Keep-Alive", name}},
		} {
			all = append(all,
				attempt{name: what + " " + how, only: 1, head: connection},
				attempt{name: what + " " + how + ", and sent", only: 1, head: slices.Concat(connection,
					[]field{{name, forged}, {header, forged}})},
				attempt{name: what + " " + how + ", and in a trailer", only: 1, head: connection, trailer: []field{{name, forged}}},
			)
		}
	}
	return all
}

// raw are attempts by bytes of HTTP/1.1 that a server may misread.
func raw(header string) []attempt {
	var all []attempt
	for name, lines := range map[string]string{
		"space before the colon": header + " : forged", "tab before the colon": header + "\t: forged",
		"space before the name": " " + header + ": forged",
		"folded":                "X-Fold: a\r\n " + header + ": forged", "folded value": header + ":\r\n forged",
		"bare line feed":       "X-A: a\n" + header + ": forged",
		"bare carriage return": "X-A: a\r" + header + ": forged", "NUL in the name": header + "\x00: forged",
		"NUL before the name": "\x00" + header + ": forged",
		"NUL in a value":      "X-A: a\x00" + header + ": forged", "colon before the name": ":" + header + ": forged",
		"colon and space": ": " + header + ": forged",
		"two colons":      header + ":: forged", "no colon": header, "quotes": `"` + header + `": forged`,
		"no-break space": header + "\u00a0: forged",
		"vertical tab":   header + "\x0b: forged", "delete": header + "\x7f: forged", "comma": header + ",: forged",
		"encoded":        strings.ReplaceAll(header, "-", "%2d") + ": forged",
		"line separator": "X-A: a\u2028" + header + ": forged", "next line": "X-A: a\u0085" + header + ": forged",
		"soft hyphen":       strings.ReplaceAll(header, "-", "\u00ad") + ": forged",
		"hyphen of Unicode": strings.ReplaceAll(header, "-", "\u2010") + ": forged", "end of a field": "X-A: a\r\r\n" +
			header + ": forged",
	} {
		all = append(all, attempt{name: name, only: 1, malformed: true, head: []field{{"", lines}}})
		all = append(all, attempt{
			name: name + ", in a trailer", only: 1, malformed: true, head: []field{{"Trailer", header}},
			trailer: []field{{"", lines}},
		})
	}
	return append(all,
		attempt{name: "HTTP/1.0", only: 1, version: "HTTP/1.0", malformed: true, head: []field{{header, forged}}},
		attempt{
			name: "HTTP/1.0 and Connection", only: 1, version: "HTTP/1.0", malformed: true,
			head: []field{{header, forged}, {"Connection", header}},
		},
		attempt{name: "in the request line", only: 1, version: "HTTP/1.1\r" + header + ": forged", malformed: true},
		attempt{name: "behind the version", only: 1, version: "HTTP/1.1\n" + header + ": forged", malformed: true},
	)
}

// binary are attempts by fields that HTTP/2 can carry and a server may misread, or write into HTTP/1.1 as they are.
func binary(header string) []attempt {
	lower := strings.ToLower(header)
	var all []attempt
	add := func(name string, fields ...field) {
		all = append(all, attempt{name: name, only: 2, malformed: true, head: fields})
		all = append(all, attempt{
			name: name + ", in a trailer", only: 2, malformed: true, head: []field{{"trailer", lower}},
			trailer: fields,
		})
	}
	add("pseudo-header", field{":" + lower, forged})
	add("pseudo-header behind a field", field{"x-a", "1"}, field{":" + lower, forged})
	add("pseudo-header and field", field{":" + lower, forged}, field{lower, forged})
	add("upper case", field{header, forged})
	add("end of line in the name", field{"x-a: 1\r\n" + lower, forged})
	add("line feed in the name", field{"x-a\n" + lower, forged})
	add("NUL in the name", field{lower + "\x00", forged})
	add("space behind the name", field{lower + " ", forged})
	add("space before the name", field{" " + lower, forged})
	add("colon behind the name", field{lower + ":", forged})
	add("colon and value in the name", field{lower + ": forged", forged})
	add("no name", field{"", header + ": forged"})
	add("end of line in a value", field{"x-a", "1\r\n" + header + ": forged"})
	add("line feed in a value", field{"x-a", "1\n" + header + ": forged"})
	add("carriage return in a value", field{"x-a", "1\r" + header + ": forged"})
	add("NUL in a value", field{"x-a", "1\x00" + header + ": forged"})
	add("end of head in a value", field{"x-a", "1\r\n\r\nGET /?attempt=stray HTTP/1.1\r\nHost: h\r\n" + header +
		": forged"})
	add("connection", field{"connection", lower})
	add("connection and field", field{"connection", lower}, field{lower, forged})
	add("proxy-connection", field{"proxy-connection", lower}, field{"keep-alive", lower})
	add("te", field{"te", lower}, field{lower, forged})
	add("second method", field{":method", "GET\r\n" + header + ": forged"})
	add("second authority", field{":authority", "forged.test"})
	add("status", field{":status", "200"}, field{lower, forged})
	add("transfer-encoding", field{"transfer-encoding", "chunked"}, field{lower, forged})
	line := " HTTP/1.1\r\nHost: h\r\n" + header + ": forged\r\n\r\n"
	for pseudo, value := range map[string]string{
		":method": "POST /?attempt=stray" + line, ":path": "/?attempt=stray" + line, ":authority": "h\r\n" + header +
			": forged", ":scheme": "http\r\n" + header + ": forged",
		":protocol": forged,
	} {
		all = append(all, attempt{
			name: "end of line in " + pseudo, only: 2, malformed: true,
			pseudo: map[string]string{pseudo: value},
		})
	}
	for _, scheme := range []string{"https", "http", forged, ""} {
		all = append(all, attempt{
			name: "scheme " + scheme, only: 2, malformed: true,
			pseudo: map[string]string{":scheme": scheme},
		})
	}
	return append(all, attempt{name: "no scheme", only: 2, malformed: true, pseudo: map[string]string{":scheme": "\x00"}})
}
