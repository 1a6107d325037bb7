package jwt

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// maxLeeway is how far clocks may be apart at most.
const maxLeeway = 5 * time.Minute

// What bounds the path of a claim.
const (
	maxPath = 256 // bytes
	maxDots = 8
)

// rules are what a token must have. It is an immutable value.
type rules struct {
	leeway             time.Duration
	issuers, audiences []string
	claims             []dynamic.JWTClaim
}

// newRules checks the options about claims.
func newRules(config dynamic.JWT) (rules, error) {
	made := rules{
		leeway: time.Duration(config.Leeway), issuers: slices.Clone(config.Issuers),
		audiences: slices.Clone(config.Audiences),
	}
	if made.leeway < 0 || made.leeway > maxLeeway {
		return rules{}, fmt.Errorf("jwt.leeway %v is not between 0s and %v", made.leeway, maxLeeway)
	}
	if i := slices.Index(made.issuers, ""); i >= 0 {
		return rules{}, fmt.Errorf("jwt.issuers[%d] is empty", i)
	}
	if i := slices.Index(made.audiences, ""); i >= 0 {
		return rules{}, fmt.Errorf("jwt.audiences[%d] is empty", i)
	}
	for i, claim := range config.Claims {
		if err := checkPath(claim.Name); err != nil {
			return rules{}, fmt.Errorf("jwt.claims[%d].name %w", i, err)
		}
		if at := slices.Index(claim.Values, ""); at >= 0 {
			return rules{}, fmt.Errorf("jwt.claims[%d].values[%d] is empty", i, at)
		}
		made.claims = append(made.claims, dynamic.JWTClaim{Name: claim.Name, Values: slices.Clone(claim.Values)})
	}
	return made, nil
}

// checkPath refuses a path that names no claim.
func checkPath(path string) error {
	dots := 0
	for i := range len(path) {
		if path[i] == '.' {
			dots++
		}
	}
	switch {
	case path == "":
		return errors.New("is empty")
	case path[0] == '.' || path[len(path)-1] == '.':
		return errors.New("begins or ends with a dot")
	case len(path) > maxPath:
		return fmt.Errorf("is longer than %d bytes", maxPath)
	case dots > maxDots:
		return fmt.Errorf("has more than %d dots", maxDots)
	}
	return nil
}

// check compares the registered claims (RFC 7519 section 4.1), and notes from when until when the token is valid. A
// token must have an end.
func (r *rules) check(claims map[string]any, found *verified, now time.Time) *refusal {
	if refused := r.times(claims, found, now); refused != nil {
		return refused
	}
	if len(r.issuers) > 0 {
		if issuer, ok := claims["iss"].(string); !ok || !slices.Contains(r.issuers, issuer) {
			return refuse(invalid, "another issuer (iss)")
		}
	}
	if len(r.audiences) > 0 {
		audiences, ok := texts(claims["aud"])
		if !ok || !slices.ContainsFunc(audiences,
			func(audience string) bool { return slices.Contains(r.audiences, audience) }) {
			return refuse(invalid, "another audience (aud)")
		}
	}
	return nil
}

func (r *rules) times(claims map[string]any, found *verified, now time.Time) *refusal {
	expires, there, ok := instant(claims, "exp")
	if !there {
		return refuse(invalid, "the token never expires (exp)")
	}
	from, _, okFrom := instant(claims, "nbf")
	issued, _, okIssued := instant(claims, "iat")
	if !ok || !okFrom || !okIssued {
		return refuse(invalid, "a time in the token is malformed")
	}
	found.until, found.from = expires+int64(r.leeway), max(from, issued)-int64(r.leeway)
	at := now.UnixNano()
	switch {
	case at >= found.until:
		return refuse(invalid, "expired")
	case at < from-int64(r.leeway):
		return refuse(invalid, "not valid yet (nbf)")
	case at < issued-int64(r.leeway):
		return refuse(invalid, "issued in the future (iat)")
	}
	return nil
}

// require checks for the claims that the definition requires.
func (r *rules) require(claims map[string]any) *refusal {
	for i := range r.claims {
		claim, _ := lookUp(claims, r.claims[i].Name)
		if !has(r.claims[i].Name, claim, r.claims[i].Values) {
			return refuse(insufficient, "the token lacks the claim "+r.claims[i].Name+", or a value of it")
		}
	}
	return nil
}
