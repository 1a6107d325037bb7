package redis

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/clienttls"
	"github.com/sluiceproxy/sluice/dynamic"
)

const (
	// option is where the options of this package stand.
	option = "rateLimit.redis"
	// defaultEndpoint, defaultTimeout and defaultDialTimeout hold where an option is not set.
	defaultEndpoint    = "localhost:6379"
	defaultTimeout     = 3 * time.Second
	defaultDialTimeout = 5 * time.Second
)

// identity is what limiters that share connections have in common.
type identity struct {
	endpoints, username, password          string
	db, poolSize, minIdleConns, maxActive  int
	readTimeout, writeTimeout, dialTimeout time.Duration
	tls                                    clienttls.Fingerprint
}

// settings are the options of a Redis, checked.
type settings struct {
	identity

	addresses []string
	secured   *tls.Config
}

// newSettings checks the options and sets the defaults; nil has them all. An error begins with the option.
func newSettings(config *dynamic.Redis, readFile ReadFile) (*settings, error) {
	if config == nil {
		config = &dynamic.Redis{}
	}
	addresses := slices.Clone(config.Endpoints)
	if len(addresses) == 0 {
		addresses = []string{defaultEndpoint}
	}
	for i, address := range addresses {
		if err := checkAddress(address, len(addresses)); err != nil {
			return nil, fmt.Errorf("%s.endpoints[%d]%w", option, i, err)
		}
	}
	if err := checkNumbers(config, len(addresses)); err != nil {
		return nil, err
	}
	secured, fingerprint, err := clienttls.Load(option+".tls", clienttls.OptionsOf(config.TLS), readFile)
	if err != nil {
		return nil, err
	}
	return &settings{
		identity: identity{
			endpoints: strings.Join(addresses, " "), username: config.Username, password: config.Password,
			db: config.DB, poolSize: config.PoolSize, minIdleConns: config.MinIdleConns, maxActive: config.MaxActiveConns,
			readTimeout:  timeout(config.ReadTimeout, defaultTimeout),
			writeTimeout: timeout(config.WriteTimeout, defaultTimeout),
			dialTimeout:  timeout(config.DialTimeout, defaultDialTimeout),
			tls:          fingerprint,
		},
		addresses: addresses, secured: secured,
	}, nil
}

// checkAddress demands host:port, or the path of a socket when it is the only one. The error follows the option's
// name. It shows the value only when that can't be a URL with a password.
func checkAddress(address string, count int) error {
	if strings.ContainsAny(address, "@ ") || strings.Contains(address, "://") {
		return errors.New(" is not host:port; user, password and TLS are options of their own")
	}
	if strings.HasPrefix(address, "/") {
		if count > 1 {
			return fmt.Errorf(" %q is a socket, and the nodes of a cluster are host:port", address)
		}
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return fmt.Errorf(" %q is not host:port", address)
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return fmt.Errorf(" %q has a port that is not between 1 and 65535", address)
	}
	return nil
}

// checkNumbers demands numbers that mean something.
func checkNumbers(config *dynamic.Redis, addresses int) error {
	for _, number := range []struct {
		name  string
		value int
	}{
		{"db", config.DB},
		{"poolSize", config.PoolSize},
		{"minIdleConns", config.MinIdleConns},
		{"maxActiveConns", config.MaxActiveConns},
	} {
		if number.value < 0 {
			return fmt.Errorf("%s.%s %d is negative", option, number.name, number.value)
		}
	}
	if addresses > 1 && config.DB != 0 {
		return fmt.Errorf("%s.db %d: several endpoints are those of a cluster, which has database 0 alone", option, config.DB)
	}
	if config.Username != "" && config.Password == "" {
		return fmt.Errorf("%s.username needs %s.password", option, option)
	}
	return nil
}

// timeout returns the value of an option, or its default. 0 says that there is none.
func timeout[D ~int64](value *D, standard time.Duration) time.Duration {
	if value == nil {
		return standard
	}
	return max(time.Duration(*value), 0)
}

// Rate is how many requests of one source may pass.
type Rate struct {
	// Average is how many may pass within a period, in the long run; at least 1.
	Average int64
	// Period is what Average counts for; more than 0.
	Period time.Duration
	// Burst is how many may pass at once after a pause; at least 1.
	Burst int64
	// MaxDelay is the longest wait that a request is given instead of being refused; 0 gives none.
	MaxDelay time.Duration
}

// check says what can't work.
func (r Rate) check() error {
	switch {
	case r.Average < 1:
		return fmt.Errorf("rateLimit.average %d is less than 1", r.Average)
	case r.Period <= 0:
		return fmt.Errorf("rateLimit.period %v is not more than 0", r.Period)
	case r.Burst < 1:
		return fmt.Errorf("rateLimit.burst %d is less than 1", r.Burst)
	case r.MaxDelay < 0:
		return errors.New("the longest wait is negative")
	}
	return nil
}

// perMicrosecond is how many tokens flow in within a microsecond.
func (r Rate) perMicrosecond() float64 {
	return float64(r.Average) / (float64(r.Period) / float64(time.Microsecond))
}

// String identifies a rate within the name of a key.
func (r Rate) String() string {
	return strconv.FormatInt(r.Average, 10) + "/" + r.Period.String() + "/" + strconv.FormatInt(r.Burst, 10)
}

// isAddress reports whether a source is an address or a network, which need not be hidden.
func isAddress(source string) bool {
	if len(source) > len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128") {
		return false
	}
	address, bits, network := strings.Cut(source, "/")
	if _, err := strconv.ParseUint(cmp.Or(bits, "0"), 10, 8); network && err != nil {
		return false
	}
	parsed, err := netip.ParseAddr(address)
	return err == nil && parsed.Zone() == ""
}
