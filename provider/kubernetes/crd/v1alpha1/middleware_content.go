package v1alpha1

// Buffering reads bodies whole before they travel on. Sizes are in bytes.
type Buffering struct {
	// MaxRequestBodyBytes is the size of the largest request; default 0, any size.
	// +optional
	MaxRequestBodyBytes int64 `json:"maxRequestBodyBytes,omitempty"`
	// MemRequestBodyBytes is the part of a request that is kept in memory; default 1048576.
	// +optional
	MemRequestBodyBytes int64 `json:"memRequestBodyBytes,omitempty"`
	// MaxResponseBodyBytes is the size of the largest response; default 0, any size.
	// +optional
	MaxResponseBodyBytes int64 `json:"maxResponseBodyBytes,omitempty"`
	// MemResponseBodyBytes is the part of a response that is kept in memory; default 1048576.
	// +optional
	MemResponseBodyBytes int64 `json:"memResponseBodyBytes,omitempty"`
	// RetryExpression says when a request is tried again.
	// +optional
	RetryExpression string `json:"retryExpression,omitempty"`
	// RequestOnly sends responses as they come.
	// +optional
	RequestOnly bool `json:"requestOnly,omitempty"`
}

// BodyLimit refuses requests with a larger body, and reads no body ahead of the service.
type BodyLimit struct {
	// MaxRequestBodyBytes is the size of the largest body that passes, in bytes.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxRequestBodyBytes int64 `json:"maxRequestBodyBytes,omitempty"`
}

// Compress compresses responses.
type Compress struct {
	// ExcludedContentTypes lists the content types that are left alone.
	// +optional
	ExcludedContentTypes []string `json:"excludedContentTypes,omitempty"`
	// IncludedContentTypes lists the only content types that are compressed.
	// +optional
	IncludedContentTypes []string `json:"includedContentTypes,omitempty"`
	// MinResponseBodyBytes is the size from which a response is compressed; default 1024.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinResponseBodyBytes *int `json:"minResponseBodyBytes,omitempty"`
	// Encodings lists the encodings in order of preference; default gzip, br, zstd.
	// +optional
	Encodings []string `json:"encodings,omitempty"`
	// DefaultEncoding is for clients that send no Accept-Encoding.
	// +optional
	DefaultEncoding *string `json:"defaultEncoding,omitempty"`
}

// ContentType lets the router detect the content type of a response that has none.
type ContentType struct {
	// AutoDetect is deprecated; the presence of the middleware is what counts.
	// +optional
	AutoDetect *bool `json:"autoDetect,omitempty"`
}

// ErrorPage lets another service answer for some status codes.
type ErrorPage struct {
	// Status lists status codes and ranges of them, such as 500-599.
	// +optional
	// +kubebuilder:validation:items:Pattern=`^[1-5][0-9]{2}([,-][1-5][0-9]{2})*$`
	Status []string `json:"status,omitempty"`
	// StatusRewrites replaces status codes, or ranges of them, by others.
	// +optional
	StatusRewrites map[string]int `json:"statusRewrites,omitempty"`
	// Service answers instead.
	// +optional
	Service Service `json:"service,omitzero" reference:"Service"`
	// Query is the path of the error page; {status}, {originalStatus} and {url} stand for those of the request.
	// +optional
	Query string `json:"query,omitempty"`
	// ErrorRequestHeaders lists the headers of the request to send; absent means all, and an empty list none.
	// +optional
	ErrorRequestHeaders *[]string `json:"errorRequestHeaders,omitempty"`
	// RequestHeaders lists further headers of the request; values are texts with variables of nginx and the placeholders
	// {status} and {originalStatus}.
	// +optional
	RequestHeaders []HeaderValue `json:"requestHeaders,omitempty"`
	// PageStatus has the client get the status of the page.
	// +optional
	PageStatus bool `json:"pageStatus,omitempty"`
	// OriginalRequest sends the method, query, conditions and body of the original request.
	// +optional
	OriginalRequest bool `json:"originalRequest,omitempty"`
	// MaxRequestBodyBytes is the length of the longest body that originalRequest sends. Default: 1 MiB.
	// +optional
	MaxRequestBodyBytes int64 `json:"maxRequestBodyBytes,omitempty"`
	// OwnErrors replaces only answers that no endpoint has given.
	// +optional
	OwnErrors bool `json:"ownErrors,omitempty"`
	// ErrorResponseHeaders lists headers of the replaced answer that the client gets unless the page has them.
	// +optional
	ErrorResponseHeaders []string `json:"errorResponseHeaders,omitempty"`
}

// GrpcWeb translates gRPC-Web.
type GrpcWeb struct {
	// AllowOrigins lists the origins that are allowed; * is any.
	// +optional
	AllowOrigins []string `json:"allowOrigins,omitempty"`
}

// EncodedCharacters allows reserved characters that arrive encoded in a path.
type EncodedCharacters struct {
	// AllowEncodedSlash allows %2F.
	// +optional
	AllowEncodedSlash bool `json:"allowEncodedSlash,omitempty"`
	// AllowEncodedBackSlash allows %5C.
	// +optional
	AllowEncodedBackSlash bool `json:"allowEncodedBackSlash,omitempty"`
	// AllowEncodedNullCharacter allows %00.
	// +optional
	AllowEncodedNullCharacter bool `json:"allowEncodedNullCharacter,omitempty"`
	// AllowEncodedSemicolon allows %3B.
	// +optional
	AllowEncodedSemicolon bool `json:"allowEncodedSemicolon,omitempty"`
	// AllowEncodedPercent allows %25.
	// +optional
	AllowEncodedPercent bool `json:"allowEncodedPercent,omitempty"`
	// AllowEncodedQuestionMark allows %3F.
	// +optional
	AllowEncodedQuestionMark bool `json:"allowEncodedQuestionMark,omitempty"`
	// AllowEncodedHash allows %23.
	// +optional
	AllowEncodedHash bool `json:"allowEncodedHash,omitempty"`
}

// Chain applies other middlewares in order.
type Chain struct {
	// Middlewares names them, the outermost first.
	// +optional
	Middlewares []ObjectRef `json:"middlewares,omitempty" reference:"Middleware"`
}
