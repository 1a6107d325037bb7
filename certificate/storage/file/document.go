package file

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

// document is acme.json of Traefik: an object for each resolver, with an account and certificates. Keys are read
// without regard to case, as Traefik reads them; what is not known is kept.
type document map[string]*section

// section is what one resolver has.
type section struct {
	// other are the keys that are not known.
	other        map[string]json.RawMessage
	account      *account
	certificates []*certificate
}

// account is an account with its unknown keys.
type account struct {
	other map[string]json.RawMessage
	value storage.Account
}

// certificate is a certificate with its unknown keys.
type certificate struct {
	other map[string]json.RawMessage
	value storage.Certificate
}

// registration is the resource of an account (RFC 8555, section 7.1.2).
type registration struct {
	Body json.RawMessage `json:"body,omitempty"`
	URI  string          `json:"uri,omitempty"`
}

// domain has the names of a certificate.
type domain struct {
	Main string   `json:"main,omitempty"`
	SANs []string `json:"sans,omitempty"`
}

var errOldFormat = errors.New("this is the format of Traefik v1; migrate it with traefik-migration-tool first")

// parse reads a document. Certificates without a certificate or a key, which Traefik leaves behind, are dropped.
func parse(text []byte) (document, error) {
	doc := document{}
	if len(bytes.TrimSpace(text)) == 0 {
		return doc, nil
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(text, &top); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	for name, raw := range top {
		if strings.EqualFold(name, "DomainsCertificate") || strings.EqualFold(name, "ChallengeCerts") {
			return nil, errOldFormat
		}
		one, err := parseSection(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		doc[name] = one
	}
	return doc, nil
}

func parseSection(raw json.RawMessage) (*section, error) {
	keys, err := object(raw)
	if err != nil {
		return nil, err
	}
	s := &section{}
	if text := take(keys, "Account"); present(text) {
		if s.account, err = parseAccount(text); err != nil {
			return nil, fmt.Errorf("account: %w", err)
		}
	}
	if text := take(keys, "Certificates"); present(text) {
		var list []json.RawMessage
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, fmt.Errorf("certificates: %w", err)
		}
		for i, raw := range list {
			one, err := parseCertificate(raw)
			if err != nil {
				return nil, fmt.Errorf("certificates[%d]: %w", i, err)
			}
			if one != nil {
				s.certificates = append(s.certificates, one)
			}
		}
	}
	s.other = keys
	return s, nil
}

func parseAccount(raw json.RawMessage) (*account, error) {
	keys, err := object(raw)
	if err != nil {
		return nil, err
	}
	a := &account{}
	var registered registration
	var key []byte
	err = errors.Join(
		decode(take(keys, "Email"), &a.value.Email), decode(take(keys, "Registration"), &registered),
		decode(take(keys, "PrivateKey"), &key),
	)
	if err != nil {
		return nil, err
	}
	a.other, a.value.URI, a.value.Body = keys, registered.URI, registered.Body
	if len(key) > 0 {
		if a.value.Key, err = keyPEM(key); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// keyPEM returns a private key in DER as PEM. Traefik writes PKCS #1; others that can be read are taken as well.
func keyPEM(der []byte) (string, error) {
	kind := "PRIVATE KEY"
	if _, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		kind = "RSA PRIVATE KEY"
	} else if _, err := x509.ParseECPrivateKey(der); err == nil {
		kind = "EC PRIVATE KEY"
	} else if _, err := x509.ParsePKCS8PrivateKey(der); err != nil {
		return "", errors.New("PrivateKey: neither PKCS #1, SEC 1 nor PKCS #8")
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})), nil
}

// parseCertificate returns nil for an empty certificate.
func parseCertificate(raw json.RawMessage) (*certificate, error) {
	keys, err := object(raw)
	if err != nil {
		return nil, err
	}
	var names domain
	var chain, key []byte
	err = errors.Join(decode(take(keys, "domain"), &names), decode(take(keys, "certificate"), &chain),
		decode(take(keys, "key"), &key))
	switch {
	case err != nil:
		return nil, err
	case len(chain) == 0 || len(key) == 0 || names.Main == "":
		return nil, nil
	}
	return &certificate{other: keys, value: storage.Certificate{
		Main: names.Main, SANs: names.SANs, Chain: string(chain), Key: string(key),
	}}, nil
}

