package forward

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/servertls"
)

// newTLS returns the settings that all upstreams of a transport share.
func newTLS(config *dynamic.ServersTransport, identity Identity) (*servertls.Settings, error) {
	settings, err := servertls.New(&dynamic.TCPClientTLS{
		ServerName: config.ServerName, InsecureSkipVerify: config.InsecureSkipVerify, RootCAs: config.RootCAs,
		Certificates: config.Certificates, PeerCertURI: config.PeerCertURI, PeerCertSANs: config.PeerCertSANs,
		Spiffe: config.Spiffe, DisableSNI: config.DisableSNI, VerifyDepth: config.VerifyDepth,
	}, identity)
	if err != nil {
		return nil, err
	}
	if err := setVersions(settings.Config, config); err != nil {
		return nil, err
	}
	return settings, nil
}

// setVersions sets the versions and cipher suites.
func setVersions(settings *tls.Config, config *dynamic.ServersTransport) error {
	var err error
	if settings.MinVersion, err = version("minVersion", config.MinVersion); err != nil {
		return err
	}
	if settings.MaxVersion, err = version("maxVersion", config.MaxVersion); err != nil {
		return err
	}
	if settings.MaxVersion != 0 && settings.MaxVersion < max(settings.MinVersion, tls.VersionTLS10) {
		return fmt.Errorf("maxVersion %s is below minVersion %s", config.MaxVersion, config.MinVersion)
	}
	settings.CipherSuites, err = cipherSuites(config.CipherSuites)
	return err
}

func version(option, name string) (uint16, error) {
	switch strings.ToLower(name) {
	case "":
		return 0, nil
	case "versiontls10":
		return tls.VersionTLS10, nil
	case "versiontls11":
		return tls.VersionTLS11, nil
	case "versiontls12":
		return tls.VersionTLS12, nil
	case "versiontls13":
		return tls.VersionTLS13, nil
	}
	return 0, fmt.Errorf("%s: unknown value %q, expected VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13", option,
		name)
}

func cipherSuites(wanted []string) ([]uint16, error) {
	var ids []uint16
	known := slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites())
	for i, name := range wanted {
		at := slices.IndexFunc(known, func(suite *tls.CipherSuite) bool { return strings.EqualFold(suite.Name, name) })
		if at < 0 {
			return nil, unknownSuite(i, name, known)
		}
		ids = append(ids, known[at].ID)
	}
	return ids, nil
}

func unknownSuite(index int, name string, known []*tls.CipherSuite) error {
	names := make([]string, 0, len(known))
	for _, suite := range known {
		names = append(names, suite.Name)
	}
	if nearest, ok := document.Nearest(name, names); ok {
		return fmt.Errorf("cipherSuites[%d]: unknown value %q, did you mean %q?", index, name, nearest)
	}
	return fmt.Errorf("cipherSuites[%d]: unknown value %q", index, name)
}
