package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

// Members of acme.json, as Traefik writes them.
const (
	memberAccount      = "Account"
	memberCertificates = "Certificates"
	memberEmail        = "Email"
	memberRegistration = "Registration"
	memberPrivateKey   = "PrivateKey"
	memberBody         = "body"
	memberURI          = "uri"
	memberDomain       = "domain"
	memberMain         = "main"
	memberSANs         = "sans"
	memberCertificate  = "certificate"
	memberKey          = "key"
	memberStore        = "Store"
)

// acme is the content of acme.json: an object for each resolver.
type acme struct {
	resolvers object
}

// parseACME reads acme.json. An empty text has no resolvers.
func parseACME(text []byte) (*acme, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return &acme{}, nil
	}
	if !json.Valid(text) {
		return nil, errors.New("is damaged: it is not JSON, or cut off")
	}
	resolvers, err := parseObject(text)
	if err != nil {
		return nil, fmt.Errorf("is damaged: %w", err)
	}
	if isOld(resolvers) {
		return nil, errors.New("has the format of Traefik 1.7: convert it with traefik-migration-tool, or move it away so " +
			"that certificates are ordered anew")
	}
	return &acme{resolvers: resolvers}, nil
}

// isOld reports whether the members are those of Traefik 1.7 or older, which knew one resolver.
func isOld(o object) bool {
	if o.get("DomainsCertificate") != nil || bytes.HasPrefix(o.get(memberCertificates), []byte("[")) {
		return true
	}
	account, err := o.object(memberAccount)
	members := []string{memberEmail, memberRegistration, memberPrivateKey, "DomainsCertificate"}
	return err == nil && slices.ContainsFunc(members, func(name string) bool { return account.get(name) != nil })
}

