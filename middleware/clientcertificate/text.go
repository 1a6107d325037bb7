package clientcertificate

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"unicode/utf16"

	"github.com/sluiceproxy/sluice/nginx/variable"
)

// maxHeader bounds the escaped PEM of a certificate, in bytes. Servers refuse longer headers.
const maxHeader = 64 << 10

// escapedPEM returns a certificate as $ssl_client_escaped_cert of nginx: PEM, percent-encoded as a part of a query;
// empty if it is too long.
func escapedPEM(certificate *x509.Certificate) string {
	if 2*len(certificate.Raw) > maxHeader {
		return ""
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
	escaped := variable.Escape(string(text))
	if len(escaped) > maxHeader {
		return ""
	}
	return escaped
}

// attributeNames returns OpenSSL's short names of the attributes that names of certificates usually have.
func attributeNames() map[string]string {
	return map[string]string{
		"2.5.4.3": "CN", "2.5.4.4": "SN", "2.5.4.5": "serialNumber", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST",
		"2.5.4.9": "street", "2.5.4.10": "O", "2.5.4.11": "OU", "2.5.4.12": "title", "2.5.4.13": "description",
		"2.5.4.15": "businessCategory", "2.5.4.17": "postalCode", "2.5.4.41": "name", "2.5.4.42": "GN",
		"2.5.4.43": "initials", "2.5.4.44": "generationQualifier", "2.5.4.46": "dnQualifier", "2.5.4.65": "pseudonym",
		"2.5.4.97": "organizationIdentifier", "1.2.840.113549.1.9.1": "emailAddress",
		"0.9.2342.19200300.100.1.1": "UID", "0.9.2342.19200300.100.1.25": "DC",
		"1.3.6.1.4.1.311.60.2.1.1": "jurisdictionL", "1.3.6.1.4.1.311.60.2.1.2": "jurisdictionST",
		"1.3.6.1.4.1.311.60.2.1.3": "jurisdictionC",
	}
}

// rawAttribute is an attribute of a name whose value is not decoded.
type rawAttribute struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

// rawSetSET is a relative distinguished name; the suffix has encoding/asn1 take it for a SET.
type rawSetSET []rawAttribute

// nameText returns an encoded name as $ssl_client_s_dn of nginx: RFC 2253, the last attribute first, with all bytes
// escaped that are not ASCII. It is empty for what is no name.
func nameText(raw []byte) string {
	var name []rawSetSET
	if rest, err := asn1.Unmarshal(raw, &name); err != nil || len(rest) > 0 {
		return ""
	}
	names := attributeNames()
	var text strings.Builder
	for i := len(name) - 1; i >= 0; i-- {
		for at, one := range name[i] {
			switch {
			case at > 0:
				_ = text.WriteByte('+')
			case i < len(name)-1:
				_ = text.WriteByte(',')
			}
			kind, value := names[one.Type.String()], ""
			if decoded, ok := decode(one.Value); ok && kind != "" {
				value = escapeValue(decoded)
			} else {
				value = "#" + strings.ToUpper(hex.EncodeToString(one.Value.FullBytes))
			}
			if kind == "" {
				kind = one.Type.String()
			}
			_, _ = text.WriteString(kind + "=" + value)
		}
	}
	return text.String()
}

// decode returns the characters of a string of ASN.1 as UTF-8.
func decode(value asn1.RawValue) (string, bool) {
	if value.Class != asn1.ClassUniversal {
		return "", false
	}
	switch value.Tag {
	case asn1.TagUTF8String, asn1.TagPrintableString, asn1.TagIA5String, asn1.TagNumericString:
		return string(value.Bytes), true
	case asn1.TagT61String: // OpenSSL takes it for Latin 1.
		runes := make([]rune, len(value.Bytes))
		for i, b := range value.Bytes {
			runes[i] = rune(b)
		}
		return string(runes), true
	case asn1.TagBMPString:
		if len(value.Bytes)%2 != 0 {
			return "", false
		}
		units := make([]uint16, len(value.Bytes)/2)
		for i := range units {
			units[i] = uint16(value.Bytes[2*i])<<8 | uint16(value.Bytes[2*i+1])
		}
		return string(utf16.Decode(units)), true
	}
	return "", false
}

// escapeValue escapes a value by RFC 2253 section 2.4, and all bytes that are not visible ASCII.
func escapeValue(value string) string {
	const digits = "0123456789ABCDEF"
	var text bytes.Buffer
	for i := range len(value) {
		switch c := value[i]; {
		case c < ' ' || c >= 0x7f:
			_, _ = text.Write([]byte{'\\', digits[c>>4], digits[c&15]})
		case strings.IndexByte(`,+"\<>;`, c) >= 0, c == '#' && i == 0, c == ' ' && (i == 0 || i == len(value)-1):
			_, _ = text.Write([]byte{'\\', c})
		default:
			_ = text.WriteByte(c)
		}
	}
	return text.String()
}
