// Package storage keeps what the replicas of Sluice share about certificates: ACME accounts, certificates with their
// keys, open orders, challenges that are being validated, and the secret of session tickets.
//
// A Store holds values under Keys. Its folders are the kinds of stores: file (acme.json of Traefik), secret
// (Kubernetes), redis and etcd. Certificates and accounts have the types of this package, since acme.json and Secrets
// of type kubernetes.io/tls hold them in formats of their own; other values are opaque.
package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// Kind is what a value is about.
type Kind string

// The kinds of values. The value of each is JSON.
const (
	// KindAccount is the account of a resolver, an Account. Its ID is empty.
	KindAccount Kind = "account"
	// KindCertificate is a certificate with its key, a Certificate. Its ID is CertificateID of the names.
	KindCertificate Kind = "certificate"
	// KindOrder is an order that has been created and not completed, with the ID of its certificate.
	KindOrder Kind = "order"
	// KindChallenge is a challenge that is being validated. Its ID is the type, a slash, and the token for HTTP-01 or the
	// name for TLS-ALPN-01.
	KindChallenge Kind = "challenge"
	// KindSchedule says when a certificate is ordered next, and why the last order failed. It has the certificate's ID.
	KindSchedule Kind = "schedule"
	// KindDemand is a name for which a client of some replica needs a certificate. Its ID is the name.
	KindDemand Kind = "demand"
	// KindTickets is the secret of session tickets. Resolver and ID are empty.
	KindTickets Kind = "tickets"
)

// Key identifies a value. Resolver and ID may have any characters.
type Key struct {
	Kind     Kind
	Resolver string
	ID       string
}

// Change is a value that was set, or deleted if Value is nil.
type Change struct {
	Key   Key
	Value []byte
}

// Store holds the values. It may be used by several goroutines at a time.
type Store interface {
	Reader
	Writer
	Elector
}

// Reader reads values.
type Reader interface {
	// Watch calls receive with all present values first, in one call, also if there are none, and then with what has
	// changed since, in order and within 2 s, whichever replica has changed it. It returns nil when ctx ends.
	// Interruptions of the connection are overcome: after one, receive gets what has changed meanwhile. An error means
	// that what is stored is damaged or must not be used; then nothing has been written, and the caller may call Watch
	// again.
	Watch(ctx context.Context, receive func(changes []Change)) error
	// Get reads the present value from where all replicas read it, without a cache. A missing value is fs.ErrNotExist.
	Get(ctx context.Context, key Key) ([]byte, error)
}

// Writer changes values.
type Writer interface {
	// Put sets a value. When it has returned nil, the value survives a crash.
	Put(ctx context.Context, key Key, value []byte) error
	// Delete deletes a value. A missing one is no error.
	Delete(ctx context.Context, key Key) error
}

// Elector elects one replica among those that use the same store.
type Elector interface {
	// Lead calls lead each time this replica has become the leader, with a context that ends when it no longer is. It
	// returns when ctx ends, after lead has returned and another replica may lead. A leader that dies is replaced within
	// 15 s.
	Lead(ctx context.Context, lead func(ctx context.Context)) error
}

// Account is an account at a certificate authority (RFC 8555, section 7.1.2).
type Account struct {
	Email string `json:"email,omitempty"`
	// URI is the account's URL, and empty before the registration.
	URI string `json:"uri,omitempty"`
	// Body is the account object as the authority sent it.
	Body json.RawMessage `json:"body,omitempty"`
	// Key is the private key as PEM.
	Key string `json:"key"`
}

// Certificate is a certificate with its key.
type Certificate struct {
	// Main and SANs are the names that were ordered.
	Main string   `json:"main"`
	SANs []string `json:"sans,omitempty"`
	// Chain is the certificate with its intermediates, and Key the private key, as PEM.
	Chain string `json:"chain"`
	Key   string `json:"key"`
}

// Names returns the names of the certificate, the main one first.
func (c *Certificate) Names() []string { return append([]string{c.Main}, c.SANs...) }

// CertificateID returns the ID for names, in whatever order.
func CertificateID(names []string) string {
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(sorted), ",")))
	return hex.EncodeToString(sum[:16])
}
