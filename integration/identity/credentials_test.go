package identity

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// credentials let a client in, by the kinds of rows.
type credentials struct {
	world *world
	// nonce and opaque are the challenge that a digest answers, and count how often it did.
	nonce, opaque string
	count         int
}

// newCredentials requests a challenge.
func newCredentials(t *testing.T, l lane, kind string) *credentials {
	t.Helper()
	c := &credentials{world: l.world}
	if kind != "digest" {
		return c
	}
	answer := harness.NewClient(t, harness.H1, l.world.sluice.Addr("web"), "digest-"+l.upstream+".test", nil).Get("/")
	found := regexp.MustCompile(`nonce="([^"]+)", opaque="([^"]+)"`).
		FindStringSubmatch(answer.Header.Get("Www-Authenticate"))
	if answer.StatusCode != http.StatusUnauthorized || found == nil {
		t.Fatalf("status %d, no challenge: %v", answer.StatusCode, answer.Header)
	}
	c.nonce, c.opaque = found[1], found[2]
	return c
}

// needed reports whether credentials are required.
func needed(kind string) bool {
	switch kind {
	case "basic", "digest", "forward", "token":
		return true
	}
	return false
}

// fields returns what lets a POST in.
func (c *credentials) fields(kind, target string) []field {
	value := ""
	switch kind {
	case "basic":
		value = "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:correct horse"))
	case "digest":
		value = c.digest(target)
	case "forward":
		value = "Let me in"
	case "token":
		value = "Bearer " + c.world.token
	default:
		return nil
	}
	return []field{{"Authorization", value}}
}

// digest answers the challenge (RFC 7616).
func (c *credentials) digest(target string) string {
	c.count++
	hash := func(text string) string {
		sum := md5.Sum([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	count := fmt.Sprintf("%08x", c.count)
	response := hash("394ae5fa7a61c063132a0018b9eb080e:" + c.nonce + ":" + count + ":0a1b:auth:" + hash("POST:"+target))
	return fmt.Sprintf(`Digest username="ann", realm="traefik", nonce="%s", uri="%s", response="%s", opaque="%s", `+
		`qop=auth, nc=%s, cnonce="0a1b", algorithm=MD5`,
		c.nonce, target, response, c.opaque, count)
}
