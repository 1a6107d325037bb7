package dynamic

import "github.com/sluiceproxy/sluice/redact"

// Redacted returns a deep copy of an object, a Configuration, or anything that holds such, in which every field that
// may hold a secret (the tag secret) shows xxxx in its place: users, keys, passwords, values of headers, the user and
// the query of URLs. It may be shown to users of the API.
func Redacted[T any](value T) T { return redact.Copy(value) }
