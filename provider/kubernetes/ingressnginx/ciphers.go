package ingressnginx

import (
	"slices"
	"strings"
)

// opensslSuites are the names of cipher suites in OpenSSL and in Go, for TLS 1.2 and older.
func opensslSuites() map[string]string {
	return map[string]string{
		"ECDHE-ECDSA-AES128-GCM-SHA256": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
		"ECDHE-RSA-AES128-GCM-SHA256":   "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
		"ECDHE-ECDSA-AES256-GCM-SHA384": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
		"ECDHE-RSA-AES256-GCM-SHA384":   "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
		"ECDHE-ECDSA-CHACHA20-POLY1305": "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
		"ECDHE-RSA-CHACHA20-POLY1305":   "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
		"ECDHE-ECDSA-AES128-SHA256":     "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
		"ECDHE-RSA-AES128-SHA256":       "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
		"ECDHE-ECDSA-AES128-SHA":        "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
		"ECDHE-RSA-AES128-SHA":          "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
		"ECDHE-ECDSA-AES256-SHA":        "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
		"ECDHE-RSA-AES256-SHA":          "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
		"AES128-GCM-SHA256":             "TLS_RSA_WITH_AES_128_GCM_SHA256",
		"AES256-GCM-SHA384":             "TLS_RSA_WITH_AES_256_GCM_SHA384",
		"AES128-SHA256":                 "TLS_RSA_WITH_AES_128_CBC_SHA256",
		"AES128-SHA":                    "TLS_RSA_WITH_AES_128_CBC_SHA",
		"AES256-SHA":                    "TLS_RSA_WITH_AES_256_CBC_SHA",
		"ECDHE-RSA-DES-CBC3-SHA":        "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
		"DES-CBC3-SHA":                  "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
	}
}

// cipherSuites returns the suites of a list of OpenSSL by their names in Go, in order, and what Go does not have. What
// a list excludes is left out of it. Suites of TLS 1.3 and rules about order have no effect there either.
func cipherSuites(text string) (suites, unknown []string) {
	if text == "" {
		return nil, nil
	}
	known := opensslSuites()
	var excluded []string
	for _, item := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(":, ", r) }) {
		if name, not := strings.CutPrefix(item, "!"); not {
			excluded = append(excluded, known[name])
			continue
		}
		suite := known[item]
		switch {
		case strings.HasPrefix(item, "TLS_"), strings.HasPrefix(item, "@"):
		case suite == "" && !slices.Contains(unknown, item):
			unknown = append(unknown, item)
		case suite != "" && !slices.Contains(suites, suite):
			suites = append(suites, suite)
		}
	}
	suites = slices.DeleteFunc(suites, func(suite string) bool { return slices.Contains(excluded, suite) })
	return suites, unknown
}
