package input

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
)

// Kinds of secret content.
const (
	// secretive fields hold a secret, whatever they hold.
	secretive = "secret"
	// keyed fields hold the path of a file, or a key in its place; errors name paths.
	keyed = "path or key"
	// listed fields hold the path of a file, or by mistake users or keys in its place.
	listed = "path or users"
	// located fields hold an address, and a password if it is written as a URL.
	located = "address or URL"
)

// Why the other fields hold none.
const (
	named     = "names something that is declared, or sent in the open"
	chosen    = "is one of a few words"
	matched   = "decides by what requests show, and says so in explain"
	addressed = "is an address or a host name"
	answered  = "is sent to every client"
	rewritten = "says how paths are rewritten"
)

// fields maps every text field of the dynamic model to its kind of content. Keys are paths; {} is the name of an object
// or the key of a map, and [] an index.
func fields() map[string]string {
	all := map[string]string{}
	for prefix, group := range map[string]map[string]string{
		"http.routers{}.": {
			"entryPoints[]": named, "middlewares[]": named, "service": named, "rule": matched, "parentRefs[]": named,
			"ruleSyntax": chosen, "priorityClass": chosen,
			"tls.options": named, "tls.certResolver": named, "tls.domains[].main": addressed, "tls.domains[].sans[]": addressed,
			"observability.traceVerbosity": chosen,
		},
		"http.services{}.":            fieldsOfServices(),
		"http.middlewares{}.":         fieldsOfPaths(),
		"http.middlewares{}.headers.": fieldsOfHeaders(),
		"http.middlewares{}.jwt.":     fieldsOfTokens(),

		"http.middlewares{}.requestHeaderModifier.":  fieldsOfModifiers(),
		"http.middlewares{}.responseHeaderModifier.": fieldsOfModifiers(),
		"http.middlewares{}.cors.": {
			"allowOrigins[]": answered, "allowMethods[]": answered, "allowHeaders[]": answered, "exposeHeaders[]": answered,
		},
		"http.middlewares{}.environment.": {
			"header": named, "aliases[]": named, "default": matched, "untrusted": chosen, "stamp": chosen,
			"sources.query": named, "sources.path": matched, "sources.host": addressed, "sources.hostSplitter": matched,
			"sources.cookie": named, "trust.sourceRange[]": addressed,
			"trust.ipStrategy.excludedIPs[]": addressed, "trust.ipStrategy.trustedIPs[]": addressed,
			"trust.signed.key": secretive, "trust.signed.keyFile": keyed,
		},
		"http.middlewares{}.fault.":               {"headers{}": secretive},
		"http.middlewares{}.basicAuth.":           fieldsOfUsers(),
		"http.middlewares{}.digestAuth.":          fieldsOfUsers(),
		"http.middlewares{}.forwardAuth.tls.":     fieldsOfKeys(),
		"http.middlewares{}.jwt.tls.":             fieldsOfKeys(),
		"http.middlewares{}.rateLimit.redis.tls.": fieldsOfKeys(),
		"http.middlewares{}.rateLimit.redis.":     {"endpoints[]": located, "username": secretive, "password": secretive},
		"http.middlewares{}.plugin":               {"{}{}": secretive},
		"http.middlewares{}.ipWhiteList.":         fieldsOfLists(),
		"http.middlewares{}.ipAllowList.":         fieldsOfLists(),
		"http.middlewares{}.ipDenyList.":          fieldsOfLists(),
		"http.middlewares{}.authRequest.tls.":     fieldsOfKeys(),
		"http.middlewares{}.authRequest.": {
			"url": secretive, "method": chosen, "headers[].name": named, "headers[].value": secretive,
			"responseHeaders[]": named, "signinURL": secretive, "signinRedirectParam": named, "cacheKey": secretive,
			"cacheDuration[]": chosen, "ipStrategy.excludedIPs[]": addressed, "ipStrategy.trustedIPs[]": addressed,
		},
		"http.middlewares{}.proxySetHeader.ipStrategy.": {"excludedIPs[]": addressed, "trustedIPs[]": addressed},
		"http.middlewares{}.clientCertificate.": {
			"mode": chosen, "caFiles[]": keyed, "crlFiles[]": keyed, "matchCN": matched, "errorPage": secretive,
		},
		"http.middlewares{}.nginxCORS.": {
			"allowOrigins[]": answered, "allowMethods": answered, "allowHeaders": answered, "exposeHeaders": answered,
		},
		"http.middlewares{}.rateLimit.": {
			"excludedSourceRange[]":                    addressed,
			"sourceCriterion.ipStrategy.excludedIPs[]": addressed, "sourceCriterion.ipStrategy.trustedIPs[]": addressed,
			"sourceCriterion.requestHeaderName": named,
		},
		"http.middlewares{}.inFlightReq.": {
			"excludedSourceRange[]":                    addressed,
			"sourceCriterion.ipStrategy.excludedIPs[]": addressed, "sourceCriterion.ipStrategy.trustedIPs[]": addressed,
			"sourceCriterion.requestHeaderName": named,
		},
		"http.middlewares{}.forwardAuth.": fieldsOfQuestions(),
		"http.serversTransports{}.":       fieldsOfTransports(),
		"tcp.routers{}.": {
			"entryPoints[]": named, "middlewares[]": named, "service": named, "rule": matched, "ruleSyntax": chosen,
			"tls.options": named, "tls.certResolver": named, "tls.domains[].main": addressed, "tls.domains[].sans[]": addressed,
		},
		"tcp.services{}.": {
			"loadBalancer.strategy": chosen, "loadBalancer.servers[].address": located, "loadBalancer.serversTransport": named,
			"loadBalancer.healthCheck.send": secretive, "loadBalancer.healthCheck.expect": secretive,
			"loadBalancer.outlierDetection.status[]": chosen, "weighted.services[].name": named,
		},
		"tcp.middlewares{}.": {"ipAllowList.sourceRange[]": addressed, "ipWhiteList.sourceRange[]": addressed},
		"tcp.serversTransports{}.tls.": {
			"serverName": addressed, "rootCAs[]": keyed, "certificates[].certFile": keyed, "certificates[].keyFile": keyed,
			"peerCertURI": named, "peerCertSANs[].type": chosen, "peerCertSANs[].value": named, "spiffe.ids[]": named,
			"spiffe.trustDomain": named,
		},
		"udp.routers{}.": {"entryPoints[]": named, "service": named},
		"udp.services{}.": {
			"loadBalancer.strategy": chosen, "loadBalancer.servers[].address": located,
			"loadBalancer.outlierDetection.status[]": chosen, "weighted.services[].name": named,
		},
		"tls.certificates[].":              {"certFile": keyed, "keyFile": keyed, "stores[]": named, "entryPoints[]": named},
		"tls.stores{}.defaultCertificate.": {"certFile": keyed, "keyFile": keyed},
		"tls.stores{}.defaultGeneratedCert.": {
			"resolver": named, "domain.main": addressed,
			"domain.sans[]": addressed,
		},
		"tls.options{}.": {
			"entryPoints[]": named,
			"minVersion":    chosen, "maxVersion": chosen, "cipherSuites[]": chosen,
			"curvePreferences[]": chosen, "alpnProtocols[]": chosen,
		},
		"tls.options{}.clientAuth.": {"caFiles[]": keyed, "crlFiles[]": keyed, "clientAuthType": chosen},
		"http.services{}.loadBalancer.healthCheck.": {
			"scheme": chosen, "mode": chosen, "path": secretive, "method": chosen,
			"hostname": addressed, "headers{}": secretive,
		},
	} {
		for field, holds := range group {
			all[prefix+field] = holds
		}
	}
	return all
}

