package propagate_test

import (
	"context"
	"testing"

	"github.com/sluiceproxy/sluice/sdk/propagate"
)

func TestContext(t *testing.T) {
	ctx := context.Background()
	if got := propagate.Tag(ctx); got != "" {
		t.Errorf("a context without a tag has %q", got)
	}
	outer := propagate.WithTag(ctx, "dev")
	inner := propagate.WithTag(outer, "")
	if propagate.Tag(outer) != "dev" || propagate.Tag(inner) != "" {
		t.Errorf("outer %q, inner %q", propagate.Tag(outer), propagate.Tag(inner))
	}
}

func TestTagFromEnvironment(t *testing.T) {
	t.Setenv(propagate.TagVariable, "dev.proj1")
	if got := propagate.TagFromEnvironment(); got != "dev.proj1" {
		t.Errorf("read %q", got)
	}
	t.Setenv("VIRTUAL_ENVIRONMENT_TAG", "")
	if got := propagate.TagFromEnvironment(); got != "" {
		t.Errorf("read %q of an empty variable", got)
	}
}
