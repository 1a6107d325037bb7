package ingressnginx

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// authentication returns what demands passwords, and what sends a subrequest to an authentication service, in this
// order. Paths of no-auth-locations have neither.
func (d *locationDraft) authentication() []guard {
	if d.location().exempt(d.settings().NoAuth) {
		return nil
	}
	var all []guard
	if auth := d.options.Auth; auth != nil && auth.Secret.Name != "" {
		if middleware := d.passwords(auth); middleware != nil {
			all = append(all, guard{d.nameOfPasswords(auth), middleware})
		}
	}
	if request := d.authService(); request != nil {
		if middleware := d.subrequest(request); middleware != nil {
			all = append(all, guard{hashed(d.ownName("authrequest"), middleware), middleware})
		}
	}
	return all
}

// passwords returns basic or digest authentication; nil when its Secret cannot be used.
func (d *locationDraft) passwords(auth *annotation.Auth) *dynamic.Middleware {
	users, problem := d.users(auth)
	if problem != nil {
		d.refuse(problem.Code, "auth-secret: "+problem.Reason, problem.Missing)
		return nil
	}
	if auth.Digest {
		return &dynamic.Middleware{DigestAuth: &dynamic.DigestAuth{
			Users: users, Realm: auth.Realm, ExactRealm: true, RemoveHeader: true,
		}}
	}
	return &dynamic.Middleware{BasicAuth: &dynamic.BasicAuth{
		Users: users, Realm: auth.Realm, ExactRealm: true, RemoveHeader: true, AllHashes: true,
	}}
}

// nameOfPasswords returns a name that differs with each version of the Secret, so that no earlier one stays in use. It
// says nothing about the users.
func (d *locationDraft) nameOfPasswords(auth *annotation.Auth) string {
	version := []any{auth.Digest, auth.Realm, auth.Secret}
	if secret := d.provider.watches.Secret(auth.Secret.Namespace, auth.Secret.Name); secret != nil {
		version = append(version, secret.UID, secret.ResourceVersion)
	}
	return hashed(d.ownName("passwords"), version)
}

// keyOfUsers is the key of a Secret with lines of htpasswd.
const keyOfUsers = "auth"

// users returns the users of a Secret. One without users closes the location.
func (d *locationDraft) users(auth *annotation.Auth) ([]string, *backend.Problem) {
	name := "Secret " + auth.Secret.Namespace + "/" + auth.Secret.Name
	d.need(backend.KindSecret, auth.Secret.Namespace, auth.Secret.Name)
	secret := d.provider.watches.Secret(auth.Secret.Namespace, auth.Secret.Name)
	if secret == nil {
		return nil, &backend.Problem{Code: dynamic.CodeMissingSecret, Reason: name + " does not exist", Missing: true}
	}
	var lines []string
	if auth.Map {
		for _, user := range slices.Sorted(maps.Keys(secret.Data)) {
			hash, _, _ := strings.Cut(strings.ReplaceAll(string(secret.Data[user]), "\r", "\n"), "\n")
			lines = append(lines, user+":"+hash)
		}
	} else {
		text, given := secret.Data[keyOfUsers]
		if !given {
			return nil, &backend.Problem{
				Code: dynamic.CodeMissingSecret, Reason: name + " has no key " + keyOfUsers, Missing: true,
			}
		}
		lines = strings.Split(strings.ReplaceAll(string(text), "\r", "\n"), "\n")
	}
	fields := 2 // user and hash
	if auth.Digest {
		fields = 3 // user, realm and hash
	}
	users := usersOf(lines, fields)
	if len(users) == 0 {
		return nil, &backend.Problem{Code: dynamic.CodeInvalidOption, Reason: name + " has no users"}
	}
	return users, nil
}

// usersOf returns the lines that nginx finds, without what follows their fields: of several ones with one user the
// first, and none without a password.
func usersOf(lines []string, fields int) []string {
	var users []string
	seen := map[string]bool{}
	for _, line := range lines {
		parts := strings.Split(line, ":")
		if strings.HasPrefix(line, "#") || len(parts) < fields || parts[0] == "" {
			continue
		}
		key := strings.Join(parts[:fields-1], ":")
		if !seen[key] && parts[fields-1] != "" {
			users = append(users, key+":"+parts[fields-1])
		}
		seen[key] = true
	}
	return users
}