func fieldsOfServices() map[string]string {
	return map[string]string{
		"loadBalancer.strategy": chosen, "loadBalancer.hash.source": chosen, "loadBalancer.hash.name": named,
		"loadBalancer.servers[].url":      located,
		"loadBalancer.sticky.cookie.name": answered, "loadBalancer.sticky.cookie.sameSite": chosen,
		"loadBalancer.sticky.cookie.path":   answered,
		"loadBalancer.sticky.cookie.domain": answered, "loadBalancer.outlierDetection.status[]": chosen,
		"loadBalancer.retry.status[]":   chosen,
		"loadBalancer.serversTransport": named, "highestRandomWeight.services[].name": named,
		"weighted.services[].name":    named,
		"weighted.sticky.cookie.name": answered, "weighted.sticky.cookie.sameSite": chosen,
		"weighted.sticky.cookie.path":   answered,
		"weighted.sticky.cookie.domain": answered, "mirroring.service": named, "mirroring.mirrors[].name": named,
		"environment.header": named, "environment.aliases[].name": named, "environment.aliases[].pattern": chosen,
		"environment.aliases[].placeholder": chosen, "environment.splitter": chosen, "environment.default": named,
		"environment.fallback": chosen, "environment.exists": chosen, "environment.tags[]": named,
		"environment.service": named, "environment.subsets[].tag": named, "environment.subsets[].service": named,
		"canary.service": named, "canary.canary": named, "canary.header": named, "canary.headerValue": matched,
		"canary.headerPattern": matched, "canary.cookie": named, "canary.sticky.cookie.name": answered,
		"canary.sticky.cookie.sameSite": chosen, "canary.sticky.cookie.path": answered,
		"canary.sticky.cookie.domain": answered, "canary.sticky.cookie.mode": chosen,
		"weighted.sticky.cookie.mode": chosen, "loadBalancer.sticky.cookie.mode": chosen,
		"loadBalancer.hash.expression": matched, "loadBalancer.retry.retryOn[]": chosen,
		"failover.service":  named,
		"failover.fallback": named, "failover.errors.status[]": chosen, "middlewares[]": named,
		"directResponse.body": answered, "directResponse.headers[].name": named, "directResponse.headers[].value": secretive,
	}
}

