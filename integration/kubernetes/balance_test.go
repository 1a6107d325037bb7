package kubernetes

import "testing"

// TestBalancing has pods come, go and fail while requests pass.
func TestBalancing(t *testing.T) {
	c := prepare(t, "sluice.dev", "traefik.io")
	t.Run("rolling updates", func(t *testing.T) { podsAreRolled(t, c.For(t)) })
}