// object reads the keys of an object; null is an empty one.
func object(raw json.RawMessage) (map[string]json.RawMessage, error) {
	keys := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &keys); err != nil {
		return nil, err
	}
	if keys == nil {
		keys = map[string]json.RawMessage{}
	}
	return keys, nil
}

// take removes a key, in whatever case it is written, and returns its value.
func take(keys map[string]json.RawMessage, name string) json.RawMessage {
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if strings.EqualFold(key, name) {
			value := keys[key]
			delete(keys, key)
			return value
		}
	}
	return nil
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func decode(raw json.RawMessage, into any) error {
	if !present(raw) {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// format writes a document as Traefik does, with its unknown keys.
func (d document) format() ([]byte, error) {
	out := map[string]any{}
	for name, s := range d {
		keys := copyKeys(s.other)
		keys["Account"], keys["Certificates"] = nil, nil
		if s.account != nil {
			value, err := s.account.format()
			if err != nil {
				return nil, err
			}
			keys["Account"] = value
		}
		if len(s.certificates) > 0 {
			list := make([]any, 0, len(s.certificates))
			for _, c := range s.certificates {
				list = append(list, c.format())
			}
			keys["Certificates"] = list
		}
		out[name] = keys
	}
	return json.MarshalIndent(out, "", "  ")
}

func copyKeys(other map[string]json.RawMessage) map[string]any {
	keys := make(map[string]any, len(other)+4)
	for name, value := range other {
		keys[name] = value
	}
	return keys
}

func (a *account) format() (map[string]any, error) {
	keys := copyKeys(a.other)
	keys["Email"] = a.value.Email
	keys["Registration"] = nil
	if a.value.URI != "" {
		keys["Registration"] = registration{Body: a.value.Body, URI: a.value.URI}
	}
	keys["PrivateKey"] = nil
	if a.value.Key != "" {
		block, _ := pem.Decode([]byte(a.value.Key))
		if block == nil {
			return nil, errors.New("account: the key is not PEM")
		}
		keys["PrivateKey"] = base64.StdEncoding.EncodeToString(block.Bytes)
	}
	return keys, nil
}

func (c *certificate) format() map[string]any {
	keys := copyKeys(c.other)
	keys["domain"] = domain{c.value.Main, c.value.SANs}
	keys["certificate"], keys["key"] = []byte(c.value.Chain), []byte(c.value.Key)
	if _, known := c.other["Store"]; !known {
		keys["Store"] = "default"
	}
	return keys
}

// set sets or deletes the value of an account or a certificate.
func (d document) set(key storage.Key, value []byte) error {
	s := d[key.Resolver]
	if s == nil {
		s = &section{}
		d[key.Resolver] = s
	}
	if key.Kind == storage.KindAccount {
		if value == nil {
			s.account = nil
			return nil
		}
		if s.account == nil {
			s.account = &account{}
		}
		s.account.value = storage.Account{}
		return json.Unmarshal(value, &s.account.value)
	}
	at := slices.IndexFunc(s.certificates, func(c *certificate) bool { return c.id() == key.ID })
	if value == nil {
		if at >= 0 {
			s.certificates = slices.Delete(s.certificates, at, at+1)
		}
		return nil
	}
	var read storage.Certificate
	if err := json.Unmarshal(value, &read); err != nil {
		return err
	}
	if at < 0 {
		s.certificates = append(s.certificates, &certificate{value: read})
		return nil
	}
	s.certificates[at] = &certificate{other: s.certificates[at].other, value: read}
	return nil
}

func (c *certificate) id() string { return storage.CertificateID(c.value.Names()) }

// values returns what a document has, by key. Of several certificates for the same names the last counts.
func (d document) values() (map[storage.Key][]byte, error) {
	out := map[storage.Key][]byte{}
	for name, s := range d {
		if s.account != nil {
			value, err := json.Marshal(s.account.value)
			if err != nil {
				return nil, err
			}
			out[storage.Key{Kind: storage.KindAccount, Resolver: name}] = value
		}
		for _, c := range s.certificates {
			value, err := json.Marshal(c.value)
			if err != nil {
				return nil, err
			}
			out[storage.Key{Kind: storage.KindCertificate, Resolver: name, ID: c.id()}] = value
		}
	}
	return out, nil
}