func fieldsOfLists() map[string]string {
	return map[string]string{
		"sourceRange[]": addressed, "ipStrategy.excludedIPs[]": addressed, "ipStrategy.trustedIPs[]": addressed,
	}
}

func fieldsOfPaths() map[string]string {
	return map[string]string{
		"addPrefix.prefix": rewritten, "stripPrefix.prefixes[]": rewritten, "stripPrefixRegex.regex[]": rewritten,
		"replacePath.path":   rewritten,
		"regexRewrite.regex": rewritten, "regexRewrite.replacement": rewritten,
		"replacePathRegex.regex": rewritten, "replacePathRegex.replacement": rewritten, "chain.middlewares[]": named,
		"satisfyAny.middlewares[]": named,
		"redirectRegex.regex":      answered, "redirectRegex.replacement": answered, "redirectScheme.scheme": answered,
		"redirectScheme.port": answered,
		"errors.status[]":     chosen, "errors.service": named, "errors.query": secretive,
		"errors.errorRequestHeaders[]": named, "errors.errorResponseHeaders[]": named,
		"errors.requestHeaders[].name":  named,
		"errors.requestHeaders[].value": secretive, "proxySetHeader.headers[].name": named,
		"proxySetHeader.headers[].value": secretive, "proxyRedirect.rewrites[].from": answered,
		"proxyRedirect.rewrites[].to": answered, "proxyCookie.domain[].from": answered, "proxyCookie.domain[].to": answered,
		"proxyCookie.path[].from": answered, "proxyCookie.path[].to": answered, "proxyCookie.exclude[]": named,
		"externalAuth.service": named, "externalAuth.protocol": chosen, "externalAuth.path": rewritten,
		"externalAuth.allowedHeaders[]": named, "externalAuth.allowedResponseHeaders[]": named,
		"buffering.retryExpression": matched, "circuitBreaker.expression": matched,
		"compress.excludedContentTypes[]": named,
		"compress.includedContentTypes[]": named, "compress.encodings[]": chosen, "compress.defaultEncoding": chosen,
		"retry.status[]":         chosen,
		"grpcWeb.allowOrigins[]": answered,
		"requestRedirect.scheme": answered, "requestRedirect.hostname": answered, "requestRedirect.path.fullPath": answered,
		"requestRedirect.path.replacePrefixMatch": answered, "requestRedirect.path.prefix": rewritten,
		"urlRewrite.hostname": addressed, "urlRewrite.path.fullPath": rewritten,
		"urlRewrite.path.replacePrefixMatch": rewritten, "urlRewrite.path.prefix": rewritten,
	}
}

func fieldsOfHeaders() map[string]string {
	return map[string]string{
		"customRequestHeaders{}": secretive, "customResponseHeaders{}": secretive, "sslProxyHeaders{}": secretive,
		"accessControlAllowHeaders[]": answered, "accessControlAllowMethods[]": answered,
		"accessControlAllowOriginList[]":      answered,
		"accessControlAllowOriginListRegex[]": matched, "accessControlExposeHeaders[]": answered, "allowedHosts[]": addressed,
		"hostsProxyHeaders[]": named, "customFrameOptionsValue": answered, "customBrowserXSSValue": answered,
		"contentSecurityPolicy":           answered,
		"contentSecurityPolicyReportOnly": answered, "publicKey": answered, "referrerPolicy": answered,
		"permissionsPolicy": answered,
		"featurePolicy":     answered, "sslHost": addressed,
	}
}

func fieldsOfModifiers() map[string]string {
	return map[string]string{
		"set[].name": named, "set[].value": secretive, "add[].name": named, "add[].value": secretive, "remove[]": named,
	}
}

