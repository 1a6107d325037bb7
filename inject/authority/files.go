package authority

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/telemetry"
)

// filesInterval is how old the files that were read may be when a connection begins.
const filesInterval = 10 * time.Second

// Files presents a certificate from files, such as those of a mounted Secret, which are read again when they change.
type Files struct {
	certFile, keyFile string
	logger            telemetry.Logger

	mu     sync.Mutex
	read   time.Time
	digest [sha256.Size]byte
	pair   *tls.Certificate
	failed bool
}

// NewFiles returns the certificate in files or PEM text. It fails when they do not load.
func NewFiles(certFile, keyFile string, logger telemetry.Logger) (*Files, error) {
	f := &Files{certFile: certFile, keyFile: keyFile, logger: logger}
	var err error
	if f.pair, f.digest, err = f.load(); err != nil {
		return nil, err
	}
	f.read = time.Now()
	return f, nil
}

// GetCertificate returns the certificate of a new connection. What does not load is logged, and the last certificate
// stays in use.
func (f *Files) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if now.Sub(f.read) < filesInterval {
		return f.pair, nil
	}
	f.read = now
	pair, digest, err := f.load()
	switch {
	case err != nil && !f.failed:
		f.logger.Error("the certificate of the injector does not load; the last one stays in use", "error", err)
	case err == nil && digest != f.digest:
		f.pair, f.digest = pair, digest
		f.logger.Info("the certificate of the injector has changed", "notAfter", pair.Leaf.NotAfter)
	}
	f.failed = err != nil
	return f.pair, nil
}

// NotAfter returns when the certificate ends; the authority is not known.
func (f *Files) NotAfter() (leaf, authority time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pair.Leaf.NotAfter, time.Time{}
}

// Ready returns an error when the certificate has expired.
func (f *Files) Ready() error {
	pair, _ := f.GetCertificate(nil)
	if time.Now().After(pair.Leaf.NotAfter) {
		return errors.New("the certificate has expired")
	}
	return nil
}

func (f *Files) load() (*tls.Certificate, [sha256.Size]byte, error) {
	var digest [sha256.Size]byte
	certificate, err := document.ReadPEM("injector.tls.certFile", f.certFile)
	if err != nil {
		return nil, digest, err
	}
	key, err := document.ReadPEM("injector.tls.keyFile", f.keyFile)
	if err != nil {
		return nil, digest, err
	}
	pair, err := document.KeyPair(certificate, key)
	if err != nil {
		return nil, digest, fmt.Errorf("injector.tls: certFile and keyFile: %w", err)
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, digest, fmt.Errorf("injector.tls.certFile: %w", err)
		}
	}
	return &pair, sha256.Sum256(append(certificate, key...)), nil
}
