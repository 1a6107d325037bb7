package redis

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/sluiceproxy/sluice/clienttls"
	"github.com/sluiceproxy/sluice/dynamic"
)

const (
	// poolTimeout is how long a request waits for a connection while all are taken. It is shorter than answerTimeout, so
	// that the two are distinguished.
	poolTimeout = 200 * time.Millisecond
	// idleTimeout is after how long without use a connection is given up: sooner than servers and what stands between do
	// it silently.
	idleTimeout = time.Minute
	// bufferSize is the size of each of the two buffers of a connection, in bytes. A script and its arguments fit in;
	// more is flushed.
	bufferSize = 4 << 10
	// option is where the options of this package stand.
	option = "rateLimit.redis"
	// defaultEndpoint, defaultTimeout and defaultDialTimeout hold where an option is not set.
	defaultEndpoint    = "localhost:6379"
	defaultTimeout     = 3 * time.Second
	defaultDialTimeout = 5 * time.Second
	// fileProvider ends the names of middlewares that are declared in files.
	fileProvider = "@file"
)

// settings are the options of a Redis, checked.
type settings struct {
	// key is the same for equal options, files included.
	key       string
	endpoints string // With spaces between, for the log.
	password  string
	options   redis.UniversalOptions
}

// checkSocket refuses a path for a middleware that is not declared in a file. Other programs of this machine listen on
// sockets, and those who write labels or objects of a cluster need not have access to them.
func checkSocket(name string, config *dynamic.Redis) error {
	if config == nil || strings.HasSuffix(name, fileProvider) {
		return nil
	}
	for i, address := range config.Endpoints {
		if strings.HasPrefix(address, "/") {
			return fmt.Errorf("%s.endpoints[%d] %q is a socket, which only the file provider may name", option, i, address)
		}
	}
	return nil
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
	// The library takes -1 for no limit, and 0 for its own default. No connection takes longer than a probe.
	s := &settings{endpoints: strings.Join(addresses, " "), password: config.Password, options: redis.UniversalOptions{
		Addrs: addresses, Username: config.Username, Password: config.Password, DB: config.DB, TLSConfig: secured,
		PoolSize: config.PoolSize, MinIdleConns: config.MinIdleConns, MaxActiveConns: config.MaxActiveConns,
		ReadTimeout:  timeout(config.ReadTimeout, defaultTimeout, -1),
		WriteTimeout: timeout(config.WriteTimeout, defaultTimeout, -1),
		DialTimeout:  timeout(config.DialTimeout, defaultDialTimeout, probeTimeout),
		PoolTimeout:  poolTimeout, ConnMaxIdleTime: idleTimeout, ReadBufferSize: bufferSize, WriteBufferSize: bufferSize,
		// Nothing is repeated: a command that failed says that Redis is lost.
		ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
		Protocol: 2, PipelinePoolSize: -1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}}
	o := &s.options
	s.key = fmt.Sprintf("%q %q %q %d %d %d %d %d %d %d %x", addresses, o.Username, o.Password, o.DB, o.PoolSize,
		o.MinIdleConns, o.MaxActiveConns, o.ReadTimeout, o.WriteTimeout, o.DialTimeout, fingerprint)
	if o.MaxActiveConns > 0 && (o.PoolSize == 0 || o.PoolSize > o.MaxActiveConns) {
		o.PoolSize = o.MaxActiveConns // A request then waits for a connection, where it would get an error at once.
	}
	return s, nil
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

// timeout returns the value of an option, its default, or no limit for 0 and less.
func timeout[D ~int64](value *D, standard, unlimited time.Duration) time.Duration {
	switch {
	case value == nil:
		return standard
	case *value <= 0:
		return unlimited
	}
	return time.Duration(*value)
}

// Rate is how many requests of one source may pass. It is not checked.
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
	if _, err := netip.ParsePrefix(source); err == nil {
		return true
	}
	address, err := netip.ParseAddr(source)
	return err == nil && address.Zone() == ""
}
