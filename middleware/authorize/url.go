package authorize

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
)

// CheckURL demands an absolute URL that a client can request. The error is a clause that follows the option's name, and
// holds no part of the URL, which may hold a password.
func CheckURL(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" {
		return errors.New("does not begin with http:// or https://")
	}
	if u.Hostname() == "" {
		return errors.New("names no host")
	}
	if strings.ContainsAny(u.Host, " \t") {
		return errors.New("has a space in its host")
	}
	if port := u.Port(); port != "" {
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return errors.New("has a port that is not between 1 and 65535")
		}
	}
	if _, err := (canonical.Policy{}).Query(u.RawQuery); err != nil {
		return errors.New("has a query with a space, a control character or #")
	}
	return nil
}
