package input

import "github.com/sluiceproxy/sluice/dynamic"

// nginxMiddlewares returns the middlewares that behave as directives of nginx, with a secret in every field that may
// hold one.
func nginxMiddlewares(answering, dead, value, certificate, revoked string, clients []string,
	secured *dynamic.ClientTLS,
) map[string]*dynamic.Middleware {
	optional := &dynamic.ClientCertificate{CAFiles: clients, ErrorPage: "https://errors.test/?" + value}
	optional.SetDefaults()
	needed := &dynamic.ClientCertificate{CAFiles: append([]string{certificate}, clients...), CRLFiles: []string{revoked}}
	needed.SetDefaults()
	return map[string]*dynamic.Middleware{
		"request": {AuthRequest: &dynamic.AuthRequest{
			URL: "http://" + answering + "/auth?token=" + value, SigninURL: "https://sign.test/?" + value,
			Headers:  []dynamic.HeaderValue{{Name: "X-Token", Value: value}},
			CacheKey: "$http_authorization" + value,
		}},
		"request-tls": {AuthRequest: &dynamic.AuthRequest{
			URL: "https://" + dead + "/?" + value, TLS: secured,
		}},
		"client":       {ClientCertificate: needed},
		"client-error": {ClientCertificate: optional},
		"pages-fields": {Errors: &dynamic.ErrorPage{
			Status: []string{"502"}, Service: "dead",
			RequestHeaders: []dynamic.HeaderValue{{Name: "X-Token", Value: value}},
		}},
		"set": {ProxySetHeader: &dynamic.ProxySetHeader{
			Headers: []dynamic.HeaderValue{{Name: "X-Token", Value: value}},
		}},
	}
}
