package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Middleware changes or decides on requests on their way.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=middlewares
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`,description="Whether the object is applied."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Middleware struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user declares.
	Spec MiddlewareSpec `json:"spec"`
	// Status is what became of it.
	// +optional
	Status Status `json:"status,omitzero"`
}

// MiddlewareList is a list of Middlewares.
// +kubebuilder:object:root=true
type MiddlewareList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the objects.
	Items []Middleware `json:"items"`
}

// MiddlewareSpec holds exactly one kind of middleware.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type MiddlewareSpec struct {
	// Malformed says what of the spec did not fit; empty when all of it did. It is never sent.
	Malformed string `json:"-"`

	// AddPrefix puts a prefix before the path.
	// +optional
	AddPrefix *AddPrefix `json:"addPrefix,omitempty"`
	// StripPrefix removes the first of some prefixes of the path.
	// +optional
	StripPrefix *StripPrefix `json:"stripPrefix,omitempty"`
	// StripPrefixRegex removes prefixes of the path that match.
	// +optional
	StripPrefixRegex *StripPrefixRegex `json:"stripPrefixRegex,omitempty"`
	// ReplacePath replaces the path.
	// +optional
	ReplacePath *ReplacePath `json:"replacePath,omitempty"`
	// ReplacePathRegex replaces the path by a regular expression.
	// +optional
	ReplacePathRegex *ReplacePathRegex `json:"replacePathRegex,omitempty"`
	// Chain applies other middlewares in order.
	// +optional
	Chain *Chain `json:"chain,omitempty"`
	// IPWhiteList is a deprecated name of IPAllowList.
	// +optional
	IPWhiteList *IPWhiteList `json:"ipWhiteList,omitempty"`
	// IPAllowList lets only some addresses in.
	// +optional
	IPAllowList *IPAllowList `json:"ipAllowList,omitempty"`
	// Headers sets and removes headers, answers CORS requests and sets security headers.
	// +optional
	Headers *Headers `json:"headers,omitempty"`
	// Errors lets another service answer for some status codes.
	// +optional
	Errors *ErrorPage `json:"errors,omitempty"`
	// RateLimit limits requests in time.
	// +optional
	RateLimit *RateLimit `json:"rateLimit,omitempty"`
	// RedirectRegex redirects by a regular expression over the URL.
	// +optional
	RedirectRegex *RedirectRegex `json:"redirectRegex,omitempty"`
	// RedirectScheme redirects to another scheme and port.
	// +optional
	RedirectScheme *RedirectScheme `json:"redirectScheme,omitempty"`
	// BasicAuth demands a user and password.
	// +optional
	BasicAuth *BasicAuth `json:"basicAuth,omitempty"`
	// DigestAuth demands a user and password by digest.
	// +optional
	DigestAuth *DigestAuth `json:"digestAuth,omitempty"`
	// ForwardAuth delegates the authorization of requests to another server.
	// +optional
	ForwardAuth *ForwardAuth `json:"forwardAuth,omitempty"`
	// InFlightReq limits requests that are under way at a time.
	// +optional
	InFlightReq *InFlightReq `json:"inFlightReq,omitempty"`
	// Buffering reads bodies whole before they travel on.
	// +optional
	Buffering *Buffering `json:"buffering,omitempty"`
	// CircuitBreaker stops traffic to a service that fails.
	// +optional
	CircuitBreaker *CircuitBreaker `json:"circuitBreaker,omitempty"`
	// Compress compresses responses.
	// +optional
	Compress *Compress `json:"compress,omitempty"`
	// PassTLSClientCert hands the client's certificate to the service in headers.
	// +optional
	PassTLSClientCert *PassTLSClientCert `json:"passTLSClientCert,omitempty"`
	// Retry tries again when a server could not answer.
	// +optional
	Retry *Retry `json:"retry,omitempty"`
	// ContentType lets the router detect the content type of a response that has none.
	// +optional
	ContentType *ContentType `json:"contentType,omitempty"`
	// GrpcWeb translates gRPC-Web.
	// +optional
	GrpcWeb *GrpcWeb `json:"grpcWeb,omitempty"`
	// EncodedCharacters allows reserved characters that arrive encoded in a path.
	// +optional
	EncodedCharacters *EncodedCharacters `json:"encodedCharacters,omitempty"`
	// JWT lets requests in that carry a signed token.
	// +optional
	JWT *JWT `json:"jwt,omitempty"`
	// BodyLimit refuses requests with a larger body.
	// +optional
	BodyLimit *BodyLimit `json:"bodyLimit,omitempty"`
	// Timeout bounds how long requests may take.
	// +optional
	Timeout *Timeout `json:"timeout,omitempty"`
	// Fault injects delays, resets and answers into a part of the requests.
	// +optional
	Fault *Fault `json:"fault,omitempty"`
	// AdaptiveConcurrency limits requests in progress by what the service can bear.
	// +optional
	AdaptiveConcurrency *AdaptiveConcurrency `json:"adaptiveConcurrency,omitempty"`
	// Environment sets the header with the tag of the environment and decides who may choose it.
	// +optional
	Environment *EnvironmentMiddleware `json:"environment,omitempty"`
	// RequestHeaderModifier removes, sets and adds headers of requests.
	// +optional
	RequestHeaderModifier *RequestHeaderModifier `json:"requestHeaderModifier,omitempty"`
	// ResponseHeaderModifier removes, sets and adds headers of responses.
	// +optional
	ResponseHeaderModifier *ResponseHeaderModifier `json:"responseHeaderModifier,omitempty"`
	// RequestRedirect redirects to the same URL with other parts.
	// +optional
	RequestRedirect *RequestRedirect `json:"requestRedirect,omitempty"`
	// URLRewrite changes the host or the path of requests to services.
	// +optional
	URLRewrite *URLRewrite `json:"urlRewrite,omitempty"`
	// CORS answers preflight requests and lets pages of other origins read responses.
	// +optional
	CORS *CORS `json:"cors,omitempty"`
	// ExternalAuth has a service decide whether a request may pass.
	// +optional
	ExternalAuth *ExternalAuth `json:"externalAuth,omitempty"`
	// ProxySetHeader sets headers of requests to texts with variables of nginx.
	// +optional
	ProxySetHeader *ProxySetHeader `json:"proxySetHeader,omitempty"`
	// ProxyRedirect changes URLs in the headers Location and Refresh of responses.
	// +optional
	ProxyRedirect *ProxyRedirect `json:"proxyRedirect,omitempty"`
	// ProxyCookie changes the domain and the path of cookies in responses.
	// +optional
	ProxyCookie *ProxyCookie `json:"proxyCookie,omitempty"`
	// RegexRewrite replaces path and query, or redirects, as the directive rewrite of nginx.
	// +optional
	RegexRewrite *RegexRewrite `json:"regexRewrite,omitempty"`
	// IPDenyList refuses clients with certain addresses.
	// +optional
	IPDenyList *IPDenyList `json:"ipDenyList,omitempty"`
	// SatisfyAny lets a request in if one of several middlewares does.
	// +optional
	SatisfyAny *SatisfyAny `json:"satisfyAny,omitempty"`
	// AuthRequest has a server decide whether a request may pass, as nginx does.
	// +optional
	AuthRequest *AuthRequest `json:"authRequest,omitempty"`
	// ClientCertificate judges the certificate of the client after the handshake.
	// +optional
	ClientCertificate *ClientCertificate `json:"clientCertificate,omitempty"`
	// BandwidthLimit limits how fast the body of each response is sent.
	// +optional
	BandwidthLimit *BandwidthLimit `json:"bandwidthLimit,omitempty"`
	// NginxCORS answers preflight requests as ingress-nginx does.
	// +optional
	NginxCORS *NginxCORS `json:"nginxCORS,omitempty"`
	// Plugin holds the configuration of plugins by their names.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Plugin map[string]runtime.RawExtension `json:"plugin,omitempty"`
}
