package kubernetes

import "testing"

// TestBalancing has pods come, go and fail while requests pass.
func TestBalancing(t *testing.T) {
	c := prepare(t, "sluice.dev", "traefik.io")
	c.AddNode("west-1", "west")
	c.AddNode("east-1", "east")
	t.Run("rolling updates", func(t *testing.T) { podsAreRolled(t, c.For(t)) })
	t.Run("all pods leave", func(t *testing.T) { allLeave(t, c.For(t)) })
	t.Run("readiness flaps", func(t *testing.T) { readinessFlaps(t, c.For(t)) })
	t.Run("a sticky client's pod leaves", func(t *testing.T) { stickyPodLeaves(t, c.For(t)) })
	t.Run("hints for zones", func(t *testing.T) { hintsByHand(t, c.For(t)) })
	t.Run("hints of the control plane", func(t *testing.T) { hintsOfTheControlPlane(t, c.For(t)) })
}
