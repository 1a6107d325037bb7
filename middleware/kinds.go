package middleware

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/adaptiveconcurrency"
	"github.com/sluiceproxy/sluice/middleware/addprefix"
	"github.com/sluiceproxy/sluice/middleware/authrequest"
	"github.com/sluiceproxy/sluice/middleware/bandwidthlimit"
	"github.com/sluiceproxy/sluice/middleware/basicauth"
	"github.com/sluiceproxy/sluice/middleware/bodylimit"
	"github.com/sluiceproxy/sluice/middleware/buffering"
	"github.com/sluiceproxy/sluice/middleware/circuitbreaker"
	"github.com/sluiceproxy/sluice/middleware/clientcertificate"
	"github.com/sluiceproxy/sluice/middleware/compress"
	"github.com/sluiceproxy/sluice/middleware/contenttype"
	"github.com/sluiceproxy/sluice/middleware/cors"
	"github.com/sluiceproxy/sluice/middleware/digestauth"
	"github.com/sluiceproxy/sluice/middleware/encodedcharacters"
	"github.com/sluiceproxy/sluice/middleware/environment"
	errorpages "github.com/sluiceproxy/sluice/middleware/errors"
	"github.com/sluiceproxy/sluice/middleware/externalauth"
	"github.com/sluiceproxy/sluice/middleware/fault"
	"github.com/sluiceproxy/sluice/middleware/forwardauth"
	"github.com/sluiceproxy/sluice/middleware/grpcweb"
	"github.com/sluiceproxy/sluice/middleware/headers"
	"github.com/sluiceproxy/sluice/middleware/inflightreq"
	"github.com/sluiceproxy/sluice/middleware/ipallowlist"
	"github.com/sluiceproxy/sluice/middleware/ipdenylist"
	"github.com/sluiceproxy/sluice/middleware/jwt"
	"github.com/sluiceproxy/sluice/middleware/nginxcors"
	"github.com/sluiceproxy/sluice/middleware/passtlsclientcert"
	"github.com/sluiceproxy/sluice/middleware/proxycookie"
	"github.com/sluiceproxy/sluice/middleware/proxyredirect"
	"github.com/sluiceproxy/sluice/middleware/proxysetheader"
	"github.com/sluiceproxy/sluice/middleware/ratelimit"
	"github.com/sluiceproxy/sluice/middleware/redirectregex"
	"github.com/sluiceproxy/sluice/middleware/redirectscheme"
	"github.com/sluiceproxy/sluice/middleware/regexrewrite"
	"github.com/sluiceproxy/sluice/middleware/replacepath"
	"github.com/sluiceproxy/sluice/middleware/replacepathregex"
	"github.com/sluiceproxy/sluice/middleware/requestheadermodifier"
	"github.com/sluiceproxy/sluice/middleware/requestredirect"
	"github.com/sluiceproxy/sluice/middleware/responseheadermodifier"
	"github.com/sluiceproxy/sluice/middleware/retry"
	"github.com/sluiceproxy/sluice/middleware/satisfyany"
	"github.com/sluiceproxy/sluice/middleware/stripprefix"
	"github.com/sluiceproxy/sluice/middleware/stripprefixregex"
	"github.com/sluiceproxy/sluice/middleware/timeout"
	"github.com/sluiceproxy/sluice/middleware/urlrewrite"
)

// Kinds returns all supported kinds except chain, in the order of the documentation. It is the only registry of kinds:
// the options are the field of dynamic.Middleware with the type that the constructor takes.
func Kinds() []Kind {
	return []Kind{
		plain(adaptiveconcurrency.New),
		plain(addprefix.New),
		kind(func(name string, config dynamic.AuthRequest, d dependencies) (*authrequest.AuthRequest, error) {
			return authrequest.New(name, config, authrequest.Options{
				ReadFile: d.readFile, Dial: d.dial, Cache: d.answers,
			})
		}),
		plain(bandwidthlimit.New),
		kind(func(name string, config dynamic.BasicAuth, d dependencies) (*basicauth.BasicAuth, error) {
			return basicauth.New(name, config, basicauth.Options{ReadFile: d.readFile, Semaphore: d.hashes})
		}),
		plain(bodylimit.New),
		kind(func(name string, config dynamic.Buffering, d dependencies) (*buffering.Buffering, error) {
			return buffering.New(name, config, buffering.Options{Held: d.held})
		}),
		kind(func(name string, config dynamic.CircuitBreaker, d dependencies) (*circuitbreaker.CircuitBreaker, error) {
			return circuitbreaker.New(name, config, circuitbreaker.Options{Logger: d.logger})
		}),
		kind(clientCertificate),
		plain(compress.New),
		plain(contenttype.New),
		plain(cors.New),
		kind(func(name string, config dynamic.DigestAuth, d dependencies) (*digestauth.DigestAuth, error) {
			return digestauth.New(name, config, digestauth.Options{ReadFile: d.readFile})
		}),
		plain(encodedcharacters.New),
		kind(func(name string, config dynamic.EnvironmentMiddleware, d dependencies) (*environment.Environment, error) {
			return environment.New(name, config, environment.Options{ReadFile: d.readFile})
		}),
		kind(errorPages),
		kind(externalAuth),
		kind(func(name string, config dynamic.Fault, _ dependencies) (*fault.Fault, error) {
			return fault.New(name, config, fault.Options{})
		}),
		kind(func(name string, config dynamic.ForwardAuth, d dependencies) (*forwardauth.ForwardAuth, error) {
			return forwardauth.New(name, config, forwardauth.Options{ReadFile: d.readFile, Dial: d.dial})
		}),
		plain(grpcweb.New),
		plain(headers.New),
		plain(inflightreq.New),
		plain(ipallowlist.New),
		plain(ipdenylist.New),
		plain(ipallowlist.NewWhiteList),
		kind(func(name string, config dynamic.JWT, d dependencies) (*jwt.JWT, error) {
			return jwt.New(name, config, jwt.Options{ReadFile: d.readFile, Logger: d.logger, Dial: d.dial})
		}),
		plain(nginxcors.New),
		plain(passtlsclientcert.New),
		plain(proxycookie.New),
		plain(proxyredirect.New),
		plain(proxysetheader.New),
		kind(func(name string, config dynamic.RateLimit, d dependencies) (*ratelimit.RateLimit, error) {
			return ratelimit.New(name, config, ratelimit.Options{Clients: d.redis, ReadFile: d.readFile})
		}),
		plain(redirectregex.New),
		plain(redirectscheme.New),
		plain(regexrewrite.New),
		plain(replacepath.New),
		plain(replacepathregex.New),
		plain(requestheadermodifier.New),
		plain(requestredirect.New),
		plain(responseheadermodifier.New),
		plain(retry.New),
		kind(satisfyAny),
		plain(stripprefix.New),
		plain(stripprefixregex.New),
		plain(timeout.New),
		plain(urlrewrite.New),
	}
}

