package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	ptypes "github.com/traefik/paerser/types"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/dynamic"
)

// ruleDraft is the translation of a rule while it is made.
type ruleDraft struct {
	*routeDraft
	name string
	spec *rule
	// services are the names of what answers, by the Gateway whose certificate is presented to backends.
	services map[types.NamespacedName]string
	// client is the certificate for backends at the listener that is translated; nil for none.
	client *clientCertificate
	// broken says that the rule must answer every request with an error, since a filter cannot be applied.
	broken bool
	// excluded says that the rule counts as dropped.
	excluded bool
}

// drop notes that the rule cannot be applied, once.
func (r *ruleDraft) drop(reason gatewayv1.RouteConditionReason, message string) {
	if !r.excluded {
		r.excluded = true
		r.routeDraft.drop(reason, message)
	}
}

// checkFilters finds filters that cannot be applied.
func (r *ruleDraft) checkFilters(index int) {
	redirect, rewrite := false, false
	for i := range r.spec.filters {
		filter := &r.spec.filters[i]
		where := fmt.Sprintf("rule %d, filter %d: ", index, i)
		switch filter.Type {
		case gatewayv1.HTTPRouteFilterRequestRedirect:
			redirect = true
		case gatewayv1.HTTPRouteFilterURLRewrite:
			rewrite = true
		case gatewayv1.HTTPRouteFilterExtensionRef:
			if _, refused := r.middleware(filter.ExtensionRef); refused != nil {
				r.broken = true
				r.unresolved(gatewayv1.RouteConditionReason(refused.Reason), where+refused.Message)
			}
		case gatewayv1.HTTPRouteFilterRequestHeaderModifier, gatewayv1.HTTPRouteFilterResponseHeaderModifier,
			gatewayv1.HTTPRouteFilterRequestMirror, gatewayv1.HTTPRouteFilterCORS:
		case gatewayv1.HTTPRouteFilterExternalAuth:
			r.checkExternalAuth(filter.ExternalAuth, where)
		default:
			r.broken = true
			r.drop(gatewayv1.RouteReasonUnsupportedValue, where+"the type "+string(filter.Type)+" is not supported")
			return
		}
	}
	if redirect && rewrite {
		r.broken = true
		r.drop(gatewayv1.RouteReasonIncompatibleFilters, fmt.Sprintf("rule %d: a redirect is never rewritten", index))
	}
}

// check follows the references of a rule that no listener serves, for the status of the route.
func (r *ruleDraft) check() {
	objects := maps.Clone(r.result.Objects)
	r.service(nil)
	r.result.Objects = objects
}

// put declares a middleware and returns its name.
func (r *ruleDraft) put(name string, middleware *dynamic.Middleware) string {
	r.result.Put(dynamic.Ref{Kind: dynamic.KindMiddleware, Name: name}, middleware)
	return name
}

// middlewares declares what a rule does with requests of a match at a listener, and returns the names in order.
func (r *ruleDraft) middlewares(to *listenerView, match int) []string {
	if r.broken {
		return nil
	}
	var names []string
	for i := range r.spec.filters {
		// A preflight request is answered before all else, and pages may read an error of the timeout.
		if r.spec.filters[i].Type == gatewayv1.HTTPRouteFilterCORS {
			names = append(names, r.filter(r.name, &r.spec.filters[i], i, to, match)...)
		}
	}
	if limits := r.timeouts(); limits != nil {
		names = append(names, r.put(r.name+",timeout", &dynamic.Middleware{Timeout: limits}))
	}
	for i := range r.spec.filters {
		if r.spec.filters[i].Type != gatewayv1.HTTPRouteFilterCORS {
			names = append(names, r.filter(r.name, &r.spec.filters[i], i, to, match)...)
		}
	}
	return names
}

