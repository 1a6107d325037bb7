package write

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// middlewareRefs writes middlewares, and returns references to them, or why one cannot be written.
func (w *writer) middlewareRefs(namespace string, names []string) (refs []any, reason string) {
	for _, name := range names {
		name = plain(name)
		if reason := w.middleware(namespace, name); reason != "" {
			if one := w.declaredMiddleware(name); one != nil && one.Errors != nil {
				// Pages for errors restrict nothing.
				w.leave("middleware %s is left out of routes in the namespace %s: %s", name, namespace, reason)
				continue
			}
			return nil, "middleware " + name + ": " + reason
		}
		refs = append(refs, map[string]any{"name": kubeName(name)})
	}
	return refs, ""
}

// middleware writes a middleware into a namespace, and returns why it cannot.
func (w *writer) middleware(namespace, name string) (reason string) {
	at := key{"Middleware", namespace, name}
	if reason, done := w.middlewares[at]; done {
		return reason
	}
	w.middlewares[at] = "it refers to itself"
	spec, reason := w.middlewareSpec(namespace, name)
	if w.middlewares[at] = reason; reason == "" {
		w.put("Middleware", namespace, kubeName(name), spec)
	}
	return reason
}

func (w *writer) declaredMiddleware(name string) *dynamic.Middleware {
	middlewares := w.configuration.HTTP.Middlewares
	if found := middlewares.Get(name); found != nil {
		return found
	}
	return middlewares.Get(w.declaredName(name, middlewares.Keys()))
}

func (w *writer) middlewareSpec(namespace, name string) (spec map[string]any, reason string) {
	declared := w.declaredMiddleware(name)
	switch reason := w.quarantined[dynamic.Ref{Kind: dynamic.KindMiddleware, Name: name}]; {
	case declared == nil:
		return nil, "it is not declared"
	case reason != "":
		return nil, reason
	}
	spec = encode(declared)
	switch {
	case declared.BasicAuth != nil:
		given := declared.BasicAuth
		reason = w.users(namespace, name, spec["basicAuth"], given.Users, given.UsersFile)
	case declared.DigestAuth != nil:
		given := declared.DigestAuth
		reason = w.users(namespace, name, spec["digestAuth"], given.Users, given.UsersFile)
	case declared.ClientCertificate != nil:
		given := declared.ClientCertificate
		reason = w.clientAuthorities(namespace, name, spec["clientCertificate"], given.CAFiles, given.CRLFiles)
	case declared.Chain != nil:
		reason = w.members(namespace, spec["chain"], declared.Chain.Middlewares)
	case declared.SatisfyAny != nil:
		reason = w.members(namespace, spec["satisfyAny"], declared.SatisfyAny.Middlewares)
	case declared.Errors != nil:
		var to map[string]any
		if to, reason = w.reference(namespace, declared.Errors.Service); reason == "" {
			spec["errors"].(map[string]any)["service"] = to
		}
	case declared.AuthRequest != nil && declared.AuthRequest.TLS != nil:
		if tls := declared.AuthRequest.TLS; tls.CA != "" || tls.Cert != "" || tls.Key != "" {
			reason = "the TLS towards its server needs Secrets"
		}
	case declared.ForwardAuth != nil, declared.ExternalAuth != nil, declared.JWT != nil, declared.Environment != nil,
		declared.Plugin != nil:
		reason = "it is of a kind that ingress-nginx does not have"
	}
	return spec, reason
}

// members writes the middlewares that another one consists of.
func (w *writer) members(namespace string, into any, names []string) (reason string) {
	refs, reason := w.middlewareRefs(namespace, names)
	into.(map[string]any)["middlewares"] = refs
	return reason
}

// users writes a Secret with the users of a middleware.
func (w *writer) users(namespace, name string, into any, users []string, file string) (reason string) {
	if len(users) == 0 || file != "" {
		return "it has no users in the configuration"
	}
	secret := kubeName(name) + "-users"
	options := into.(map[string]any)
	delete(options, "users")
	options["secret"] = secret
	w.secret(namespace, secret, map[string]string{"users": strings.Join(users, "\n") + "\n"},
		"It holds the hashes of passwords.")
	return ""
}

// clientAuthorities writes a Secret with authorities, and perhaps revocation lists, of the certificates of clients.
func (w *writer) clientAuthorities(namespace, name string, into any, authorities, revoked []string) (reason string) {
	options := into.(map[string]any)
	delete(options, "caFiles")
	delete(options, "crlFiles")
	if len(authorities) == 0 && len(revoked) == 0 {
		return ""
	}
	if len(authorities) == 0 || len(revoked) > len(authorities) {
		return "its revocation lists cannot be divided among its authorities"
	}
	var names []any
	for i, authority := range authorities {
		if !document.IsPEM(authority) || i < len(revoked) && !document.IsPEM(revoked[i]) {
			return "its authorities are in files"
		}
		data := map[string]string{"ca.crt": authority}
		if i < len(revoked) {
			data["ca.crl"] = revoked[i]
		}
		secret := kubeName(name) + "-ca"
		if i > 0 {
			secret += fmt.Sprint("-", i+1)
		}
		w.secret(namespace, secret, data, "")
		names = append(names, secret)
	}
	options["secretNames"] = names
	return ""
}

// secret writes a Secret.
func (w *writer) secret(namespace, name string, data map[string]string, about string) {
	if !w.secrets {
		keys := strings.Join(slices.Sorted(maps.Keys(data)), " and ")
		w.leave("the Secret %s/%s with the key %s is not written, since values of Secrets are not read: %s", namespace, name,
			keys, from(keys))
		return
	}
	made := w.put("Secret", namespace, name, nil)
	made.apiVersion, made.data = "v1", data
	if about != "" {
		made.comments = []string{about}
	}
}

// from says where the values of keys come from.
func from(keys string) string {
	if keys == "users" {
		return "it has the users of the Secret that auth-secret names, a line each; routes that need it answer 503 until it exists"
	}
	return "it has the certificates of the Secret that auth-tls-secret or proxy-ssl-secret names; routes that need it answer " +
		"503 until it exists"
}