// errorPages builds the error pages, which need a service.
func errorPages(name string, config dynamic.ErrorPage, d dependencies) (*errorpages.ErrorPages, error) {
	var pages http.Handler
	if config.Service != "" {
		var err error
		if pages, err = d.named.service(config.Service); err != nil {
			return nil, err
		}
	}
	return errorpages.New(name, config, pages, d.pageBodies)
}

// externalAuth builds the middleware of that name, which needs a service.
func externalAuth(name string, config dynamic.ExternalAuth, d dependencies) (*externalauth.ExternalAuth, error) {
	var asked http.Handler
	if config.Service != "" {
		var err error
		if asked, err = d.named.service(config.Service); err != nil {
			return nil, err
		}
	}
	return externalauth.New(name, config, asked)
}

func clientCertificate(
	name string, config dynamic.ClientCertificate, d dependencies,
) (*clientcertificate.ClientCertificate, error) {
	return clientcertificate.New(name, config, clientcertificate.Options{ReadFile: d.readFile})
}

// satisfyAny builds the middleware of that name from its members, which must be of kinds that read no bodies and whose
// refusals are a status and headers.
func satisfyAny(name string, config dynamic.SatisfyAny, d dependencies) (*satisfyany.SatisfyAny, error) {
	var members []satisfyany.Member
	for _, member := range config.Middlewares {
		steps, err := d.named.middleware(member)
		if err != nil {
			return nil, err
		}
		var one satisfyany.Member
		for _, step := range steps {
			switch step.(type) {
			case *ipallowlist.IPAllowList, *basicauth.BasicAuth, *digestauth.DigestAuth, *authrequest.AuthRequest:
				one.Admits = true
			case *ipdenylist.IPDenyList:
			default:
				return nil, fmt.Errorf("satisfyAny.middlewares: %s is of a kind that cannot be a member; those are ipAllowList, "+
					"ipDenyList, basicAuth, digestAuth and authRequest", member)
			}
			one.Steps = append(one.Steps, step)
		}
		members = append(members, one)
	}
	return satisfyany.New(name, members)
}

// Kind is one kind of middleware.
type Kind struct {
	// Name is the key of the kind in files, such as "addPrefix"; empty if dynamic.Middleware has no field for its options.
	Name string
	// Guards is set for kinds that can restrict access; see [Guard].
	Guards bool

	// field is the index of the options in dynamic.Middleware.
	field int
	// build builds a middleware from its options, a non-nil pointer.
	build func(name string, options any, d dependencies) (Middleware, error)
}

// plain is a kind without dependencies.
func plain[C any, M Middleware](create func(name string, config C) (M, error)) Kind {
	return kind(func(name string, config C, _ dependencies) (M, error) { return create(name, config) })
}

// kind is a kind with dependencies.
func kind[C any, M Middleware](create func(name string, config C, d dependencies) (M, error)) Kind {
	k := Kind{
		build: func(name string, options any, d dependencies) (Middleware, error) {
			built, err := create(name, *options.(*C), d)
			if err != nil {
				return nil, err // without a typed nil
			}
			return built, nil
		},
	}
	var built M
	_, k.Guards = any(built).(Guard)
	definition := reflect.TypeFor[dynamic.Middleware]()
	for i := range definition.NumField() {
		if field := definition.Field(i); field.Type == reflect.TypeFor[*C]() {
			k.Name, k.field = optionName(field), i
		}
	}
	return k
}

// optionName returns the name of a field in files.
func optionName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}
