package entrypoint_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestPanicsDiscloseNoSecrets panics by a fault of the program, behind a request with credentials wherever a client
// puts them.
func TestPanicsDiscloseNoSecrets(t *testing.T) {
	const secret = "s3cr3tOfTheClient"
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				w.Header().Set("Set-Cookie", r.Header.Get("Cookie"))
				w.WriteHeader(int(body[len(body)]))
			}), nil)
			client, url := s.client(protocol)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/path?token="+secret,
				strings.NewReader(secret))
			if err != nil {
				t.Fatal(err)
			}
			request.SetBasicAuth("ann", secret)
			request.Header.Set("Cookie", "session="+secret)
			request.Header.Set("X-Api-Key", secret)
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(response.Body)
			if closeErr := response.Body.Close(); err != nil || closeErr != nil {
				t.Fatal(err, closeErr)
			}
			if response.StatusCode != http.StatusInternalServerError || len(response.Cookies()) > 0 ||
				strings.Contains(string(text), secret) {
				t.Errorf("the answer: %+v %q", response, text)
			}
			line := s.logged("handler panicked")
			if !strings.Contains(line, "POST "+s.address+"/path") || !strings.Contains(line, "index out of range") ||
				!strings.Contains(line, "panic_test.go") {
				t.Errorf("the line does not say what has happened: %s", line)
			}
			for _, hidden := range []string{secret, "token", "YW5uO"} {
				if strings.Contains(line, hidden) {
					t.Errorf("the line discloses %s: %s", hidden, line)
				}
			}
		})
	}
}
