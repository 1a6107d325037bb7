package api

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/certificate/ocsp"
)

// expiryWarning is how long before its expiry a certificate gets the status warning.
const expiryWarning = 30 * 24 * time.Hour

// certificate is a certificate as Traefik's API shows it.
type certificate struct {
	// Name is the fingerprint.
	Name                 string    `json:"name"`
	SANs                 []string  `json:"sans"`
	NotAfter             time.Time `json:"notAfter"`
	NotBefore            time.Time `json:"notBefore"`
	SerialNumber         string    `json:"serialNumber"`
	CommonName           string    `json:"commonName"`
	IssuerOrg            string    `json:"issuerOrg,omitempty"`
	IssuerCN             string    `json:"issuerCN,omitempty"`
	IssuerCountry        string    `json:"issuerCountry,omitempty"`
	Organization         string    `json:"organization,omitempty"`
	Country              string    `json:"country,omitempty"`
	Version              string    `json:"version"`
	KeyType              string    `json:"keyType"`
	KeySize              int       `json:"keySize,omitempty"`
	SignatureAlgorithm   string    `json:"signatureAlgorithm"`
	CertFingerprint      string    `json:"certFingerprint"`
	PublicKeyFingerprint string    `json:"publicKeyFingerprint"`
	// Status is enabled, warning within 30 days of expiry, and disabled when expired or not yet valid.
	Status string `json:"status"`
	// ACME is the state of a certificate that a resolver has obtained; nil for others.
	ACME *obtained `json:"acme,omitempty"`
	// OCSP is the state of its OCSP response; nil without responders or without the option ocsp.
	OCSP *ocsp.Status `json:"ocsp,omitempty"`
}

// newCertificate describes a certificate at the time now.
func newCertificate(leaf *x509.Certificate, now time.Time) certificate {
	sum := fingerprint(leaf.Raw)
	kind, size := keyOf(leaf)
	out := certificate{
		Name: sum, CertFingerprint: sum, PublicKeyFingerprint: fingerprint(leaf.RawSubjectPublicKeyInfo),
		SANs:     append([]string{}, leaf.DNSNames...),
		NotAfter: leaf.NotAfter, NotBefore: leaf.NotBefore,
		CommonName: leaf.Subject.CommonName,
		IssuerOrg:  first(leaf.Issuer.Organization), IssuerCN: leaf.Issuer.CommonName,
		IssuerCountry: first(leaf.Issuer.Country),
		Organization:  first(leaf.Subject.Organization), Country: first(leaf.Subject.Country),
		Version: "v" + strconv.Itoa(leaf.Version), KeyType: kind, KeySize: size,
		SignatureAlgorithm: leaf.SignatureAlgorithm.String(),
		Status:             validity(leaf, now),
	}
	if leaf.SerialNumber != nil {
		out.SerialNumber = leaf.SerialNumber.String()
	}
	for _, address := range leaf.IPAddresses {
		out.SANs = append(out.SANs, address.String())
	}
	slices.Sort(out.SANs)
	return out
}

func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

func keyOf(leaf *x509.Certificate) (kind string, bits int) {
	switch key := leaf.PublicKey.(type) {
	case *rsa.PublicKey:
		return "RSA", key.N.BitLen()
	case *ecdsa.PublicKey:
		return "ECDSA", key.Curve.Params().BitSize
	case ed25519.PublicKey:
		return "Ed25519", 8 * len(key)
	}
	return "Unknown", 0
}

func validity(leaf *x509.Certificate, now time.Time) string {
	switch {
	case now.After(leaf.NotAfter) || now.Before(leaf.NotBefore):
		return statusDisabled
	case leaf.NotAfter.Sub(now) < expiryWarning:
		return statusWarning
	}
	return statusEnabled
}

// certificates describes the certificates that are presented to clients, without duplicates, sorted by common name.
func (h *handler) certificates() []certificate {
	if h.options.Certificates == nil {
		return nil
	}
	leaves := h.options.Certificates()
	list := make([]certificate, 0, len(leaves))
	now := time.Now()
	for _, leaf := range leaves {
		if leaf != nil {
			list = append(list, newCertificate(leaf, now))
		}
	}
	slices.SortFunc(list, func(a, b certificate) int {
		return cmp.Or(cmp.Compare(a.CommonName, b.CommonName), cmp.Compare(a.Name, b.Name))
	})
	return slices.CompactFunc(list, func(a, b certificate) bool { return a.Name == b.Name })
}

func countCertificates(list []certificate) *statusCounts {
	counted := &statusCounts{Total: len(list)}
	for _, one := range list {
		switch one.Status {
		case statusWarning:
			counted.Warnings++
		case statusDisabled:
			counted.Errors++
		}
	}
	return counted
}

// listCertificates returns a page of certificates. Filters are status, and search in names and issuers; sortBy is name
// (default), issuer, validUntil or status.
func (h *handler) listCertificates(w http.ResponseWriter, r *http.Request) {
	query, ok := h.query(w, r)
	if !ok {
		return
	}
	status, search := query.Get("status"), strings.ToLower(query.Get("search"))
	kept := slices.DeleteFunc(h.certificates(), func(c certificate) bool {
		texts := append([]string{c.CommonName, c.IssuerOrg, c.IssuerCN}, c.SANs...)
		return status != "" && !strings.EqualFold(status, c.Status) ||
			!strings.Contains(strings.ToLower(strings.Join(texts, "\n")), search)
	})
	switch query.Get("sortBy") {
	case "issuer":
		slices.SortStableFunc(kept, func(a, b certificate) int {
			return cmp.Compare(cmp.Or(a.IssuerOrg, a.IssuerCN), cmp.Or(b.IssuerOrg, b.IssuerCN))
		})
	case "validUntil":
		slices.SortStableFunc(kept, func(a, b certificate) int { return a.NotAfter.Compare(b.NotAfter) })
	case "status":
		slices.SortStableFunc(kept, func(a, b certificate) int { return cmp.Compare(a.Status, b.Status) })
	}
	if query.Get("direction") == "desc" {
		slices.Reverse(kept)
	}
	states := h.obtained()
	answer(h, w, query, kept, func(c certificate) any { return h.stapled(states.describe(c)) })
}

// stapled adds the state of the OCSP response.
func (h *handler) stapled(c certificate) certificate {
	if h.options.Staple == nil {
		return c
	}
	if status, known := h.options.Staple(c.Name); known {
		c.OCSP = &status
	}
	return c
}

func (h *handler) showCertificate(w http.ResponseWriter, r *http.Request) {
	name, ok := h.id(w, r)
	if !ok {
		return
	}
	list := h.certificates()
	if at := slices.IndexFunc(list, func(c certificate) bool { return c.Name == name }); at >= 0 {
		h.write(w, http.StatusOK, h.stapled(h.obtained().describe(list[at])))
		return
	}
	h.write(w, http.StatusNotFound, Problem{Message: "certificate not found: " + name})
}
