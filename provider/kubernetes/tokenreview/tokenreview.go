// Package tokenreview checks the tokens of Kubernetes service accounts by asking the API server (TokenReview).
//
// A Reviewer keeps results for a short time, asks once for a token that several callers have, and fails closed: a token
// that cannot be checked is not accepted.
package tokenreview

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
)

const (
	// acceptedFor is how long a valid token is not checked again, at most until it expires; refusedFor is for others.
	acceptedFor, refusedFor = 60 * time.Second, 10 * time.Second
	// requestTimeout is the time limit of one request.
	requestTimeout = 5 * time.Second
	// maxResults bounds the results that are kept.
	maxResults = 10_000
)

// Reviewer checks tokens. Its methods may be called from any goroutine.
type Reviewer struct {
	client   rest.Interface
	audience string

	mu      sync.Mutex
	results map[digest]*result
	order   []digest // of results, the oldest first
}

// digest identifies a token, which is not kept.
type digest [sha256.Size]byte

// result is what became of a token.
type result struct {
	done  chan struct{} // closed when the rest is known
	user  string        // empty for a token that is not valid
	err   error         // why it could not be checked
	until time.Time
}

// New returns a Reviewer of tokens for an audience. It makes no request.
func New(cluster *client.Cluster, audience string) (*Reviewer, error) {
	requests, err := cluster.REST(authenticationv1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	return &Reviewer{client: requests, audience: audience, results: map[digest]*result{}}, nil
}

// Review returns the user of a token; ok is false for a token that is not valid. It fails when the API server cannot be
// asked.
func (r *Reviewer) Review(ctx context.Context, token string) (user string, ok bool, err error) {
	key := digest(sha256.Sum256([]byte(token)))
	one, first := r.resultOf(key, time.Now())
	if first {
		// The result is for others too, who may wait for longer than the first one.
		request, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		one.user, one.err = r.ask(request, token)
		cancel()
		r.keep(one, expiry(token), time.Now())
	}
	select {
	case <-one.done:
		return one.user, one.user != "", one.err
	case <-ctx.Done():
		return "", false, ctx.Err()
	}
}

// resultOf returns what is known of a token, or a new result that the caller fills.
func (r *Reviewer) resultOf(key digest, now time.Time) (one *result, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one = r.results[key]; one != nil && (one.until.IsZero() || now.Before(one.until)) {
		return one, false
	}
	if one == nil {
		r.order = append(r.order, key)
	}
	one = &result{done: make(chan struct{})}
	r.results[key] = one
	for len(r.order) > maxResults {
		delete(r.results, r.order[0])
		r.order = r.order[1:]
	}
	return one, true
}

// keep keeps a result as long as it holds: not at all after a failure.
func (r *Reviewer) keep(one *result, expires, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case one.err != nil:
		one.until = now
	case one.user == "":
		one.until = now.Add(refusedFor)
	default:
		one.until = now.Add(acceptedFor)
		if !expires.IsZero() && expires.Before(one.until) {
			one.until = expires
		}
	}
	close(one.done)
}

// ask asks the API server for the user of a token; it is empty for a token that is not valid for the audience.
func (r *Reviewer) ask(ctx context.Context, token string) (user string, err error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{
		Token: token, Audiences: []string{r.audience},
	}}
	answer := &authenticationv1.TokenReview{}
	err = r.client.Post().Resource("tokenreviews").VersionedParams(&metav1.CreateOptions{}, metav1.ParameterCodec).
		Body(review).Do(ctx).Into(answer)
	if err != nil {
		return "", fmt.Errorf("kubernetes: TokenReview: %w", err)
	}
	// An API server that does not know audiences returns none.
	if !answer.Status.Authenticated || !slices.Contains(answer.Status.Audiences, r.audience) {
		return "", nil
	}
	return answer.Status.User.Username, nil
}

// expiry returns when a token expires, by what it says itself; zero if it does not say.
func expiry(token string) time.Time {
	_, rest, _ := strings.Cut(token, ".")
	payload, _, _ := strings.Cut(rest, ".")
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		Expires int64 `json:"exp"`
	}
	if err := json.Unmarshal(text, &claims); err != nil || claims.Expires <= 0 {
		return time.Time{}
	}
	return time.Unix(claims.Expires, 0)
}
