package ingressnginx

import (
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// affinity keeps clients at their endpoint. Of several Ingresses with one Service, the cookie is that of the last one.
// The paths of those with the annotation set it, and all others follow it.
func (d *locationDraft) affinity() {
	if d.reference.Balancer == nil {
		return
	}
	plan := d.planOfUpstream(d.key)
	if plan.Cookie == nil {
		return
	}
	var made *dynamic.Cookie
	if d.cookie() != nil {
		made = d.stickyCookie(plan.Cookie)
	} else {
		changes, none := plan.Cookie.ChangeOnFailure, ""
		made = &dynamic.Cookie{
			Name: plan.Cookie.Name, Path: &none, Mode: dynamic.CookieBalanced, ChangeOnFailure: &changes, ReadOnly: true,
		}
	}
	if plan.Persistent {
		made.Mode = dynamic.CookiePersistent
	}
	d.reference.Balancer.Sticky = &dynamic.Sticky{Cookie: made}
}

// cookie returns the cookie that the location sets; nil for none.
func (d *locationDraft) cookie() *annotation.Cookie {
	if d.reference.Balancer == nil || d.options.Affinity.Cookie == nil || d.location().Rule < 0 {
		return nil
	}
	return d.planOfUpstream(d.key).Cookie
}

// stickyCookie returns the cookie of the location.
func (d *locationDraft) stickyCookie(cookie *annotation.Cookie) *dynamic.Cookie {
	path := cookie.Path
	if path == "" {
		path = d.location().Path
	}
	if strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == ';' }) {
		d.degrade(dynamic.CodeInvalidOption, "session-cookie-path: "+path+" can't be the path of a cookie; / is used", false)
		path = "/"
	}
	domain := cookie.Domain
	if strings.ContainsFunc(domain, func(r rune) bool { return !isAlphanumeric(r) && r != '-' && r != '.' }) {
		d.degrade(dynamic.CodeInvalidOption, "session-cookie-domain: "+domain+" is no domain, and is left out", false)
		domain = ""
	}
	changes := cookie.ChangeOnFailure
	made := &dynamic.Cookie{
		Name: cookie.Name, HTTPOnly: true, Secure: cookie.Secure, SecureByScheme: !cookie.Secure,
		SameSite: strings.ToLower(cookie.SameSite), Path: &path, Domain: domain,
		ConditionalSameSiteNone: cookie.ConditionalSameSiteNone && cookie.SameSite == "None",
		Mode:                    dynamic.CookieBalanced, ChangeOnFailure: &changes,
	}
	// A lifetime of 0 seconds ends the cookie at once, which a negative number is for here.
	if cookie.MaxAge != nil {
		if made.MaxAge = *cookie.MaxAge; made.MaxAge == 0 {
			made.MaxAge = -1
		}
	}
	if cookie.Expires != nil {
		if made.Expires = *cookie.Expires; made.Expires == 0 {
			made.Expires = -1
		}
		const most = 400 * 365 * 24 * 60 * 60 // What keeps years at four digits.
		made.Expires = max(-most, min(made.Expires, most))
	}
	return made
}
