package certificate

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/document"
)

const (
	// maxCRLBytes bounds the text of one value of clientAuth.crlFiles: about 400,000 revoked certificates in DER.
	maxCRLBytes = 16 << 20
	// maxSigners bounds the keys that a CRL remembers.
	maxSigners = 64
	// pemCRL is the label of a CRL in PEM (RFC 7468, section 6).
	pemCRL = "X509 CRL"
)

// serialNumber is one of at most 20 octets (RFC 5280, section 4.1.2.2), or the hash of a longer one.
type serialNumber [20]byte

func serialNumberOf(number *big.Int) serialNumber {
	var serial serialNumber
	if number.BitLen() > 8*len(serial) {
		sum := sha256.Sum256(number.Bytes())
		copy(serial[:], sum[:])
		return serial
	}
	number.FillBytes(serial[:])
	return serial
}

// crl is a complete certificate revocation list (RFC 5280, section 5). It is immutable, but for the keys that have been
// tried.
type crl struct {
	// issuer is the name of the authority for operators, rawIssuer the encoded one.
	issuer    string
	rawIssuer []byte
	// authorityKey is the authority key identifier; empty without one.
	authorityKey           []byte
	thisUpdate, nextUpdate time.Time
	revoked                map[serialNumber]struct{}

	// signed is what the signature covers; nil when an authority of the options has signed.
	signed *x509.RevocationList
	// signers says by the public key whether it has made the signature.
	signers atomic.Pointer[map[string]bool]
}

// readCRLs reads the lists in the values of clientAuth.crlFiles, each a file in PEM or DER, or PEM text.
func readCRLs(files []string) ([]*crl, error) {
	var all []*crl
	for i, value := range files {
		option := fmt.Sprintf("clientAuth.crlFiles[%d]", i)
		text, err := document.ReadPEMOfSize(option, value, maxCRLBytes)
		if err != nil {
			return nil, err
		}
		lists, err := parseCRLs(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", option, document.DescribePEM(value), err)
		}
		all = append(all, lists...)
	}
	return all, nil
}

// parseCRLs parses one or more lists in PEM or DER. What PEM has besides them is skipped.
func parseCRLs(text []byte) ([]*crl, error) {
	var encoded [][]byte
	if bytes.Contains(text, []byte("-----BEGIN ")) {
		for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
			if block.Type == pemCRL {
				encoded = append(encoded, block.Bytes)
			}
		}
		// pem.Decode skips damaged blocks.
		if begun := bytes.Count(text, []byte("-----BEGIN "+pemCRL+"-----")); begun != len(encoded) {
			return nil, fmt.Errorf("%d of %d CRLs are damaged in their PEM armour", begun-len(encoded), begun)
		}
	} else {
		for rest := text; len(rest) > 0; {
			var one asn1.RawValue
			after, err := asn1.Unmarshal(rest, &one)
			if err != nil {
				return nil, fmt.Errorf("CRL %d: neither PEM nor DER: %w", len(encoded)+1, err)
			}
			encoded, rest = append(encoded, one.FullBytes), after
		}
	}
	if len(encoded) == 0 {
		return nil, errors.New("no CRL found")
	}
	lists := make([]*crl, 0, len(encoded))
	for i, der := range encoded {
		list, err := parseCRL(der)
		if err != nil {
			return nil, fmt.Errorf("CRL %d: %w", i+1, err)
		}
		lists = append(lists, list)
	}
	return lists, nil
}

