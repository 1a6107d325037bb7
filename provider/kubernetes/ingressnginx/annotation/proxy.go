package annotation

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// proxy reads the annotations about bodies, times and retries.
func (r *reading) proxy() {
	r.options.Proxy = r.settings.Proxy
	out := &r.options.Proxy
	if text, state := r.text("proxy-body-size", size); state == valid {
		out.BodySize = r.size("proxy-body-size", text, "bkmg", 1<<20)
	}
	if text, state := r.text("client-body-buffer-size", size); state == valid {
		out.BodyBuffer = r.size("client-body-buffer-size", text, "bkm", out.BodyBuffer)
	} else if state == wrong {
		r.refuse("client-body-buffer-size")
	}
	out.ConnectTimeout = r.timeout("proxy-connect-timeout", out.ConnectTimeout)
	out.ReadTimeout = r.timeout("proxy-read-timeout", out.ReadTimeout)
	out.SendTimeout = r.timeout("proxy-send-timeout", out.SendTimeout)
	if text, state := r.text("proxy-request-buffering", oneOf("on", "off")); state == valid {
		out.RequestBuffering = text == "on"
	}
	if text, _ := r.text("proxy-http-version", oneOf("1.0", "1.1")); text == "1.1" {
		r.agree("proxy-http-version")
	}
	r.nextUpstream(out)
	r.replacements(out)
	r.streamed()
}

// streamed reads the annotations about buffers of responses, which have no effect.
func (r *reading) streamed() {
	r.text("proxy-buffering", oneOf("on", "off"))
	for _, name := range []string{"proxy-buffer-size", "proxy-busy-buffers-size", "proxy-max-temp-file-size"} {
		r.text(name, size)
	}
	r.numberOr("proxy-buffers-number", 0)
}

// agree notes that a value has the effect that it has in ingress-nginx, although other values have not.
func (r *reading) agree(name string) {
	if found := r.findings[r.key(name)]; found != nil && found.Verdict == Different {
		found.Verdict, found.Reason = Honoured, ""
	}
}

// size returns a size of which the unit is one of some; with another one, which passes validation but is left out of
// nginx's configuration, a default.
func (r *reading) size(name, text, units string, otherwise int64) int64 {
	text = strings.ReplaceAll(text, " ", "")
	last := text[len(text)-1]
	if (last < '0' || last > '9') && (last|0x20 == 'b' || strings.IndexByte(units, last|0x20) < 0) {
		r.set(r.key(name), Unused, quote(text)+" has a unit that ingress-nginx does not write into nginx's configuration")
		return otherwise
	}
	bytes, _ := bytesOf(text)
	return bytes
}

// timeout reads a number of seconds.
func (r *reading) timeout(name string, otherwise time.Duration) time.Duration {
	return time.Duration(r.numberOr(name, int(otherwise/time.Second))) * time.Second
}

// nextUpstream reads when a request is sent to another endpoint.
func (r *reading) nextUpstream(out *Proxy) {
	next := &out.NextUpstream
	if text, state := r.text("proxy-next-upstream", nextUpstreamList); state == valid {
		next.Conditions, next.NonIdempotent = conditions(text, r.settings.Proxy.NextUpstream.NonIdempotent)
	}
	next.Timeout = r.timeout("proxy-next-upstream-timeout", next.Timeout)
	next.Tries = r.numberOr("proxy-next-upstream-tries", next.Tries)
}

// nextUpstreamWords are the values of proxy_next_upstream.
func nextUpstreamWords() []string {
	return []string{
		"error", "timeout", "invalid_header", "http_500", "http_502", "http_503", "http_504", "http_403", "http_404",
		"http_429", "non_idempotent", "off",
	}
}

func nextUpstreamList(text string) bool {
	if text == "" || strings.ContainsAny(text, "\r\n") || strings.HasPrefix(text, " ") || strings.Contains(text, "  ") {
		return false
	}
	return all(strings.Fields(text), func(word string) bool { return slices.Contains(nextUpstreamWords(), word) })
}

// conditions divides a list of words; nonIdempotent is added to what it says.
func conditions(text string, nonIdempotent bool) ([]string, bool) {
	var found []string
	for _, word := range strings.Fields(text) {
		switch {
		case word == "non_idempotent":
			nonIdempotent = true
		case word == "off":
			return nil, false
		case !slices.Contains(found, word):
			found = append(found, word)
		}
	}
	return found, nonIdempotent
}

// replacements reads what is replaced in headers of responses.
func (r *reading) replacements(out *Proxy) {
	from, first := r.text("proxy-redirect-from", urlChars.spaced)
	to, second := r.text("proxy-redirect-to", urlChars.spaced)
	if first != valid {
		from = r.settings.Proxy.RedirectFrom
	}
	if second != valid {
		to = r.settings.Proxy.RedirectTo
	}
	out.RedirectFrom, out.RedirectTo = from, to
	switch {
	case from == "" || from == "off":
		r.idle("proxy-redirect-from", "proxy-redirect-to")
		out.RedirectFrom, out.RedirectTo = "", ""
	case from == "default":
		out.RedirectTo = ""
	case to == "" || to == "off":
		r.idle("proxy-redirect-to", "proxy-redirect-from")
		out.RedirectFrom, out.RedirectTo = "", ""
	case strings.Contains(from, " ") || strings.Contains(to, " "):
		r.reject("proxy-redirect-from", "nginx accepts no space in it or in "+Prefix+"proxy-redirect-to")
		out.RedirectFrom, out.RedirectTo = "", ""
	}
	if text, state := r.text("proxy-cookie-domain", func(text string) bool {
		return text == "off" || len(strings.Fields(text)) == 2 && !strings.ContainsAny(text, "\r\n") &&
			text == strings.TrimSpace(text) && all(strings.Fields(text), basicChars.holds)
	}); state == valid {
		out.CookieDomain = pair(text)
	}
	if text, state := r.text("proxy-cookie-path", urlChars.spaced); state == valid {
		out.CookiePath = pair(text)
		if out.CookiePath == nil && text != "off" {
			r.reject("proxy-cookie-path", quote(text)+" is neither off nor two texts")
		}
	}
}

// pair divides the two parameters of a replacement; nil when there are not two.
func pair(text string) *Replacement {
	if words := strings.Fields(text); len(words) == 2 {
		return &Replacement{words[0], words[1]}
	}
	return nil
}

// statusList reads statuses that commas divide. ok reports whether nginx takes all of them as errors.
func statusList(text string) (statuses []int, ok bool) {
	for _, item := range list(text) {
		const first, last, never = 400, 599, 499
		status, err := strconv.Atoi(item)
		if err != nil || status < first || status > last || status == never {
			return nil, false
		}
		statuses = append(statuses, status)
	}
	slices.Sort(statuses)
	return slices.Compact(statuses), true
}