// filter declares the middleware of a filter, if it is one, and returns its name. The names of those that depend on the
// listener or on the match say so.
func (r *ruleDraft) filter(
	prefix string, filter *gatewayv1.HTTPRouteFilter, index int, to *listenerView, match int,
) []string {
	name := fmt.Sprintf("%s,%02d-", prefix, index)
	path := func(modifier *gatewayv1.HTTPPathModifier) *dynamic.PathModifier {
		if modifier == nil {
			return nil
		}
		if modifier.Type == gatewayv1.FullPathHTTPPathModifier {
			return &dynamic.PathModifier{FullPath: copied(modifier.ReplaceFullPath)}
		}
		name += "m" + strconv.Itoa(match) + "-"
		return &dynamic.PathModifier{
			ReplacePrefixMatch: copied(modifier.ReplacePrefixMatch), Prefix: r.spec.matches[match].prefix,
		}
	}
	middleware := &dynamic.Middleware{}
	switch filter.Type {
	case gatewayv1.HTTPRouteFilterRequestHeaderModifier:
		made := headerModifier(filter.RequestHeaderModifier)
		middleware.RequestHeaderModifier = &made
		name += "requestheadermodifier"
	case gatewayv1.HTTPRouteFilterResponseHeaderModifier:
		made := dynamic.ResponseHeaderModifier(headerModifier(filter.ResponseHeaderModifier))
		middleware.ResponseHeaderModifier = &made
		name += "responseheadermodifier"
	case gatewayv1.HTTPRouteFilterRequestRedirect:
		given := valueOf(filter.RequestRedirect, gatewayv1.HTTPRequestRedirectFilter{})
		middleware.RequestRedirect = redirect(&given, path(given.Path), to)
		name += to.key.object() + "-requestredirect"
	case gatewayv1.HTTPRouteFilterURLRewrite:
		given := valueOf(filter.URLRewrite, gatewayv1.HTTPURLRewriteFilter{})
		middleware.URLRewrite = &dynamic.URLRewrite{Hostname: string(valueOf(given.Hostname, "")), Path: path(given.Path)}
		name += "urlrewrite"
	case gatewayv1.HTTPRouteFilterCORS:
		middleware.CORS = cors(filter.CORS)
		name += "cors"
	case gatewayv1.HTTPRouteFilterExtensionRef:
		extension, _ := r.middleware(filter.ExtensionRef)
		return []string{extension}
	case gatewayv1.HTTPRouteFilterExternalAuth:
		middleware.ExternalAuth, _ = r.externalAuth(filter.ExternalAuth)
		name += "externalauth"
		if to != nil && r.client != nil {
			name += "," + r.client.gateway.Namespace + "_" + r.client.gateway.Name
		}
	case gatewayv1.HTTPRouteFilterRequestMirror:
		return nil
	}
	return []string{r.put(name, middleware)}
}

// copied returns a pointer to a copy.
func copied[T any](pointer *T) *T {
	if pointer == nil {
		return nil
	}
	value := *pointer
	return &value
}

// headerModifier translates changes of headers.
func headerModifier(filter *gatewayv1.HTTPHeaderFilter) (made dynamic.RequestHeaderModifier) {
	if filter == nil {
		return made
	}
	for _, one := range filter.Set {
		made.Set = append(made.Set, dynamic.HeaderValue{Name: string(one.Name), Value: one.Value})
	}
	for _, one := range filter.Add {
		made.Add = append(made.Add, dynamic.HeaderValue{Name: string(one.Name), Value: one.Value})
	}
	made.Remove = slices.Clone(filter.Remove)
	return made
}

// redirect translates a redirect of requests at a listener, whose scheme and port hold where none are given. With a
// scheme alone, its own port does.
func redirect(
	filter *gatewayv1.HTTPRequestRedirectFilter, path *dynamic.PathModifier, to *listenerView,
) *dynamic.RequestRedirect {
	made := &dynamic.RequestRedirect{
		Hostname: string(valueOf(filter.Hostname, "")), Path: path, StatusCode: valueOf(filter.StatusCode, 302),
		Scheme: "http", Port: int(to.port),
	}
	if to.protocol == gatewayv1.HTTPSProtocolType {
		made.Scheme = "https"
	}
	if filter.Scheme != nil {
		made.Scheme, made.Port = *filter.Scheme, 80
		if made.Scheme == "https" {
			made.Port = 443
		}
	}
	if filter.Port != nil {
		made.Port = int(*filter.Port)
	}
	return made
}

// cors translates a CORS filter.
func cors(filter *gatewayv1.HTTPCORSFilter) *dynamic.CORS {
	made := &dynamic.CORS{}
	made.SetDefaults()
	if filter == nil {
		return made
	}
	made.AllowOrigins = texts(filter.AllowOrigins)
	made.AllowMethods = texts(filter.AllowMethods)
	made.AllowHeaders, made.ExposeHeaders = texts(filter.AllowHeaders), texts(filter.ExposeHeaders)
	made.AllowCredentials = valueOf(filter.AllowCredentials, false)
	if filter.MaxAge != 0 {
		made.MaxAge = int(filter.MaxAge)
	}
	return made
}

// texts returns values of a kind of string as strings.
func texts[T ~string](values []T) []string {
	var all []string
	for _, value := range values {
		all = append(all, string(value))
	}
	return all
}

// durationOf reads a duration; one that is not given, 0 or none is 0.
func durationOf(given *gatewayv1.Duration) ptypes.Duration {
	if given == nil {
		return 0
	}
	parsed, err := time.ParseDuration(string(*given))
	if err != nil {
		return 0
	}
	return ptypes.Duration(parsed)
}

// timeouts returns the limits of a rule; nil when there is none. The limit of one try is the balancer's where there may
// be several.
func (r *ruleDraft) timeouts() *dynamic.Timeout {
	given := r.spec.timeouts
	if given == nil {
		return nil
	}
	limits := dynamic.Timeout{Request: durationOf(given.Request)}
	if r.spec.retry == nil {
		limits.ResponseHeader = durationOf(given.BackendRequest)
	}
	if limits == (dynamic.Timeout{}) {
		return nil
	}
	return &limits
}