func fieldsOfTokens() map[string]string {
	return map[string]string{
		"jwksUrl": secretive, "jwksFile": secretive, "jwks": secretive, "publicKey": secretive, "publicKeyFile": secretive,
		"signingSecret":     secretive,
		"signingSecretFile": secretive, "algorithms[]": secretive, "issuers[]": secretive, "audiences[]": secretive,
		"claims[].name":     named,
		"claims[].values[]": secretive, "tokenHeader": named, "tokenCookie": named, "tokenQueryKey": named,
		"forwardHeaders{}": named,
		"realm":            answered,
	}
}

func fieldsOfUsers() map[string]string {
	return map[string]string{"users[]": secretive, "usersFile": listed, "realm": answered, "headerField": named}
}

func fieldsOfKeys() map[string]string {
	return map[string]string{"ca": keyed, "cert": keyed, "key": keyed}
}

func fieldsOfQuestions() map[string]string {
	return map[string]string{
		"address": secretive, "authSigninURL": secretive, "authResponseHeaders[]": named, "authResponseHeadersRegex": named,
		"authRequestHeaders[]": named, "addAuthCookiesToResponse[]": named, "headerField": named,
	}
}

func fieldsOfTransports() map[string]string {
	return map[string]string{
		"serverName": addressed, "rootCAs[]": keyed, "certificates[].certFile": keyed, "certificates[].keyFile": keyed,
		"cipherSuites[]": chosen, "minVersion": chosen, "maxVersion": chosen, "peerCertURI": named,
		"peerCertSANs[].type":  chosen,
		"peerCertSANs[].value": named, "spiffe.ids[]": named, "spiffe.trustDomain": named,
	}
}

// mayHold reports whether a field may hold a secret.
func mayHold(holds string) bool {
	return holds == secretive || holds == keyed || holds == listed || holds == located
}

// leaves calls visit with the path of every field that has text, and what it holds there; of a type it is called once
// for each field.
func leaves(of reflect.Type, value reflect.Value, path string, visit func(path string, value reflect.Value)) {
	if value.IsValid() && (value.Kind() == reflect.Pointer || value.Kind() == reflect.Interface) {
		value = value.Elem()
	}
	switch of.Kind() {
	case reflect.String, reflect.Interface:
		visit(path, value)
	case reflect.Pointer:
		leaves(of.Elem(), value, path, visit)
	case reflect.Slice:
		leaves(of.Elem(), reflect.Value{}, path+"[]", visit)
		for i := range length(value) {
			leaves(of.Elem(), value.Index(i), path+"[]", visit)
		}
	case reflect.Map:
		leaves(of.Elem(), reflect.Value{}, path+"{}", visit)
		if value.IsValid() {
			for _, element := range value.Seq2() {
				leaves(of.Elem(), element, path+"{}", visit)
			}
		}
	case reflect.Struct:
		if element, ok := elements(of); ok {
			leaves(element, reflect.Value{}, path+"{}", visit)
			if value.IsValid() {
				for _, element := range value.MethodByName("All").Call(nil)[0].Seq2() {
					leaves(element.Type(), element, path+"{}", visit)
				}
			}
			return
		}
		for field := range of.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			inner := reflect.Value{}
			if value.IsValid() {
				inner = value.FieldByIndex(field.Index)
			}
			switch {
			case name == "-":
			case field.Anonymous:
				leaves(field.Type, inner, path, visit)
			default:
				leaves(field.Type, inner, strings.TrimPrefix(path+"."+name, "."), visit)
			}
		}
	}
}

// elements returns the type of the values of an immutable map.
func elements(of reflect.Type) (reflect.Type, bool) {
	if of.PkgPath() != reflect.TypeFor[immutable.Edit]().PkgPath() {
		return nil, false
	}
	get, ok := of.MethodByName("Get")
	return get.Type.Out(0), ok
}

func length(value reflect.Value) int {
	if !value.IsValid() {
		return 0
	}
	return value.Len()
}

// TestEveryFieldIsKnownAsSecretOrNot checks that every field of the model is listed here. Secrets are planted in those
// that may hold one, in valid and invalid definitions.
func TestEveryFieldIsKnownAsSecretOrNot(t *testing.T) {
	t.Parallel()
	known := fields()
	found := map[string]bool{}
	leaves(reflect.TypeFor[dynamic.Configuration](), reflect.Value{}, "", func(path string, _ reflect.Value) {
		found[path] = true
		if known[path] == "" {
			t.Errorf("the field %s is new: say in fields() whether it may hold a secret", path)
		}
	})
	for path := range known {
		if !found[path] {
			t.Errorf("there is no field %s", path)
		}
	}
}
