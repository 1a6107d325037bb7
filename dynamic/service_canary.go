package dynamic

// Canary sends a part of the requests to a second service, by the rules of ingress-nginx in their order: the service
// that a sticky client is with; the header; the cookie; the weight. While one of the two is down, Service gets all
// requests. Ours.
type Canary struct {
	// Service is the name of the service that answers normally, as name or name@provider. Required.
	Service string `json:"service,omitempty"`
	// Canary is the name of the service that gets a part of the requests. Required.
	Canary string `json:"canary,omitempty"`
	// Weight is how many of WeightTotal requests the canary gets, of those that the other rules do not decide. 0 means
	// none.
	Weight int `json:"weight,omitempty"`
	// WeightTotal is what Weight is a part of; at least 100.
	WeightTotal int `json:"weightTotal,omitempty"`
	// Header is the name of a request header that decides. Without HeaderValue and HeaderPattern its value is always for
	// the canary and never for the other service; requests with any other value are left to the rules that follow.
	Header string `json:"header,omitempty"`
	// HeaderValue is the value of Header with which the canary gets a request. Other values decide nothing. It excludes
	// HeaderPattern.
	HeaderValue string `json:"headerValue,omitempty"`
	// HeaderPattern is a regular expression of PCRE that a value of Header matches with which the canary gets a request.
	// Other values decide nothing.
	HeaderPattern string `json:"headerPattern,omitempty"`
	// Cookie is the name of a cookie that decides: always for the canary, never for the other service.
	Cookie string `json:"cookie,omitempty"`
	// Sticky keeps a client on the service that answered its first request. Its cookie is another one than that of the
	// services below. A client with a sticky cookie of Service alone stays on Service. Default: each request is decided by
	// itself.
	Sticky *Sticky `json:"sticky,omitempty"`
	// StickyService, with Sticky, keeps only clients of Service; those of the canary are decided by each request.
	StickyService bool `json:"stickyService,omitempty"`
}

// SetDefaults sets a total of 100.
func (c *Canary) SetDefaults() { c.WeightTotal = 100 }
