package annotation

import (
	"strconv"
	"strings"
)

// Verdict is what becomes of a key with the value that it has. Greater ones are worse.
type Verdict int

// The verdicts.
const (
	// Honoured has its effect.
	Honoured Verdict = iota
	// Different has its effect, with a difference.
	Different
	// Unused has no effect, neither in ingress-nginx nor here.
	Unused
	// Ignored is a mistake that ingress-nginx ignores, and Sluice too: a name that does not exist, or a value that is not
	// accepted.
	Ignored
	// Unsupported would have an effect in ingress-nginx and has none here.
	Unsupported
	// Denied makes the locations of the Ingress answer 503, in ingress-nginx too or here alone.
	Denied
	// Rejected makes ingress-nginx refuse the Ingress, or its whole configuration: it serves what it has accepted last.
	Rejected
)

// String returns the verdict in a word.
func (v Verdict) String() string {
	return [...]string{"honoured", "different", "unused", "ignored", "unsupported", "denied", "rejected"}[v]
}

// Finding is the verdict on one key.
type Finding struct {
	// Key is the annotation with its prefix, or the key of the ConfigMap. Keys of more than 316 bytes, which no API
	// server accepts, are cut.
	Key     string
	Verdict Verdict
	// Protects says that something would be open without the annotation.
	Protects bool
	// AboveRisk says that ingress-nginx does not accept the Ingress at its annotations-risk-level. The annotation closes
	// the locations if it protects something.
	AboveRisk bool
	// Reason is empty with Honoured. It has at most 1 KiB.
	Reason string
}

// Closes reports whether the locations must answer 503 for it.
func (f Finding) Closes() bool { return f.Verdict >= Denied || f.Verdict == Unsupported && f.Protects }

const (
	// mostKey is the length of the longest key that an API server accepts: a prefix, a slash and a name.
	mostKey = 253 + 1 + 63
	// mostReason bounds reasons in bytes.
	mostReason = 1024
	// mostQuoted bounds what a reason quotes of a value, in bytes.
	mostQuoted = 64
)

// quote returns a value as it is shown in a reason, cut if it is long.
func quote(value string) string {
	if len(value) > mostQuoted {
		return strconv.Quote(value[:mostQuoted]) + "…"
	}
	return strconv.Quote(value)
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}
