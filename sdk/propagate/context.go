package propagate

import (
	"context"
	"os"
)

// TagVariable is the environment variable with the tag of the pod. The injector's template env-tag sets it.
const TagVariable = "VIRTUAL_ENVIRONMENT_TAG"

// tagKey is the key of the tag in a context.
type tagKey struct{}

// WithTag returns a context with the tag. An empty tag is the same as none.
func WithTag(ctx context.Context, tag string) context.Context {
	return context.WithValue(ctx, tagKey{}, tag)
}

// Tag returns the tag of the context: that of the incoming request, or of [WithTag]. It is empty if there is none.
func Tag(ctx context.Context) string {
	tag, _ := ctx.Value(tagKey{}).(string)
	return tag
}

// TagFromEnvironment returns the value of [TagVariable], for [Propagator.DefaultTag]. It is empty if there is none.
func TagFromEnvironment() string {
	return os.Getenv(TagVariable)
}
