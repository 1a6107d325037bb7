package annotation

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/nginx/duration"
)

// authRequest reads the annotations about the subrequest to an authentication service.
func (r *reading) authRequest() {
	text, state := r.text("auth-url", variableURL.spaced)
	if r.long["auth-url"] {
		return
	}
	switch state {
	case valid:
	case wrong:
		r.refuse("auth-url")
		return
	default:
		r.idle("auth-url", "auth-method", "auth-signin", "auth-signin-redirect-param", "auth-response-headers",
			"auth-request-redirect", "auth-proxy-set-headers", "auth-always-set-cookie", "auth-cache-key",
			"auth-cache-duration", "auth-keepalive", "auth-keepalive-requests", "auth-keepalive-timeout",
			"auth-keepalive-share-vars", "auth-snippet")
		if r.options.GlobalAuth && r.settings.GlobalAuthClosed != "" && r.options.Closed == "" {
			r.options.Closed = r.settings.GlobalAuthClosed
		}
		return
	}
	address, err := serviceURL(text)
	if err != nil {
		r.deny("auth-url", quote(text)+" is no URL: "+err.Error())
		return
	}
	out := &AuthRequest{URL: text, Host: address.Hostname(), SigninParam: "rd"}
	r.options.AuthRequest = out
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE"}
	out.Method, state = r.text("auth-method", oneOfSpaced(methods...))
	if state == wrong || state == valid && !slices.Contains(methods, out.Method) {
		r.deny("auth-method", "it must be one of "+strings.Join(methods, ", "))
	}
	r.signin(out)
	r.authHeaders(out)
	r.authCache(out)
	out.AlwaysSetCookie, state = r.flag("auth-always-set-cookie")
	if state == wrong {
		r.open("auth-always-set-cookie", "it must be true or false")
	}
	for _, name := range []string{"auth-keepalive", "auth-keepalive-requests", "auth-keepalive-timeout"} {
		r.number(name)
	}
	r.flag("auth-keepalive-share-vars")
	if _, state := r.text("auth-snippet", anything); state == valid {
		out.Snippet = true
	}
}

// serviceURL parses the URL of an authentication service, which may hold variables.
func serviceURL(text string) (*url.URL, error) {
	parsed, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("it does not parse")
	case parsed.Scheme == "":
		return nil, errors.New("it has no scheme")
	case parsed.Host == "":
		return nil, errors.New("it has no host")
	case strings.Contains(parsed.Host, ".."):
		return nil, errors.New("its host is invalid")
	}
	return parsed, nil
}

// signin reads where a client is sent to authenticate.
func (r *reading) signin(out *AuthRequest) {
	out.Signin, _ = r.text("auth-signin", variableURL.spaced)
	if out.Signin == "" {
		r.idle("auth-signin", "auth-signin-redirect-param")
		return
	}
	if _, err := url.Parse(out.Signin); err != nil {
		r.reject("auth-signin", quote(out.Signin)+" is no URL")
		out.Signin = ""
	}
	if param, state := r.text("auth-signin-redirect-param", urlChars.spaced); state == valid {
		out.SigninParam = param
	}
}

// authHeaders reads the headers of the subrequest and of its answer.
func (r *reading) authHeaders(out *AuthRequest) {
	text, state := r.text("auth-response-headers", headerChars.spaced)
	out.ResponseHeaders = list(text)
	if state == wrong || !all(out.ResponseHeaders, header) {
		out.ResponseHeaders = nil
		r.deny("auth-response-headers", "it must be a list of names of headers")
	}
	switch text, state := r.text("auth-proxy-set-headers", basicChars.spaced); state {
	case valid:
		reference, problem := r.reference(text, false)
		if problem != "" {
			r.deny("auth-proxy-set-headers", problem)
		} else {
			r.agree("auth-proxy-set-headers")
		}
		out.ProxySetHeaders = reference
	case wrong:
		r.close("auth-proxy-set-headers", "it is no name of a ConfigMap; ingress-nginx sends none of its headers then")
	}
	out.RequestRedirect, state = r.text("auth-request-redirect", urlChars.spaced)
	if state == wrong {
		r.open("auth-request-redirect", "it holds a character that a URL does not")
	}
}

// open closes the locations for a value with which ingress-nginx leaves them open: it drops all annotations of the
// group.
func (r *reading) open(name, reason string) {
	r.close(name, reason+"; ingress-nginx leaves the location open")
	r.options.AuthRequest = nil
}

// authCache reads how long answers are used again.
func (r *reading) authCache(out *AuthRequest) {
	out.CacheKey, _ = r.text("auth-cache-key", variableChars.spaced)
	text, state := r.text("auth-cache-duration", extendedChars.holds)
	if state == wrong {
		r.open("auth-cache-duration", "it must be a list of statuses and a time")
		return
	}
	durations, problem := cacheDurations(text)
	switch problem {
	case Denied:
		r.deny("auth-cache-duration", quote(text)+" is no list of statuses and times")
	case Rejected:
		r.reject("auth-cache-duration", "nginx does not accept "+quote(text))
	default:
		out.CacheDurations = durations
		if out.CacheKey == "" {
			r.idle("auth-cache-key", "auth-cache-duration")
		}
	}
}

// cacheDurations reads durations that commas divide. The second result is Honoured when they are valid, Denied when
// ingress-nginx refuses them, and Rejected when nginx does.
func cacheDurations(text string) ([]CacheDuration, Verdict) {
	items := list(text)
	if len(items) == 0 {
		items = []string{"200 202 401 5m"}
	}
	var durations []CacheDuration
	verdict := Honoured
	for _, item := range items {
		words := strings.Fields(item)
		var out CacheDuration
		timed := false
		for i, word := range words {
			length, isTime := nginxTime(word)
			switch {
			case isStatus(word):
				if timed {
					return nil, Denied
				}
				status, _ := strconv.Atoi(word)
				out.Statuses = append(out.Statuses, status)
			case word == "any":
				out.Any = true
			case isTime && i == len(words)-1:
				out.Duration, timed = length, true
			case isTime:
				verdict, timed = Rejected, true
			default:
				verdict = Rejected
			}
		}
		if !timed {
			return nil, Denied
		}
		durations = append(durations, out)
	}
	return durations, verdict
}

func isStatus(word string) bool { return len(word) == 3 && strings.Trim(word, "0123456789") == "" }

// nginxTime reads a number with a unit of nginx: ms, s, m, h, d, w, M or y. Longer times than [duration.Longest] count
// as that.
func nginxTime(word string) (time.Duration, bool) {
	digits := strings.TrimRight(word, "smhdwMy")
	unit := word[len(digits):]
	if digits == "" || strings.Trim(digits, "0123456789") != "" || len(unit) != 1 && unit != "ms" {
		return 0, false
	}
	if unit == "ms" {
		number, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || number > duration.Longest.Milliseconds() {
			return duration.Longest, true
		}
		return time.Duration(number) * time.Millisecond, true
	}
	length, ok := duration.Parse(word)
	if !ok {
		return duration.Longest, true
	}
	return length, true
}

// all reports whether every text passes a test.
func all(texts []string, test func(string) bool) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return !test(text) })
}
