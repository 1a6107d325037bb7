package basicauth

import (
	"context"
	"encoding/base64"
	"flag"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/crypto/bcrypt"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Users whose password is "secret".
const (
	shaUser  = "sha:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="
	apr1User = "apr1:$apr1$saltsalt$LrttParrLPdxvgutaSXWJ0"
)

// bcryptUser returns a user whose password is "secret".
func bcryptUser(t testing.TB, name string, cost int) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), cost)
	if err != nil {
		t.Fatal(err)
	}
	return name + ":" + string(hash)
}

func build(t testing.TB, config dynamic.BasicAuth) *BasicAuth {
	t.Helper()
	step, err := New("auth@file", config, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// counting has the middleware note every hash that it computes.
func counting(step *BasicAuth) *[]kind {
	var computed []kind
	step.store.matches = func(hash stored, password []byte) bool {
		computed = append(computed, hash.kind)
		return hash.matches(password)
	}
	return &computed
}

func basic(user, password string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// answered is what came of a request.
type answered struct {
	status int
	head   http.Header // of the answer
	body   string
	passed http.Header // of the request that the service got, or nil
	record telemetry.Record
}

// serve sends a request through the middleware.
func serve(ctx context.Context, t testing.TB, step *BasicAuth, headers ...string) (got answered) {
	t.Helper()
	w := &recorder{}
	r := middlewaretest.Request(t, "GET /", headers...)
	r = r.WithContext(telemetry.WithRecord(ctx, &got.record))
	step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got.passed = r.Header })).ServeHTTP(w, r)
	got.status, got.head, got.body = w.Status, w.Header(), w.body.String()
	if got.status == 0 && got.passed != nil {
		got.status = http.StatusOK
	}
	return got
}

type recorder struct {
	middlewaretest.Writer
	body strings.Builder
}

// Write keeps the body.
func (r *recorder) Write(body []byte) (int, error) {
	r.body.Write(body)
	return r.Writer.Write(body)
}
