package rule

import "strings"

// v3Names lists the matchers of the language in the order of the documentation.
func v3Names() []string {
	return []string{
		"Host", "HostRegexp", "Path", "PathPrefix", "PathRegexp", "Method", "Header", "HeaderRegexp",
		"Query", "QueryRegexp", "ClientIP", "Port",
	}
}

// documented returns the documented spelling of a written name, or "". Four spellings are accepted.
func documented(written string, known []string) string {
	for _, name := range known {
		if len(name) != len(written) || !strings.EqualFold(name, written) {
			continue
		}
		lower := strings.ToLower(name)
		switch written {
		case name, lower, strings.ToUpper(name), strings.ToUpper(lower[:1]) + lower[1:]:
			return name
		}
	}
	return ""
}

// v3Matcher finds a matcher of the v3 language by its written name.
func v3Matcher(written string) (spec, bool) {
	name := documented(written, v3Names())
	switch name {
	case "Host":
		return spec{name, 1, 1, newHost}, true
	case "HostRegexp":
		return spec{name, 1, 1, newHostRegexp}, true
	case "Path":
		return spec{name, 1, 1, newPath}, true
	case "PathPrefix":
		return spec{name, 1, 1, newPathPrefix}, true
	case "PathRegexp":
		return spec{name, 1, 1, newPathRegexp}, true
	case "Method":
		return spec{name, 1, 1, newMethod}, true
	case "Header":
		return spec{name, 2, 2, newHeader}, true
	case "HeaderRegexp":
		return spec{name, 2, 2, newHeaderRegexp}, true
	case "Query":
		return spec{name, 1, 2, newQuery}, true
	case "QueryRegexp":
		return spec{name, 1, 2, newQueryRegexp}, true
	case "ClientIP":
		return spec{name, 1, 1, newClientIP}, true
	case "Port":
		return spec{name, 1, 1, newPort}, true
	}
	return spec{}, false
}