// format returns the content in the layout of Traefik.
func (a *acme) format() ([]byte, error) {
	var text bytes.Buffer
	if err := json.Indent(&text, a.resolvers.text(), "", "  "); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// values returns the accounts and certificates. Accounts without a key and certificates that are empty are left out.
func (a *acme) values() (map[storage.Key][]byte, error) {
	values := map[storage.Key][]byte{}
	for i, m := range a.resolvers {
		if slices.ContainsFunc(a.resolvers[i+1:], func(later member) bool { return later.name == m.name }) {
			continue // Traefik takes the last one.
		}
		if err := readResolver(values, m); err != nil {
			return nil, fmt.Errorf("is damaged: resolver %q: %w", m.name, err)
		}
	}
	return values, nil
}

func readResolver(values map[storage.Key][]byte, m member) error {
	resolver, err := parseObject(m.value)
	if err != nil {
		return err
	}
	account, err := readAccount(resolver)
	if err != nil {
		return fmt.Errorf("%s: %w", memberAccount, err)
	}
	if account != nil {
		if values[storage.Key{Kind: storage.KindAccount, Resolver: m.name}], err = json.Marshal(account); err != nil {
			return err
		}
	}
	entries, err := readEntries(resolver)
	if err != nil {
		return err
	}
	for _, e := range entries {
		id := storage.CertificateID(e.certificate.Names())
		key := storage.Key{Kind: storage.KindCertificate, Resolver: m.name, ID: id}
		if values[key], err = json.Marshal(e.certificate); err != nil {
			return err
		}
	}
	return nil
}

// readAccount returns the account of a resolver, and nil if it has none.
func readAccount(resolver object) (*storage.Account, error) {
	o, err := resolver.object(memberAccount)
	if err != nil {
		return nil, err
	}
	var account storage.Account
	var key []byte
	if err := errors.Join(o.decode(memberEmail, &account.Email), o.decode(memberPrivateKey, &key)); err != nil {
		return nil, err
	}
	if len(key) == 0 {
		return nil, nil
	}
	if account.Key, err = keyFromDER(key); err != nil {
		return nil, fmt.Errorf("%s: %w", memberPrivateKey, err)
	}
	registration, err := o.object(memberRegistration)
	if err != nil {
		return nil, err
	}
	if err := registration.decode(memberURI, &account.URI); err != nil {
		return nil, fmt.Errorf("%s: %w", memberRegistration, err)
	}
	if body := registration.get(memberBody); !isNull(body) {
		account.Body = body
	}
	return &account, nil
}

// entry is one certificate of acme.json.
type entry struct {
	object      object
	certificate *storage.Certificate
}

// readEntries returns the certificates of a resolver without those that are empty.
func readEntries(resolver object) ([]entry, error) {
	var items []json.RawMessage
	if err := resolver.decode(memberCertificates, &items); err != nil {
		return nil, err
	}
	var entries []entry
	for i, item := range items {
		e, err := readEntry(item)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", memberCertificates, i, err)
		}
		if e.certificate.Chain != "" && e.certificate.Key != "" {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

func readEntry(text json.RawMessage) (entry, error) {
	o, err := parseObject(text)
	if err != nil {
		return entry{}, err
	}
	domain, err := o.object(memberDomain)
	if err != nil {
		return entry{}, err
	}
	var c storage.Certificate
	var chain, key []byte
	if err := errors.Join(
		domain.decode(memberMain, &c.Main), domain.decode(memberSANs, &c.SANs),
		o.decode(memberCertificate, &chain), o.decode(memberKey, &key),
	); err != nil {
		return entry{}, err
	}
	c.Chain, c.Key = string(chain), string(key)
	return entry{object: o, certificate: &c}, nil
}

// put sets an account or a certificate.
func (a *acme) put(key storage.Key, value []byte) error {
	if !utf8.ValidString(key.Resolver) {
		return errors.New("the name of a resolver is not UTF-8")
	}
	resolver, err := parseObject(a.value(key.Resolver))
	if err != nil {
		return err
	}
	if key.Kind == storage.KindAccount {
		err = putAccount(&resolver, value)
	} else {
		err = putCertificate(&resolver, key.ID, value)
	}
	if err != nil {
		return err
	}
	a.setValue(key.Resolver, resolver.text())
	return nil
}

// value returns the object of a resolver.
func (a *acme) value(resolver string) json.RawMessage {
	for _, m := range slices.Backward(a.resolvers) {
		if m.name == resolver {
			return m.value
		}
	}
	return nil
}

func (a *acme) setValue(resolver string, value json.RawMessage) {
	for i, m := range slices.Backward(a.resolvers) {
		if m.name == resolver {
			a.resolvers[i].value = value
			return
		}
	}
	a.resolvers = append(a.resolvers, member{name: resolver, value: value})
}

func putAccount(resolver *object, value []byte) error {
	var account storage.Account
	if err := json.Unmarshal(value, &account); err != nil {
		return errors.New("the account is not JSON of an account")
	}
	key, err := keyToDER(account.Key)
	if err != nil {
		return fmt.Errorf("the account's key: %w", err)
	}
	o, err := resolver.object(memberAccount)
	if err != nil {
		return err
	}
	registration, err := o.object(memberRegistration)
	if err != nil {
		return err
	}
	var registered any
	if account.URI != "" || len(account.Body) > 0 {
		body := account.Body
		if len(body) == 0 {
			body = json.RawMessage("{}")
		}
		if err := errors.Join(registration.set(memberBody, body), registration.set(memberURI, account.URI)); err != nil {
			return err
		}
		registered = registration
	}
	return errors.Join(
		o.set(memberEmail, account.Email), o.set(memberRegistration, registered), o.set(memberPrivateKey, key),
		resolver.set(memberAccount, o),
	)
}

func putCertificate(resolver *object, id string, value []byte) error {
	var c storage.Certificate
	if err := json.Unmarshal(value, &c); err != nil {
		return errors.New("the certificate is not JSON of a certificate")
	}
	if id != storage.CertificateID(c.Names()) {
		return fmt.Errorf("the certificate for %s has the ID of others", strings.Join(c.Names(), ", "))
	}
	if c.Chain == "" || c.Key == "" {
		return fmt.Errorf("the certificate for %s is empty", strings.Join(c.Names(), ", "))
	}
	entries, err := readEntries(*resolver)
	if err != nil {
		return err
	}
	i := len(entries) - 1
	for i >= 0 && storage.CertificateID(entries[i].certificate.Names()) != id {
		i--
	}
	if i < 0 {
		i = len(entries)
		entries = append(entries, entry{})
	}
	o := &entries[i].object
	if err := setCertificate(o, &c); err != nil {
		return err
	}
	return setEntries(resolver, entries)
}

// setCertificate sets the members of one entry.
func setCertificate(o *object, c *storage.Certificate) error {
	isNew := len(*o) == 0
	domain, err := o.object(memberDomain)
	if err != nil {
		return err
	}
	if err := domain.set(memberMain, c.Main); err != nil {
		return err
	}
	domain.remove(memberSANs)
	if len(c.SANs) > 0 {
		if err := domain.set(memberSANs, c.SANs); err != nil {
			return err
		}
	}
	if err := errors.Join(
		o.set(memberDomain, domain), o.set(memberCertificate, []byte(c.Chain)), o.set(memberKey, []byte(c.Key)),
	); err != nil || !isNew {
		return err
	}
	return o.set(memberStore, "default")
}

func setEntries(resolver *object, entries []entry) error {
	items := make([]json.RawMessage, len(entries))
	for i, e := range entries {
		items[i] = e.object.text()
	}
	if resolver.index(memberAccount) < 0 {
		if err := resolver.set(memberAccount, nil); err != nil { // Traefik writes both members, always.
			return err
		}
	}
	return resolver.set(memberCertificates, list(items))
}

// remove deletes an account or a certificate, and reports whether there was one.
func (a *acme) remove(key storage.Key) (bool, error) {
	resolver, err := parseObject(a.value(key.Resolver))
	if err != nil {
		return false, err
	}
	if key.Kind == storage.KindAccount {
		if isNull(resolver.get(memberAccount)) {
			return false, nil
		}
		if err := resolver.set(memberAccount, nil); err != nil {
			return false, err
		}
		a.setValue(key.Resolver, resolver.text())
		return true, nil
	}
	entries, err := readEntries(resolver)
	if err != nil {
		return false, err
	}
	kept := slices.DeleteFunc(slices.Clone(entries), func(e entry) bool {
		return storage.CertificateID(e.certificate.Names()) == key.ID
	})
	if len(kept) == len(entries) {
		return false, nil
	}
	if err := setEntries(&resolver, kept); err != nil {
		return false, err
	}
	a.setValue(key.Resolver, resolver.text())
	return true, nil
}
