package v1alpha1

// Headers sets and removes headers, answers CORS requests and sets security headers.
type Headers struct {
	// CustomRequestHeaders sets headers of the request; an empty value removes one.
	// +optional
	CustomRequestHeaders map[string]string `json:"customRequestHeaders,omitempty"`
	// CustomResponseHeaders sets headers of the response; an empty value removes one.
	// +optional
	CustomResponseHeaders map[string]string `json:"customResponseHeaders,omitempty"`
	// AccessControlAllowCredentials lets scripts of other origins send credentials.
	// +optional
	AccessControlAllowCredentials bool `json:"accessControlAllowCredentials,omitempty"`
	// AccessControlAllowHeaders lists the headers that scripts of other origins may send.
	// +optional
	AccessControlAllowHeaders []string `json:"accessControlAllowHeaders,omitempty"`
	// AccessControlAllowMethods lists the methods that scripts of other origins may use.
	// +optional
	AccessControlAllowMethods []string `json:"accessControlAllowMethods,omitempty"`
	// AccessControlAllowOriginList lists the origins that are allowed; * is any.
	// +optional
	AccessControlAllowOriginList []string `json:"accessControlAllowOriginList,omitempty"`
	// AccessControlAllowOriginListRegex allows origins by regular expressions.
	// +optional
	AccessControlAllowOriginListRegex []string `json:"accessControlAllowOriginListRegex,omitempty"`
	// AccessControlExposeHeaders lists the headers that scripts of other origins may read.
	// +optional
	AccessControlExposeHeaders []string `json:"accessControlExposeHeaders,omitempty"`
	// AccessControlMaxAge is how many seconds the answer to a preflight request holds.
	// +optional
	AccessControlMaxAge *int64 `json:"accessControlMaxAge,omitempty"`
	// AddVaryHeader adds Origin to the header Vary.
	// +optional
	AddVaryHeader bool `json:"addVaryHeader,omitempty"`
	// AllowedHosts lists the only hosts that are answered.
	// +optional
	AllowedHosts []string `json:"allowedHosts,omitempty"`
	// HostsProxyHeaders lists the headers that may hold the host of the client's request.
	// +optional
	HostsProxyHeaders []string `json:"hostsProxyHeaders,omitempty"`
	// SSLProxyHeaders lists headers with the values that mean that the client uses TLS.
	// +optional
	SSLProxyHeaders map[string]string `json:"sslProxyHeaders,omitempty"`
	// STSSeconds is max-age of Strict-Transport-Security; 0 sends no such header.
	// +optional
	// +kubebuilder:validation:Minimum=0
	STSSeconds *int64 `json:"stsSeconds,omitempty"`
	// STSIncludeSubdomains adds includeSubDomains to it.
	// +optional
	STSIncludeSubdomains bool `json:"stsIncludeSubdomains,omitempty"`
	// STSPreload adds preload to it.
	// +optional
	STSPreload bool `json:"stsPreload,omitempty"`
	// ForceSTSHeader sends it without TLS as well.
	// +optional
	ForceSTSHeader bool `json:"forceSTSHeader,omitempty"`
	// FrameDeny sends X-Frame-Options: DENY.
	// +optional
	FrameDeny bool `json:"frameDeny,omitempty"`
	// CustomFrameOptionsValue is the value of X-Frame-Options, instead of DENY.
	// +optional
	CustomFrameOptionsValue string `json:"customFrameOptionsValue,omitempty"`
	// ContentTypeNosniff sends X-Content-Type-Options: nosniff.
	// +optional
	ContentTypeNosniff bool `json:"contentTypeNosniff,omitempty"`
	// BrowserXSSFilter sends X-XSS-Protection: 1; mode=block.
	// +optional
	BrowserXSSFilter bool `json:"browserXssFilter,omitempty"`
	// CustomBrowserXSSValue is the value of X-XSS-Protection, instead of that.
	// +optional
	CustomBrowserXSSValue string `json:"customBrowserXSSValue,omitempty"`
	// ContentSecurityPolicy is the header Content-Security-Policy.
	// +optional
	ContentSecurityPolicy string `json:"contentSecurityPolicy,omitempty"`
	// ContentSecurityPolicyReportOnly is the header Content-Security-Policy-Report-Only.
	// +optional
	ContentSecurityPolicyReportOnly string `json:"contentSecurityPolicyReportOnly,omitempty"`
	// PublicKey is the header Public-Key-Pins.
	// +optional
	PublicKey string `json:"publicKey,omitempty"`
	// ReferrerPolicy is the header Referrer-Policy.
	// +optional
	ReferrerPolicy string `json:"referrerPolicy,omitempty"`
	// PermissionsPolicy is the header Permissions-Policy.
	// +optional
	PermissionsPolicy string `json:"permissionsPolicy,omitempty"`
	// IsDevelopment switches off what needs TLS or the right host, for development.
	// +optional
	IsDevelopment bool `json:"isDevelopment,omitempty"`
	// FeaturePolicy is deprecated in favour of PermissionsPolicy.
	// +optional
	FeaturePolicy *string `json:"featurePolicy,omitempty"`
	// SSLRedirect is deprecated in favour of the middleware redirectScheme.
	// +optional
	SSLRedirect *bool `json:"sslRedirect,omitempty"`
	// SSLTemporaryRedirect is deprecated in favour of the middleware redirectScheme.
	// +optional
	SSLTemporaryRedirect *bool `json:"sslTemporaryRedirect,omitempty"`
	// SSLHost is deprecated in favour of the middleware redirectRegex.
	// +optional
	SSLHost *string `json:"sslHost,omitempty"`
	// SSLForceHost is deprecated in favour of the middleware redirectRegex.
	// +optional
	SSLForceHost *bool `json:"sslForceHost,omitempty"`
}
