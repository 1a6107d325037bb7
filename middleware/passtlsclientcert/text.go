package passtlsclientcert

import "crypto/x509"

// text builds the value of X-Forwarded-Tls-Client-Cert-Info before escaping.
type text []byte

// field adds NAME="VALUE" unless the value is empty, after a semicolon unless the text has length start.
func (t text) field(start int, name string, value func(text) text) text {
	grown := t
	if len(t) > start {
		grown = append(grown, ';')
	}
	grown = append(append(grown, name...), '=', '"')
	begin := len(grown)
	if grown = value(grown); len(grown) == begin {
		return t
	}
	return append(grown, '"')
}

// items adds values under one label.
func (t text) items(start int, label string, values []string) text {
	for _, value := range values {
		t = t.item(start, label, value)
	}
	return t
}

// item adds a label and a value unless that is empty, after a comma unless the text has length start.
func (t text) item(start int, label, value string) text {
	if value == "" {
		return t
	}
	if len(t) > start {
		t = append(t, ',')
	}
	return append(t, label...).literal(value)
}

// literal adds a value such that it remains unambiguous even for readers that split at every separator: separators,
// quotation marks, backslashes and control characters become a backslash and two hexadecimal digits (RFC 4514 section
// 2.4).
func (t text) literal(value string) text {
	const digits = "0123456789ABCDEF"
	for _, c := range []byte(value) {
		switch {
		case c < ' ', c == 0x7f, c == ',', c == ';', c == '"', c == '\\':
			t = append(t, '\\', digits[c>>4], digits[c&15])
		default:
			t = append(t, c)
		}
	}
	return t
}

// alternatives adds the subject alternative names: hosts, mail addresses, IP addresses and URIs.
func (t text) alternatives(certificate *x509.Certificate) text {
	start := len(t)
	t = t.items(start, "", certificate.DNSNames).items(start, "", certificate.EmailAddresses)
	for _, address := range certificate.IPAddresses {
		t = t.item(start, "", address.String())
	}
	for _, uri := range certificate.URIs {
		t = t.item(start, "", uri.String())
	}
	return t
}
