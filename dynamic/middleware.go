package dynamic

// Middleware changes or decides on requests on their way (http.middlewares.<name>). Exactly one kind is set.
type Middleware struct {
	AddPrefix         *AddPrefix             `json:"addPrefix,omitempty"`
	StripPrefix       *StripPrefix           `json:"stripPrefix,omitempty"`
	StripPrefixRegex  *StripPrefixRegex      `json:"stripPrefixRegex,omitempty"`
	ReplacePath       *ReplacePath           `json:"replacePath,omitempty"`
	ReplacePathRegex  *ReplacePathRegex      `json:"replacePathRegex,omitempty"`
	Chain             *Chain                 `json:"chain,omitempty"`
	IPWhiteList       *IPWhiteList           `json:"ipWhiteList,omitempty"`
	IPAllowList       *IPAllowList           `json:"ipAllowList,omitempty"`
	Headers           *Headers               `json:"headers,omitempty"`
	Errors            *ErrorPage             `json:"errors,omitempty"`
	RateLimit         *RateLimit             `json:"rateLimit,omitempty"`
	RedirectRegex     *RedirectRegex         `json:"redirectRegex,omitempty"`
	RedirectScheme    *RedirectScheme        `json:"redirectScheme,omitempty"`
	BasicAuth         *BasicAuth             `json:"basicAuth,omitempty"`
	DigestAuth        *DigestAuth            `json:"digestAuth,omitempty"`
	ForwardAuth       *ForwardAuth           `json:"forwardAuth,omitempty"`
	InFlightReq       *InFlightReq           `json:"inFlightReq,omitempty"`
	Buffering         *Buffering             `json:"buffering,omitempty"`
	CircuitBreaker    *CircuitBreaker        `json:"circuitBreaker,omitempty"`
	Compress          *Compress              `json:"compress,omitempty" label:"allowEmpty"`
	PassTLSClientCert *PassTLSClientCert     `json:"passTLSClientCert,omitempty"`
	Retry             *Retry                 `json:"retry,omitempty"`
	ContentType       *ContentType           `json:"contentType,omitempty" label:"allowEmpty"`
	GrpcWeb           *GrpcWeb               `json:"grpcWeb,omitempty"`
	EncodedCharacters *EncodedCharacters     `json:"encodedCharacters,omitempty" label:"allowEmpty"`
	JWT               *JWT                   `json:"jwt,omitempty"`
	BodyLimit         *BodyLimit             `json:"bodyLimit,omitempty"`
	Timeout           *Timeout               `json:"timeout,omitempty"`
	Fault             *Fault                 `json:"fault,omitempty" label:"allowEmpty"`
	Environment       *EnvironmentMiddleware `json:"environment,omitempty" label:"allowEmpty"`
	// AdaptiveConcurrency limits requests in progress by what the service can bear.
	AdaptiveConcurrency *AdaptiveConcurrency `json:"adaptiveConcurrency,omitempty" label:"allowEmpty"`
	// RequestHeaderModifier, ResponseHeaderModifier, RequestRedirect, URLRewrite and CORS are the filters of the
	// Gateway API with these names.
	RequestHeaderModifier  *RequestHeaderModifier  `json:"requestHeaderModifier,omitempty"`
	ResponseHeaderModifier *ResponseHeaderModifier `json:"responseHeaderModifier,omitempty"`
	RequestRedirect        *RequestRedirect        `json:"requestRedirect,omitempty" label:"allowEmpty"`
	URLRewrite             *URLRewrite             `json:"urlRewrite,omitempty"`
	CORS                   *CORS                   `json:"cors,omitempty" label:"allowEmpty"`
	// ExternalAuth is the filter ExternalAuth of the Gateway API.
	ExternalAuth *ExternalAuth `json:"externalAuth,omitempty"`
	// ProxySetHeader, ProxyRedirect and ProxyCookie are what the directives of nginx with these names do.
	ProxySetHeader *ProxySetHeader `json:"proxySetHeader,omitempty"`
	ProxyRedirect  *ProxyRedirect  `json:"proxyRedirect,omitempty"`
	ProxyCookie    *ProxyCookie    `json:"proxyCookie,omitempty"`
	// RegexRewrite is the directive rewrite of nginx.
	RegexRewrite *RegexRewrite `json:"regexRewrite,omitempty"`
	// IPDenyList, SatisfyAny, AuthRequest, ClientCertificate, BandwidthLimit and NginxCORS restrict access as nginx does.
	IPDenyList        *IPDenyList        `json:"ipDenyList,omitempty"`
	SatisfyAny        *SatisfyAny        `json:"satisfyAny,omitempty"`
	AuthRequest       *AuthRequest       `json:"authRequest,omitempty"`
	ClientCertificate *ClientCertificate `json:"clientCertificate,omitempty"`
	BandwidthLimit    *BandwidthLimit    `json:"bandwidthLimit,omitempty"`
	NginxCORS         *NginxCORS         `json:"nginxCORS,omitempty"`
	// Plugin holds the configuration of plugins by their names; plugins are known and not supported yet.
	Plugin map[string]map[string]any `json:"plugin,omitempty" secret:"true"`
}

