package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// JWT lets requests in that carry a signed token. The keys come from exactly one of jwksUrl, jwks, publicKey and
// secret.
type JWT struct {
	// JwksURL is where the key set is fetched.
	// +optional
	JwksURL string `json:"jwksUrl,omitempty"`
	// TLS is TLS towards jwksUrl.
	// +optional
	TLS *ClientTLS `json:"tls,omitempty"`
	// RefreshInterval is how often the key set is fetched, as a duration or in seconds; default 1h.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	RefreshInterval *intstr.IntOrString `json:"refreshInterval,omitempty"`
	// Jwks is the key set itself.
	// +optional
	Jwks string `json:"jwks,omitempty"`
	// PublicKey is a public key or certificate in PEM.
	// +optional
	PublicKey string `json:"publicKey,omitempty"`
	// Secret names the Secret with the key signingSecret, for HS256, HS384 and HS512.
	// +optional
	Secret string `json:"secret,omitempty" reference:"Secret"`
	// Algorithms lists the signature algorithms that are taken; by default those that fit the keys.
	// +optional
	Algorithms []string `json:"algorithms,omitempty"`
	// Issuers lists the values of iss that are taken; none means any.
	// +optional
	Issuers []string `json:"issuers,omitempty"`
	// Audiences lists values of which aud must have one; none means any.
	// +optional
	Audiences []string `json:"audiences,omitempty"`
	// Claims lists further claims that a token must have.
	// +optional
	Claims []JWTClaim `json:"claims,omitempty"`
	// Leeway is how far clocks may be apart, as a duration or in seconds; default 30s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	Leeway *intstr.IntOrString `json:"leeway,omitempty"`
	// TokenHeader is the header with the token; default Authorization.
	// +optional
	TokenHeader *string `json:"tokenHeader,omitempty"`
	// TokenCookie is a cookie where a token is looked for, too.
	// +optional
	TokenCookie string `json:"tokenCookie,omitempty"`
	// TokenQueryKey is a query parameter where a token is looked for, too.
	// +optional
	TokenQueryKey string `json:"tokenQueryKey,omitempty"`
	// RemoveToken takes the token out of the request that the service gets.
	// +optional
	RemoveToken bool `json:"removeToken,omitempty"`
	// ForwardHeaders hands claims to the service, by the name of the header.
	// +optional
	ForwardHeaders map[string]string `json:"forwardHeaders,omitempty"`
	// Realm is the realm of WWW-Authenticate; default sluice.
	// +optional
	Realm *string `json:"realm,omitempty"`
}

// JWTClaim is a claim that a token must have.
type JWTClaim struct {
	// Name is the name of the claim; dots lead into objects.
	// +optional
	Name string `json:"name,omitempty"`
	// Values lists those of which the claim must have one; none means any but null.
	// +optional
	Values []string `json:"values,omitempty"`
}