// authService returns the authentication service of the location: its own, or that of the ConfigMap; nil for none. The
// default response has none.
func (d *locationDraft) authService() *annotation.AuthRequest {
	settings := d.settings()
	switch {
	case d.options.AuthRequest != nil:
		return d.options.AuthRequest
	case d.ingress == nil || !d.options.GlobalAuth:
		return nil
	case settings.GlobalAuthClosed != "":
		d.refuse(dynamic.CodeUnsupportedOption, settings.GlobalAuthClosed, false)
		return nil
	}
	return settings.GlobalAuth
}

// subrequest returns the subrequest to an authentication service; nil when it cannot be sent as it is declared.
func (d *locationDraft) subrequest(request *annotation.AuthRequest) *dynamic.Middleware {
	if request.Snippet {
		d.refuse(dynamic.CodeUnsupportedOption, "auth-snippet: directives of nginx are not executed", false)
		return nil
	}
	_, rest, _ := strings.Cut(d.replaced("auth-url", request.URL), "://")
	if end := strings.IndexAny(rest+"/", "/?"); strings.Contains(rest[:end], "$") {
		d.refuse(dynamic.CodeInvalidOption, "auth-url: which service decides must not depend on a variable", false)
	}
	made := &dynamic.AuthRequest{
		URL: d.replaced("auth-url", request.URL), Method: request.Method, ResponseHeaders: request.ResponseHeaders,
		AlwaysSetCookie: request.AlwaysSetCookie,
		Headers:         []dynamic.HeaderValue{{Name: "Host", Value: d.replaced("auth-url", request.Host)}},
	}
	if strings.HasPrefix(lower(request.URL), "https:") {
		// nginx does not verify the certificate of a server unless proxy_ssl_verify is set.
		made.TLS = &dynamic.ClientTLS{InsecureSkipVerify: true}
	}
	if request.Signin != "" {
		made.SigninURL, made.SigninRedirectParam = d.replaced("auth-signin", request.Signin), request.SigninParam
	}
	if request.RequestRedirect != "" {
		made.Headers = append(made.Headers, dynamic.HeaderValue{
			Name: "X-Auth-Request-Redirect", Value: d.replaced("auth-request-redirect", request.RequestRedirect),
		})
	}
	if request.CacheKey != "" {
		made.CacheKey = d.replaced("auth-cache-key", request.CacheKey)
		made.CacheDuration = cacheDurations(request.CacheDurations)
	}
	if of := request.ProxySetHeaders; of != nil {
		d.need(backend.KindConfigMap, of.Namespace, of.Name)
		config := d.provider.watches.ConfigMap(of.Namespace, of.Name)
		if config == nil {
			d.refuse(dynamic.CodeMissingReference,
				"auth-proxy-set-headers: ConfigMap "+of.Namespace+"/"+of.Name+" does not exist", true)
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(config.Data)) {
			value := d.replaced("auth-proxy-set-headers", config.Data[name])
			made.Headers = append(made.Headers, dynamic.HeaderValue{Name: name, Value: value})
		}
	}
	client, problem := d.clientAddress()
	if problem != "" {
		// A service that trusts addresses would let in all clients of a proxy.
		d.refuse(dynamic.CodeInvalidOption, "auth-url: the address of the client cannot be sent: "+problem, false)
	}
	made.IPStrategy = client
	if d.refused != nil {
		return nil
	}
	return &dynamic.Middleware{AuthRequest: made}
}

// replaced returns the value of an annotation with the location's names in place of their variables. A variable without
// a value closes the location.
func (d *locationDraft) replaced(annotation, value string) string {
	text, err := d.text(value, false)
	if err != nil {
		d.refuse(dynamic.CodeInvalidOption, annotation+": "+err.Error(), false)
	}
	return text
}

// cacheDurations returns durations as nginx writes them, in seconds.
func cacheDurations(durations []annotation.CacheDuration) []string {
	var all []string
	for _, one := range durations {
		var words []string
		for _, status := range one.Statuses {
			words = append(words, strconv.Itoa(status))
		}
		if one.Any {
			words = append(words, "any")
		}
		words = append(words, strconv.FormatInt(int64(one.Duration/time.Second), 10)+"s")
		all = append(all, strings.Join(words, " "))
	}
	return all
}