// AddPrefix puts a prefix before the path.
type AddPrefix struct {
	// Prefix begins with /.
	Prefix string `json:"prefix,omitempty"`
}

// StripPrefix removes the first of the prefixes that the path begins with.
type StripPrefix struct {
	Prefixes []string `json:"prefixes,omitempty"`
	// ForceSlash is deprecated; a stripped path always begins with /.
	ForceSlash *bool `json:"forceSlash,omitempty"`
}

// StripPrefixRegex removes the prefixes that match.
type StripPrefixRegex struct {
	Regex []string `json:"regex,omitempty"`
}

// ReplacePath replaces the path.
type ReplacePath struct {
	Path string `json:"path,omitempty"`
}

// ReplacePathRegex replaces the path by a regular expression.
type ReplacePathRegex struct {
	Regex       string `json:"regex,omitempty"`
	Replacement string `json:"replacement,omitempty"`
}

// Chain applies other middlewares in order.
type Chain struct {
	Middlewares []string `json:"middlewares,omitempty"`
}

// RedirectScheme redirects to another scheme and port.
type RedirectScheme struct {
	Scheme string `json:"scheme,omitempty"`
	Port   string `json:"port,omitempty"`
	// Permanent redirects with 301 or 308 instead of 302 or 307.
	Permanent bool `json:"permanent,omitempty"`
	// StatusCode is the status for every method, in place of those of Permanent: 301, 302, 307 or 308. Ours.
	StatusCode int `json:"statusCode,omitempty"`
	// TrimTrailingSlash removes one slash from the end of the target. Ours.
	TrimTrailingSlash bool `json:"trimTrailingSlash,omitempty"`
	// AnyPort redirects by the scheme alone: clients that use it pass on every port. Port is then written also where it
	// is the default of the scheme. Ours.
	AnyPort bool `json:"anyPort,omitempty"`
}

// RedirectRegex redirects by a regular expression over the URL.
type RedirectRegex struct {
	Regex       string `json:"regex,omitempty"`
	Replacement string `json:"replacement,omitempty"`
	Permanent   bool   `json:"permanent,omitempty"`
}

// Headers sets and removes headers, answers CORS requests and sets security headers.
type Headers struct {
	// CustomRequestHeaders and CustomResponseHeaders set headers; an empty value removes one.
	CustomRequestHeaders  map[string]string `json:"customRequestHeaders,omitempty" secret:"true"`
	CustomResponseHeaders map[string]string `json:"customResponseHeaders,omitempty" secret:"true"`

	AccessControlAllowCredentials     bool     `json:"accessControlAllowCredentials,omitempty"`
	AccessControlAllowHeaders         []string `json:"accessControlAllowHeaders,omitempty"`
	AccessControlAllowMethods         []string `json:"accessControlAllowMethods,omitempty"`
	AccessControlAllowOriginList      []string `json:"accessControlAllowOriginList,omitempty"`
	AccessControlAllowOriginListRegex []string `json:"accessControlAllowOriginListRegex,omitempty"`
	AccessControlExposeHeaders        []string `json:"accessControlExposeHeaders,omitempty"`
	AccessControlMaxAge               *int64   `json:"accessControlMaxAge,omitempty"`
	AddVaryHeader                     bool     `json:"addVaryHeader,omitempty"`

	AllowedHosts                    []string          `json:"allowedHosts,omitempty"`
	HostsProxyHeaders               []string          `json:"hostsProxyHeaders,omitempty"`
	SSLProxyHeaders                 map[string]string `json:"sslProxyHeaders,omitempty" secret:"true"`
	STSSeconds                      *int64            `json:"stsSeconds,omitempty"`
	STSIncludeSubdomains            bool              `json:"stsIncludeSubdomains,omitempty"`
	STSPreload                      bool              `json:"stsPreload,omitempty"`
	ForceSTSHeader                  bool              `json:"forceSTSHeader,omitempty"`
	FrameDeny                       bool              `json:"frameDeny,omitempty"`
	CustomFrameOptionsValue         string            `json:"customFrameOptionsValue,omitempty"`
	ContentTypeNosniff              bool              `json:"contentTypeNosniff,omitempty"`
	BrowserXSSFilter                bool              `json:"browserXssFilter,omitempty"`
	CustomBrowserXSSValue           string            `json:"customBrowserXSSValue,omitempty"`
	ContentSecurityPolicy           string            `json:"contentSecurityPolicy,omitempty"`
	ContentSecurityPolicyReportOnly string            `json:"contentSecurityPolicyReportOnly,omitempty"`
	PublicKey                       string            `json:"publicKey,omitempty"`
	ReferrerPolicy                  string            `json:"referrerPolicy,omitempty"`
	PermissionsPolicy               string            `json:"permissionsPolicy,omitempty"`
	IsDevelopment                   bool              `json:"isDevelopment,omitempty"`
	FeaturePolicy                   *string           `json:"featurePolicy,omitempty"`
	SSLRedirect                     *bool             `json:"sslRedirect,omitempty"`
	SSLTemporaryRedirect            *bool             `json:"sslTemporaryRedirect,omitempty"`
	SSLHost                         *string           `json:"sslHost,omitempty"`
	SSLForceHost                    *bool             `json:"sslForceHost,omitempty"`
}
