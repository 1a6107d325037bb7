// Package remote has what storages on a server share: its address, whose password stays out of errors, and watches that
// begin anew after an interruption.
package remote

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/clienttls"
)

// Parameters of all addresses that are about TLS.
const (
	parameterCA   = "ca"
	parameterCert = "cert"
	parameterKey  = "key"
)

// Form is what addresses of one kind of server look like.
type Form struct {
	// Scheme is the URL's scheme without TLS, and Secure the one with TLS.
	Scheme, Secure string
	// Port is the default port, and Hosts the highest number of hosts.
	Port  string
	Hosts int
	// Parameters are the names of those in the query, apart from ca, cert and key.
	Parameters []string
}

// Address is the address of a server.
type Address struct {
	// Username and Password are empty if there are none.
	Username, Password string
	// Hosts are host:port; at least one.
	Hosts []string
	// Path has no slash at its beginning and end.
	Path string
	// Query has the parameters of the Form that are set.
	Query url.Values
	// TLS is nil without TLS.
	TLS *tls.Config

	scheme string
}

// Parse reads scheme://user:password@host:port,host:port/path?parameters. Name, password, path and parameters are
// escaped as in any URL. With TLS, the parameter ca is a file of the authorities that are trusted (default: the
// system's), and cert and key are files of a client's certificate; they are read now. No error contains the password.
func Parse(text string, form Form) (*Address, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || scheme != form.Scheme && scheme != form.Secure {
		return nil, fmt.Errorf("the address is not %s://… or %s://…", form.Scheme, form.Secure)
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	credentials, hosts := "", rest[:end]
	if i := strings.LastIndex(hosts, "@"); i >= 0 {
		credentials, hosts = hosts[:i+1], hosts[i+1:]
	}
	parsed, err := url.Parse(scheme + "://" + credentials + "host" + rest[end:]) // It knows one host only.
	if err != nil {
		return nil, fmt.Errorf(
			"the address %s://…@%s is not a URL (characters of the password may have to be escaped)", scheme, hosts)
	}
	a := &Address{scheme: scheme, Path: strings.Trim(parsed.Path, "/")}
	a.Username = parsed.User.Username()
	a.Password, _ = parsed.User.Password()
	if a.Hosts, err = readHosts(hosts, form); err != nil {
		return nil, fmt.Errorf("%s: %w", a, err)
	}
	if err := a.readQuery(parsed, form); err != nil {
		return nil, fmt.Errorf("%s: %w", a, err)
	}
	return a, nil
}

// readHosts reads a list of hosts and sets the default port.
func readHosts(text string, form Form) ([]string, error) {
	hosts := strings.Split(text, ",")
	if len(hosts) > form.Hosts {
		return nil, fmt.Errorf("has %d hosts, at most %d are possible", len(hosts), form.Hosts)
	}
	for i, host := range hosts {
		if host == "" {
			return nil, errors.New("lacks a host")
		}
		name, port, err := net.SplitHostPort(host)
		if err != nil {
			name, port = strings.Trim(host, "[]"), form.Port
		}
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 || name == "" {
			return nil, fmt.Errorf("%q is not host:port", host)
		}
		hosts[i] = net.JoinHostPort(name, port)
	}
	return hosts, nil
}

// readQuery reads the parameters.
func (a *Address) readQuery(parsed *url.URL, form Form) error {
	query, err := url.ParseQuery(parsed.RawQuery)
	if err != nil || parsed.Fragment != "" {
		return errors.New("the parameters are escaped wrongly")
	}
	secure := a.scheme == form.Secure
	for name, values := range query {
		ofTLS := name == parameterCA || name == parameterCert || name == parameterKey
		switch {
		case ofTLS && !secure:
			return fmt.Errorf("the parameter %s needs %s://", name, form.Secure)
		case !ofTLS && !slices.Contains(form.Parameters, name):
			return fmt.Errorf("the parameter %q is unknown", name)
		case len(values) != 1 || values[0] == "":
			return fmt.Errorf("the parameter %s needs one value", name)
		}
	}
	if secure {
		options := &clienttls.Options{
			CA: query.Get(parameterCA), Cert: query.Get(parameterCert), Key: query.Get(parameterKey),
		}
		if a.TLS, err = clienttls.New("parameter", options, nil); err != nil {
			return err
		}
	}
	for _, name := range []string{parameterCA, parameterCert, parameterKey} {
		query.Del(name)
	}
	a.Query = query
	return nil
}

// String returns the address without name, password and parameters.
func (a *Address) String() string {
	text := a.scheme + "://" + strings.Join(a.Hosts, ",")
	if a.Path != "" {
		text += "/" + a.Path
	}
	return text
}

// maxReason bounds what a server can put into an error, in bytes.
const maxReason = 300

// Wrap returns an error of the server with the address in front, in one line without the password and without what a
// server repeats of a request. The error is what err is for [errors.Is]. That of nil is nil.
func (a *Address) Wrap(err error) error {
	if err == nil {
		return nil
	}
	text, _, _ := strings.Cut(err.Error(), ", with args")
	text = strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	if a.Password != "" && (strings.Contains(text, a.Password) || strings.Contains(text, url.QueryEscape(a.Password))) {
		text = "an error that holds the password"
	}
	return &failure{text: a.String() + ": " + text, err: err}
}

// failure is an error of which only the text is shown.
type failure struct {
	text string
	err  error
}

// Error returns the text.
func (f *failure) Error() string { return f.text }

// Is reports whether the error is another one.
func (f *failure) Is(target error) bool { return errors.Is(f.err, target) }
