package headers

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// mark is a request header whose value indicates that the client's connection is encrypted, though ours is not
// (sslProxyHeaders).
type mark struct{ name, value string }

// isEncrypted reports whether the client's connection is encrypted. A duplicate header is ignored.
func (h *Headers) isEncrypted(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	for _, mark := range h.tlsMarks {
		if values := r.Header[mark.name]; len(values) == 1 && values[0] == mark.value {
			return true
		}
	}
	return false
}

// buildResponse combines security headers and custom ones.
func (h *Headers) buildResponse(config dynamic.Headers) error {
	custom, err := edits("headers.customResponseHeaders", config.CustomResponseHeaders)
	if err != nil {
		return err
	}
	for _, given := range sortedNames(config.SSLProxyHeaders) {
		if !isToken(given) {
			return fmt.Errorf("headers.sslProxyHeaders: %q is not a header name", document.ShowKey(given))
		}
		h.tlsMarks = append(h.tlsMarks, mark{http.CanonicalHeaderKey(given), config.SSLProxyHeaders[given]})
	}
	fixed, err := policies(config)
	if err != nil {
		return err
	}
	sts := strictTransport(config)
	h.plain, h.encrypted = fixed, fixed
	if sts.value != "" {
		h.encrypted = append(slices.Clip(fixed), sts)
		if config.ForceSTSHeader {
			h.plain = h.encrypted
		}
	}
	if key, err := line("publicKey", config.PublicKey); err != nil {
		return err
	} else if key != "" && !config.IsDevelopment {
		h.encrypted = append(slices.Clip(h.encrypted), edit{name: "Public-Key-Pins", value: key})
	}
	h.plain, h.encrypted = override(h.plain, custom), override(h.encrypted, custom)
	return nil
}

// strictTransport returns the header of RFC 6797 section 6.1, without a value if it is not sent.
func strictTransport(config dynamic.Headers) edit {
	if seconds(config) == 0 || config.IsDevelopment {
		return edit{}
	}
	value := "max-age=" + strconv.FormatInt(seconds(config), 10)
	if config.STSIncludeSubdomains {
		value += "; includeSubDomains"
	}
	if config.STSPreload {
		value += "; preload"
	}
	return edit{name: "Strict-Transport-Security", value: value}
}

// policies returns the security headers that are independent of the connection.
func policies(config dynamic.Headers) ([]edit, error) {
	var list []edit
	for _, policy := range []struct {
		option, name, value string
		otherwise           string
		isSet               bool
	}{
		{"customFrameOptionsValue", "X-Frame-Options", config.CustomFrameOptionsValue, "DENY", config.FrameDeny},
		{"contentTypeNosniff", "X-Content-Type-Options", "", "nosniff", config.ContentTypeNosniff},
		{"customBrowserXSSValue", "X-Xss-Protection", config.CustomBrowserXSSValue, "1; mode=block", config.BrowserXSSFilter},
		{option: "contentSecurityPolicy", name: "Content-Security-Policy", value: config.ContentSecurityPolicy},
		{
			option: "contentSecurityPolicyReportOnly", name: "Content-Security-Policy-Report-Only",
			value: config.ContentSecurityPolicyReportOnly,
		},
		{option: "referrerPolicy", name: "Referrer-Policy", value: config.ReferrerPolicy},
		{option: "permissionsPolicy", name: "Permissions-Policy", value: config.PermissionsPolicy},
	} {
		value, err := line(policy.option, policy.value)
		if err != nil {
			return nil, err
		}
		if value == "" && policy.isSet {
			value = policy.otherwise
		}
		if value != "" {
			nonce := strings.HasPrefix(policy.option, "contentSecurity") && strings.Contains(value, nonceMark)
			list = append(list, edit{name: policy.name, value: value, nonce: nonce})
		}
	}
	return list, nil
}

// line joins a multi-line value, as policies are in YAML.
func line(option, value string) (string, error) {
	folded := fold(value)
	if !isValue(folded) {
		return "", fmt.Errorf("headers.%s has a control character", option)
	}
	return folded, nil
}
