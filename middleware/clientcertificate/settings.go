package clientcertificate

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/nginx/variable"
)

// mode says which clients pass.
type mode int

const (
	// on demands a valid certificate.
	on mode = iota
	// off looks at none.
	off
	// optional demands that a certificate is valid if there is one.
	optional
	// optionalNoCA is optional that also accepts certificates of unknown authorities.
	optionalNoCA
)

// settings are the options of one clientCertificate, checked.
type settings struct {
	mode mode
	// roots are the authorities that have signed themselves, others the rest: OpenSSL trusts no chain that ends with one
	// of those.
	roots, others *x509.CertPool
	revocations   *certificate.Revocations // nil without CRLs
	depth         int
	subject       *pcre.Regexp // nil without matchCN
	errorPage     variable.Template
	redirects     bool
	// passes sends the certificate to the service.
	passes bool
	now    func() time.Time
}

func newSettings(config *dynamic.ClientCertificate, readFile func(string) ([]byte, error)) (*settings, error) {
	s := &settings{depth: config.Depth, passes: config.PassCertificate, now: time.Now}
	switch config.Mode {
	case "on", "":
		s.mode = on
	case "off":
		s.mode = off
	case "optional":
		s.mode = optional
	case "optional_no_ca":
		s.mode = optionalNoCA
	default:
		return nil, fmt.Errorf("clientCertificate.mode %q is none of on, off, optional and optional_no_ca", config.Mode)
	}
	if config.Depth < 0 {
		return nil, fmt.Errorf("clientCertificate.depth %d is negative", config.Depth)
	}
	if err := s.setPatterns(config); err != nil {
		return nil, err
	}
	if s.mode == off {
		return s, nil
	}
	return s, s.setAuthorities(config, readFile)
}

func (s *settings) setPatterns(config *dynamic.ClientCertificate) error {
	if config.MatchCN != "" {
		var err error
		if s.subject, err = pcre.Compile(config.MatchCN, 0); err != nil {
			return fmt.Errorf("clientCertificate.matchCN: %w", err)
		}
	}
	text := config.ErrorPage
	if text == "" {
		return nil
	}
	if parsed, err := url.Parse(text); err != nil || strings.ContainsAny(text, " \t") || parsed.Host == "" &&
		!strings.HasPrefix(text, "/") {
		return errors.New("clientCertificate.errorPage is neither a URL nor a path")
	}
	if strings.HasPrefix(text, "/") {
		text = "$scheme://$host" + text
	}
	var err error
	if s.errorPage, err = variable.ParseLive(text); err != nil {
		return fmt.Errorf("clientCertificate.errorPage: %w", err)
	}
	s.redirects = true
	return nil
}

// setAuthorities reads the authorities and their CRLs.
func (s *settings) setAuthorities(config *dynamic.ClientCertificate, readFile func(string) ([]byte, error)) error {
	if len(config.CAFiles) == 0 {
		return errors.New("clientCertificate.caFiles is empty: no certificate would be valid")
	}
	s.roots, s.others = x509.NewCertPool(), x509.NewCertPool()
	var all []*x509.Certificate
	for i, value := range config.CAFiles {
		option := fmt.Sprintf("clientCertificate.caFiles[%d]", i)
		text, err := read(option, value, readFile)
		if err != nil {
			return err
		}
		some, err := parse(text)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", option, document.DescribePEM(value), err)
		}
		all = append(all, some...)
	}
	for _, one := range all {
		if bytes.Equal(one.RawSubject, one.RawIssuer) {
			s.roots.AddCert(one)
		} else {
			s.others.AddCert(one)
		}
	}
	if len(config.CRLFiles) == 0 {
		return nil
	}
	var lists [][]byte
	for i, value := range config.CRLFiles {
		text, err := read(fmt.Sprintf("clientCertificate.crlFiles[%d]", i), value, readFile)
		if err != nil {
			return err
		}
		lists = append(lists, text)
	}
	var err error
	s.revocations, err = certificate.NewRevocations("clientCertificate", lists, all)
	return err
}

// read returns the text of an option, or that of the file that it names.
func read(option, value string, readFile func(string) ([]byte, error)) ([]byte, error) {
	switch {
	case document.IsPEM(value):
		return []byte(value), nil
	case value == "" || !document.IsPath(value):
		return nil, fmt.Errorf("%s is neither a path nor PEM text", option)
	case readFile == nil:
		return nil, fmt.Errorf("%s can't be read here", option)
	}
	text, err := readFile(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", option, err)
	}
	return text, nil
}

// parse returns the certificates in PEM.
func parse(text []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(all)+1, err)
		}
		all = append(all, one)
	}
	// pem.Decode skips damaged blocks.
	if begun := bytes.Count(text, []byte("-----BEGIN CERTIFICATE-----")); begun != len(all) || begun == 0 {
		return nil, fmt.Errorf("%d of %d certificates can be read", len(all), begun)
	}
	return all, nil
}
