package passtlsclientcert

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net/url"
	"strconv"

	"github.com/sluiceproxy/sluice/dynamic"
)

// fields are the selected fields of X-Forwarded-Tls-Client-Cert-Info.
type fields struct {
	notAfter, notBefore, sans, serialNumber bool
	subject, issuer                         attributes
}

// attributes are the selected attributes of a distinguished name.
type attributes struct {
	domainComponent, country, province, locality, organization, organizationalUnit, serialNumber, commonName bool
}

func newFields(config *dynamic.ClientCertificateFields) *fields {
	if config == nil {
		return nil
	}
	f := &fields{
		notAfter: config.NotAfter, notBefore: config.NotBefore, sans: config.SANs,
		serialNumber: config.SerialNumber,
	}
	if s := config.Subject; s != nil {
		f.subject = attributes{
			domainComponent: s.DomainComponent, country: s.Country, province: s.Province, locality: s.Locality,
			organization:       s.Organization,
			organizationalUnit: s.OrganizationalUnit, serialNumber: s.SerialNumber, commonName: s.CommonName,
		}
	}
	if s := config.Issuer; s != nil {
		f.issuer = attributes{
			domainComponent: s.DomainComponent, country: s.Country, province: s.Province, locality: s.Locality,
			organization: s.Organization,
			serialNumber: s.SerialNumber, commonName: s.CommonName,
		}
	}
	return f
}

// none reports whether no field is selected.
func (f *fields) none() bool { return *f == fields{} }

// maxSerial is the maximum length of a serial number in bits. RFC 5280 section 4.1.2.2 allows 160; formatting one of
// many thousand digits takes milliseconds per request.
const maxSerial = 1024

// text returns the value of the header: the fields of each certificate, escaped as for the query of a URL. ok is false
// if it would be too long.
func (f *fields) text(certificates []*x509.Certificate) (escaped string, ok bool) {
	t := make(text, 0, 512)
	for i, certificate := range certificates {
		if i > 0 {
			t = append(t, ',')
		}
		if f.serialNumber && certificate.SerialNumber != nil && certificate.SerialNumber.BitLen() > maxSerial {
			return "", false
		}
		t = f.append(t, certificate)
		if len(t) > maxValue {
			return "", false
		}
	}
	escaped = url.QueryEscape(string(t))
	return escaped, len(escaped) <= maxValue
}

// append adds the fields of one certificate, without empty ones.
func (f *fields) append(t text, certificate *x509.Certificate) text {
	start := len(t)
	t = t.field(start, "Subject", func(t text) text { return f.subject.append(t, &certificate.Subject) })
	t = t.field(start, "Issuer", func(t text) text { return f.issuer.append(t, &certificate.Issuer) })
	if f.serialNumber && certificate.SerialNumber != nil {
		t = t.field(start, "SerialNumber", func(t text) text { return certificate.SerialNumber.Append(t, 10) })
	}
	if f.notBefore {
		t = t.field(start, "NB", func(t text) text { return strconv.AppendInt(t, certificate.NotBefore.Unix(), 10) })
	}
	if f.notAfter {
		t = t.field(start, "NA", func(t text) text { return strconv.AppendInt(t, certificate.NotAfter.Unix(), 10) })
	}
	if f.sans {
		t = t.field(start, "SAN", func(t text) text { return t.alternatives(certificate) })
	}
	return t
}

// append adds the attributes of a distinguished name in a fixed order, without empty ones.
func (a attributes) append(t text, name *pkix.Name) text {
	start := len(t)
	if a.domainComponent {
		for _, attribute := range name.Names {
			if value, ok := attribute.Value.(string); ok && isDomainComponent(attribute.Type) {
				t = t.item(start, "DC=", value)
			}
		}
	}
	for _, part := range [...]struct {
		chosen bool
		label  string
		values []string
	}{
		{a.country, "C=", name.Country},
		{a.province, "ST=", name.Province},
		{a.locality, "L=", name.Locality},
		{a.organization, "O=", name.Organization},
		{a.organizationalUnit, "OU=", name.OrganizationalUnit},
	} {
		if part.chosen {
			t = t.items(start, part.label, part.values)
		}
	}
	if a.serialNumber {
		t = t.item(start, "SN=", name.SerialNumber)
	}
	if a.commonName {
		t = t.item(start, "CN=", name.CommonName)
	}
	return t
}

// isDomainComponent reports whether an attribute is a domainComponent (RFC 4519 section 2.4).
func isDomainComponent(kind asn1.ObjectIdentifier) bool {
	return kind.Equal(asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 25})
}
