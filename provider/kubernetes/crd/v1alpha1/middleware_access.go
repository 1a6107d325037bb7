package v1alpha1

// IPWhiteList is the deprecated name of IPAllowList.
type IPWhiteList struct {
	// SourceRange lists the addresses and networks that are let in.
	// +optional
	SourceRange []string `json:"sourceRange,omitempty"`
	// IPStrategy says which address is the client's; by default that of the connection.
	// +optional
	IPStrategy *IPStrategy `json:"ipStrategy,omitempty"`
}

// IPAllowList lets only some addresses in.
type IPAllowList struct {
	// SourceRange lists the addresses and networks that are let in.
	// +optional
	SourceRange []string `json:"sourceRange,omitempty"`
	// IPStrategy says which address is the client's; by default that of the connection.
	// +optional
	IPStrategy *IPStrategy `json:"ipStrategy,omitempty"`
	// RejectStatusCode is the status code for all other clients; default 403.
	// +optional
	RejectStatusCode int `json:"rejectStatusCode,omitempty"`
}

// IPStrategy says which address is the client's.
type IPStrategy struct {
	// Depth takes the address at this place of X-Forwarded-For, counted from the right; 0 means that of the connection.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Depth int `json:"depth,omitempty"`
	// ExcludedIPs skips these addresses and networks of X-Forwarded-For, from the right.
	// +optional
	ExcludedIPs []string `json:"excludedIPs,omitempty"`
	// IPv6Subnet takes only this many bits of IPv6 addresses, so that a network counts as one client.
	// +optional
	IPv6Subnet *int `json:"ipv6Subnet,omitempty"`
	// TrustedIPs are addresses and networks of proxies. If the peer is one of them, the client is the first address of
	// X-Forwarded-For from the right that is none.
	// +optional
	TrustedIPs []string `json:"trustedIPs,omitempty"`
}

// BasicAuth demands a user and password (RFC 7617).
type BasicAuth struct {
	// Secret names the Secret of the users: htpasswd lines in a single key, or username and password of type
	// kubernetes.io/basic-auth.
	// +optional
	Secret string `json:"secret,omitempty" reference:"Secret"`
	// Realm is the realm that the browser shows; default traefik.
	// +optional
	Realm string `json:"realm,omitempty"`
	// RemoveHeader keeps the header Authorization from the service.
	// +optional
	RemoveHeader bool `json:"removeHeader,omitempty"`
	// HeaderField is the request header that carries the user's name to the service.
	// +optional
	HeaderField string `json:"headerField,omitempty"`
	// AllHashes also accepts SHA-256 and SHA-512 of crypt, salted SHA-1 and plain passwords, as nginx does.
	// +optional
	AllHashes bool `json:"allHashes,omitempty"`
	// ExactRealm has challenges name the realm and nothing else, also an empty one.
	// +optional
	ExactRealm bool `json:"exactRealm,omitempty"`
}

// DigestAuth demands a user and password by digest (RFC 7616).
type DigestAuth struct {
	// Secret names the Secret of the users: htdigest lines in a single key.
	// +optional
	Secret string `json:"secret,omitempty" reference:"Secret"`
	// Realm is the realm that the browser shows; default traefik.
	// +optional
	Realm string `json:"realm,omitempty"`
	// RemoveHeader keeps the header Authorization from the service.
	// +optional
	RemoveHeader bool `json:"removeHeader,omitempty"`
	// HeaderField is the request header that carries the user's name to the service.
	// +optional
	HeaderField string `json:"headerField,omitempty"`
	// ExactRealm is for an empty realm.
	// +optional
	ExactRealm bool `json:"exactRealm,omitempty"`
}

// ForwardAuth delegates the authorization of requests to another server.
type ForwardAuth struct {
	// Address is the URL of the authentication server.
	// +optional
	Address string `json:"address,omitempty"`
	// TrustForwardHeader passes on the X-Forwarded headers of the client; deprecated.
	// +optional
	TrustForwardHeader *bool `json:"trustForwardHeader,omitempty"`
	// AuthResponseHeaders lists headers of the answer that the request goes on with.
	// +optional
	AuthResponseHeaders []string `json:"authResponseHeaders,omitempty"`
	// AuthResponseHeadersRegex selects such headers by a regular expression.
	// +optional
	AuthResponseHeadersRegex string `json:"authResponseHeadersRegex,omitempty"`
	// AuthRequestHeaders lists headers of the request to send; none means all.
	// +optional
	AuthRequestHeaders []string `json:"authRequestHeaders,omitempty"`
	// TLS is TLS towards the authentication server.
	// +optional
	TLS *ClientTLSWithCAOptional `json:"tls,omitempty"`
	// AddAuthCookiesToResponse lists cookies of the answer that the client gets.
	// +optional
	AddAuthCookiesToResponse []string `json:"addAuthCookiesToResponse,omitempty"`
	// HeaderField is the header with the user's name, for the access log.
	// +optional
	HeaderField string `json:"headerField,omitempty"`
	// ForwardBody sends the body of the request.
	// +optional
	ForwardBody bool `json:"forwardBody,omitempty"`
	// MaxBodySize is the size in bytes of the largest body that is sent; default -1, any size.
	// +optional
	MaxBodySize *int64 `json:"maxBodySize,omitempty"`
	// MaxResponseBodySize is the size in bytes of the largest answer; default -1, any size.
	// +optional
	MaxResponseBodySize *int64 `json:"maxResponseBodySize,omitempty"`
	// PreserveLocationHeader leaves the header Location of an answer as it is.
	// +optional
	PreserveLocationHeader bool `json:"preserveLocationHeader,omitempty"`
	// PreserveRequestMethod sends the method of the request instead of GET.
	// +optional
	PreserveRequestMethod bool `json:"preserveRequestMethod,omitempty"`
	// AuthSigninURL is the URL to send clients to that get the answer 401.
	// +optional
	AuthSigninURL string `json:"authSigninURL,omitempty"`
}

// ClientTLS is TLS towards a server that a middleware queries.
type ClientTLS struct {
	// CASecret names the Secret with the certificates of trusted authorities (ca.crt or tls.ca).
	// +optional
	CASecret string `json:"caSecret,omitempty" reference:"Secret"`
	// CertSecret names the Secret of type kubernetes.io/tls with the certificate to present.
	// +optional
	CertSecret string `json:"certSecret,omitempty" reference:"Secret"`
	// InsecureSkipVerify accepts any certificate of the server.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// ClientTLSWithCAOptional is ClientTLS with an option of Traefik 2.
type ClientTLSWithCAOptional struct {
	ClientTLS `json:",inline"`

	// CAOptional is deprecated and has no effect.
	// +optional
	CAOptional *bool `json:"caOptional,omitempty"`
}
