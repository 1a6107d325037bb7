package crd

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// middleware translates a Middleware. Options that files have too are decoded like those of files; what manifests spell
// otherwise are references, to Secrets, Services and other Middlewares.
func (t *translator) middleware(source translation.Source, object *v1alpha1.Middleware) translation.Result {
	result := t.begin(source, object)
	name := objectName(source.Namespace, source.Name)
	r := &reading{
		t: t, namespace: source.Namespace, result: &result,
		ref: dynamic.Ref{Kind: dynamic.KindMiddleware, Name: name},
	}
	spec := &object.Spec
	node := r.spec(spec, spec.Malformed)
	for _, path := range [][]string{
		{"basicAuth", "secret"},
		{"digestAuth", "secret"},
		{"forwardAuth", "tls", "caSecret"},
		{"forwardAuth", "tls", "certSecret"},
		{"jwt", "secret"},
		{"jwt", "tls", "caSecret"},
		{"jwt", "tls", "certSecret"},
		{"rateLimit", "redis", "secret"},
		{"rateLimit", "redis", "tls", "caSecret"},
		{"rateLimit", "redis", "tls", "certSecret"},
		{"chain", "middlewares"},
		{"errors", "service"},
	} {
		take(node, path...)
	}
	middleware := decoded[dynamic.Middleware](r, node)
	r.authentication(spec, middleware)
	r.token(spec, middleware)
	r.redis(spec, middleware)
	r.chain(spec, middleware)
	r.errorPage(source, spec, middleware)
	result.Middlewares = map[string]*dynamic.Middleware{name: middleware}
	return result
}

// authentication reads the Secrets of the kinds that decide who gets in.
func (r *reading) authentication(spec *v1alpha1.MiddlewareSpec, middleware *dynamic.Middleware) {
	if spec.BasicAuth != nil && middleware.BasicAuth != nil {
		middleware.BasicAuth.Users = r.users("basicAuth.secret", spec.BasicAuth.Secret, basicUsers)
	}
	if spec.DigestAuth != nil && middleware.DigestAuth != nil {
		middleware.DigestAuth.Users = r.users("digestAuth.secret", spec.DigestAuth.Secret, digestUsers)
	}
	if spec.ForwardAuth != nil && spec.ForwardAuth.TLS != nil && middleware.ForwardAuth != nil {
		r.clientTLS("forwardAuth.tls", &spec.ForwardAuth.TLS.ClientTLS, middleware.ForwardAuth.TLS)
	}
}

// token reads the Secrets of jwt.
func (r *reading) token(spec *v1alpha1.MiddlewareSpec, middleware *dynamic.Middleware) {
	if spec.JWT == nil || middleware.JWT == nil {
		return
	}
	if spec.JWT.TLS != nil {
		r.clientTLS("jwt.tls", spec.JWT.TLS, middleware.JWT.TLS)
	}
	if spec.JWT.Secret == "" {
		return
	}
	const option = "jwt.secret"
	if secret := r.secret(option, spec.JWT.Secret); secret != nil {
		if middleware.JWT.SigningSecret = string(secret.Data[keySigning]); middleware.JWT.SigningSecret == "" {
			r.unusable(option, backend.KindSecret, spec.JWT.Secret, errors.New("holds no "+keySigning))
		}
	}
}

// keySigning is the key of a Secret with what tokens are signed with.
const keySigning = "signingSecret"

// users returns the users that a Secret lists; none, with a finding, when it lists none.
func (r *reading) users(option, name string, of func(*corev1.Secret) ([]string, error)) []string {
	secret := r.secret(option, name)
	if secret == nil {
		return nil
	}
	users, err := of(secret)
	if err != nil {
		r.unusable(option, backend.KindSecret, name, err)
	}
	return users
}

// clientTLS reads the Secrets of TLS towards a server that a middleware asks.
func (r *reading) clientTLS(option string, spec *v1alpha1.ClientTLS, tls *dynamic.ClientTLS) {
	if tls == nil {
		return
	}
	if spec.CASecret != "" {
		tls.CA = r.authority(option+".caSecret", spec.CASecret)
	}
	if spec.CertSecret != "" {
		if pair, ok := r.keyPair(option+".certSecret", spec.CertSecret); ok {
			tls.Cert, tls.Key = pair.CertFile, pair.KeyFile
		}
	}
}

// redis reads the Secrets of a rate limit that is kept in Redis.
func (r *reading) redis(spec *v1alpha1.MiddlewareSpec, middleware *dynamic.Middleware) {
	if spec.RateLimit == nil || spec.RateLimit.Redis == nil || middleware.RateLimit == nil || middleware.RateLimit.Redis == nil {
		return
	}
	given, redis := spec.RateLimit.Redis, middleware.RateLimit.Redis
	if given.TLS != nil {
		r.clientTLS("rateLimit.redis.tls", given.TLS, redis.TLS)
	}
	if given.Secret != "" {
		const option = "rateLimit.redis.secret"
		if secret := r.secret(option, given.Secret); secret != nil {
			var err error
			if redis.Username, redis.Password, err = login(secret); err != nil {
				r.unusable(option, backend.KindSecret, given.Secret, err)
			}
		}
	}
}

// chain names the middlewares of a chain.
func (r *reading) chain(spec *v1alpha1.MiddlewareSpec, middleware *dynamic.Middleware) {
	if spec.Chain == nil || middleware.Chain == nil {
		return
	}
	names, problem := r.t.middlewares(r.namespace, spec.Chain.Middlewares)
	if problem != nil {
		r.problem("chain.middlewares", problem)
	}
	middleware.Chain.Middlewares = names
}

// errorPage declares the service that answers for some status codes.
func (r *reading) errorPage(source translation.Source, spec *v1alpha1.MiddlewareSpec, middleware *dynamic.Middleware) {
	if spec.Errors == nil || middleware.Errors == nil {
		return
	}
	own := errorServiceName(source.Namespace, source.Name)
	name, problem := r.t.service(r.result, r.namespace, own, &spec.Errors.Service.LoadBalancerSpec)
	if problem != nil {
		r.problem("errors.service", problem)
	}
	middleware.Errors.Service = name
}
