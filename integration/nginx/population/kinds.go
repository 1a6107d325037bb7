package population

import "net/http"

// kind is what a part of the Ingresses have.
type kind struct {
	name string
	// weight is the share of the kind, in parts of the sum of all weights.
	weight int
	// annotations are without their prefix; NAMESPACE and HOST are replaced.
	annotations map[string]string
	// canary are the annotations of a second Ingress for the same host and path.
	canary map[string]string
	// path is a regular expression with pathType ImplementationSpecific; "/" of Prefix without.
	path string
	// request is the path of a request, whose answer has the status.
	request string
	status  int
	// secure is a kind that has a certificate.
	secure bool
}

// kinds are the kinds with their weights. Those of the first eight are the numbers of end-to-end tests of ingress-nginx
// that are about the group, those of snippets, retries and protocols the numbers of tests of Traefik's suite for
// migrations, of which there are as many with 0.7 times the weight. The others have what is left of the first suite.
func kinds() []kind {
	return []kind{
		{name: "basic", weight: 18, status: http.StatusUnauthorized, annotations: map[string]string{
			"auth-type": "basic", "auth-secret": "users", "auth-realm": "Authentication required",
		}},
		{name: "auth-url", weight: 17, annotations: map[string]string{
			"auth-url": "http://" + AuthAddress + ":8080/check", "auth-response-headers": "X-User",
		}},
		{name: "cors", weight: 25, annotations: map[string]string{
			"enable-cors": "true", "cors-allow-origin": "https://*.example.com, https://example.org",
			"cors-allow-methods": "GET, POST, OPTIONS", "cors-max-age": "600",
		}},
		{name: "canary", weight: 24, canary: map[string]string{"canary": "true", "canary-weight": "20"}},
		{name: "affinity", weight: 15, annotations: map[string]string{
			"affinity": "cookie", "session-cookie-name": "route", "session-cookie-max-age": "172800",
		}},
		{name: "proxy", weight: 12, annotations: map[string]string{
			"proxy-connect-timeout": "10", "proxy-read-timeout": "120", "proxy-send-timeout": "120",
			"proxy-body-size": "20m", "proxy-buffer-size": "8k",
		}},
		{name: "modsecurity", weight: 12, status: http.StatusServiceUnavailable, annotations: map[string]string{
			"enable-modsecurity": "true", "enable-owasp-core-rules": "true",
		}},
		{name: "auth-tls", weight: 9, secure: true, status: http.StatusPermanentRedirect, annotations: map[string]string{
			"auth-tls-secret": "NAMESPACE/certificate", "auth-tls-verify-client": "on",
		}},
		{name: "snippet", weight: 40, annotations: map[string]string{
			"configuration-snippet": "more_set_headers \"X-Frame-Options: DENY\";\nproxy_set_header Accept-Encoding \"\";\n",
		}},
		{name: "snippet-deny", weight: 16, status: http.StatusServiceUnavailable, annotations: map[string]string{
			"configuration-snippet": "if ($http_user_agent ~* bot) { return 403; }\ndeny 192.0.2.0/24;\n",
		}},
		{name: "retry", weight: 16, annotations: map[string]string{
			"proxy-next-upstream": "error timeout http_502 http_503", "proxy-next-upstream-tries": "2",
		}},
		{name: "body", weight: 9, annotations: map[string]string{"proxy-body-size": "100m"}},
		{name: "protocol", weight: 9, annotations: map[string]string{"backend-protocol": "HTTP"}},
		{name: "rewrite", weight: 22, path: "/app(/|$)(.*)", request: "/app/one", annotations: map[string]string{
			"use-regex": "true", "rewrite-target": "/$2",
		}},
		{name: "redirect", weight: 5, status: http.StatusMovedPermanently, annotations: map[string]string{
			"permanent-redirect": "https://www.HOST/new",
		}},
		{name: "force", weight: 12, status: http.StatusPermanentRedirect, annotations: map[string]string{
			"force-ssl-redirect": "true",
		}},
		{name: "secure", weight: 25, secure: true, status: http.StatusPermanentRedirect},
		{name: "allowlist", weight: 8, annotations: map[string]string{
			"whitelist-source-range": "127.0.0.0/8,10.0.0.0/8,192.168.0.0/16",
		}},
		{name: "limit", weight: 6, annotations: map[string]string{"limit-rps": "100", "limit-connections": "50"}},
		{name: "plain", weight: 7},
	}
}
