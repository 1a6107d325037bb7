package compress

import (
	"strings"
)

// Weights in millionths; unlisted is less than any.
const (
	certain  = 1_000_000
	unlisted = -1
)

// accepted returns the encoding selected by Accept-Encoding (RFC 9110, section 12.5.3): of those with the greatest
// weight the first configured one, or nil if none is acceptable or identity has a greater weight. Duplicates have their
// greatest weight, but a weight of 0 refuses; an invalid weight refuses too.
func (c *Compress) accepted(values []string) *coding {
	if len(values) == 1 && (values[0] == "identity" || values[0] == "") {
		return nil
	}
	weights := none()
	identity, others := unlisted, unlisted
	for _, value := range values {
		for value != "" {
			var item string
			item, value = next(value, ',')
			name, parameters := next(item, ';')
			name = trim(name)
			if kind := kindOf(name); kind >= 0 {
				weights[kind] = join(weights[kind], weight(parameters))
				continue
			}
			switch {
			case name == "*":
				others = join(others, weight(parameters))
			case name == "identity", strings.EqualFold(name, "identity"):
				identity = join(identity, weight(parameters))
			}
		}
	}
	if weights == none() && others == unlisted {
		return nil
	}
	return c.best(&weights, identity, others)
}

// none returns the weights for an empty list.
func none() [codings]int { return [...]int{unlisted, unlisted, unlisted} }

// next splits a list at its first separator.
func next(list string, separator byte) (item, rest string) {
	if at := strings.IndexByte(list, separator); at >= 0 {
		return list[:at], list[at+1:]
	}
	return list, ""
}

// trim removes white space, fast if there is none.
func trim(text string) string {
	for text != "" && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	for text != "" && (text[len(text)-1] == ' ' || text[len(text)-1] == '\t') {
		text = text[:len(text)-1]
	}
	return text
}

// best compares the weights. An unlisted encoding has the weight of "*".
func (c *Compress) best(weights *[codings]int, identity, others int) *coding {
	var chosen *coding
	greatest := 0
	for _, coding := range c.codings {
		weight := weights[coding.kind]
		if weight == unlisted {
			weight = others
		}
		if weight > greatest {
			chosen, greatest = coding, weight
		}
	}
	if c.fallback != nil && others > 0 && others == greatest && weights[c.fallback.kind] == unlisted {
		// The client has no preference.
		chosen = c.fallback
	}
	if identity == unlisted {
		identity = others
	}
	if identity > greatest {
		return nil
	}
	return chosen
}

func join(one, other int) int {
	if one == 0 || other == 0 {
		return 0
	}
	return max(one, other)
}

// weight returns the parameter q, by default 1.
func weight(parameters string) int {
	for parameters != "" {
		var parameter string
		parameter, parameters = next(parameters, ';')
		name, value := next(parameter, '=')
		if name = trim(name); name == "q" || name == "Q" {
			return quality(trim(value))
		}
	}
	return certain
}

// quality parses a weight from 0 to 1; anything else is 0. More than three decimals are accepted.
func quality(text string) int {
	whole, decimals, _ := strings.Cut(text, ".")
	if whole == "" && decimals == "" || len(whole) > 1 {
		return 0
	}
	total, unit := 0, certain/10
	for i := range len(decimals) {
		digit := int(decimals[i]) - '0'
		if digit < 0 || digit > 9 {
			return 0
		}
		if total += digit * unit; unit > 1 {
			unit /= 10
		} else if unit = 0; total == 0 && digit > 0 {
			total = 1
		}
	}
	switch whole {
	case "", "0":
		return total
	case "1":
		if total == 0 {
			return certain
		}
	}
	return 0
}

// listed reports whether a list header, such as Cache-Control, contains a directive.
func listed(values []string, directive string) bool {
	for _, value := range values {
		for item := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.Trim(item, " \t"), directive) {
				return true
			}
		}
	}
	return false
}