// parseCRL parses one list. Lists that do not say on their own which certificates of their issuer are revoked are
// refused.
func parseCRL(der []byte) (*crl, error) {
	parsed, err := x509.ParseRevocationList(der)
	if err != nil {
		return nil, err
	}
	issuer := parsed.Issuer.String()
	for _, extension := range parsed.Extensions {
		switch id := extension.Id.String(); {
		case id == "2.5.29.27":
			return nil, fmt.Errorf("of %q: it is a delta CRL, and only complete ones are supported", issuer)
		case id == "2.5.29.28":
			return nil, fmt.Errorf("of %q: it is indirect or covers a part of the certificates only (extension issuing "+
				"distribution point), and only complete CRLs are supported", issuer)
		case extension.Critical && id != "2.5.29.20" && id != "2.5.29.35": // CRL number, authority key identifier.
			return nil, fmt.Errorf("of %q: unknown critical extension %s", issuer, id)
		}
	}
	if parsed.NextUpdate.IsZero() {
		return nil, fmt.Errorf("of %q: it has no nextUpdate (RFC 5280, section 5.1.2.5)", issuer)
	}
	list := &crl{
		issuer: issuer, rawIssuer: bytes.Clone(parsed.RawIssuer), authorityKey: bytes.Clone(parsed.AuthorityKeyId),
		thisUpdate: parsed.ThisUpdate, nextUpdate: parsed.NextUpdate,
		revoked: make(map[serialNumber]struct{}, len(parsed.RevokedCertificateEntries)),
		signed: &x509.RevocationList{
			RawTBSRevocationList: parsed.RawTBSRevocationList,
			Signature:            parsed.Signature, SignatureAlgorithm: parsed.SignatureAlgorithm,
		},
	}
	list.signers.Store(&map[string]bool{})
	for i := range parsed.RevokedCertificateEntries {
		if err := list.add(&parsed.RevokedCertificateEntries[i]); err != nil {
			return nil, fmt.Errorf("of %q: %w", issuer, err)
		}
	}
	return list, nil
}

// removeFromCRL is the reason code of a certificate that is not revoked any more (RFC 5280, section 5.3.1).
const removeFromCRL = 8

func (l *crl) add(entry *x509.RevocationListEntry) error {
	for _, extension := range entry.Extensions {
		switch id := extension.Id.String(); {
		case id == "2.5.29.29":
			return fmt.Errorf("serial number %x: the list is indirect, which is not supported", entry.SerialNumber)
		case extension.Critical && id != "2.5.29.21": // Reason code.
			return fmt.Errorf("serial number %x: unknown critical extension %s", entry.SerialNumber, id)
		}
	}
	if entry.ReasonCode != removeFromCRL {
		l.revoked[serialNumberOf(entry.SerialNumber)] = struct{}{}
	}
	return nil
}

// has reports whether a certificate of the issuer is revoked.
func (l *crl) has(certificate *x509.Certificate) bool {
	_, revoked := l.revoked[serialNumberOf(certificate.SerialNumber)]
	return revoked
}

// begun reports whether the list counts at a time.
func (l *crl) begun(now time.Time) bool { return !l.thisUpdate.After(now.Add(crlSkew)) }

// replacedBy reports whether a later list is of the same key of the authority.
func (l *crl) replacedBy(later *crl) bool { return bytes.Equal(l.authorityKey, later.authorityKey) }

// claims reports whether the list names an authority as its issuer.
func (l *crl) claims(authority *x509.Certificate) bool {
	return bytes.Equal(l.rawIssuer, authority.RawSubject) && (len(l.authorityKey) == 0 ||
		len(authority.SubjectKeyId) == 0 || bytes.Equal(l.authorityKey, authority.SubjectKeyId))
}

// signedBy reports whether an authority that may sign lists has signed this one (RFC 5280, section 6.3.3). The
// signature is checked once for a key, since a check reads the whole list.
func (l *crl) signedBy(authority *x509.Certificate) bool {
	if !l.claims(authority) || authority.Version == 3 && !(authority.BasicConstraintsValid && authority.IsCA) ||
		authority.KeyUsage != 0 && authority.KeyUsage&x509.KeyUsageCRLSign == 0 {
		return false
	}
	known := l.signers.Load()
	valid, tried := (*known)[string(authority.RawSubjectPublicKeyInfo)]
	if tried || l.signed == nil {
		return valid
	}
	valid = authority.CheckSignature(l.signed.SignatureAlgorithm, l.signed.RawTBSRevocationList, l.signed.Signature) == nil
	if len(*known) < maxSigners {
		next := maps.Clone(*known)
		next[string(authority.RawSubjectPublicKeyInfo)] = valid
		l.signers.CompareAndSwap(known, &next) // Where another handshake was faster, the check is repeated.
	}
	return valid
}
