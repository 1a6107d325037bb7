package static

import "github.com/sluiceproxy/sluice/redact"

// Redacted returns a deep copy of a Configuration, or of a part of it, in which every option that may hold a secret
// (the tag secret) shows xxxx in its place: tokens, passwords, keys, values of headers, the user and the query of
// URLs. Readers of the API may see it.
func Redacted[T any](value T) T { return redact.Copy(value) }
