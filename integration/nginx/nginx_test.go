package nginx_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/integration/nginx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestReload reads one configuration after the other, and a wrong one between them.
func TestReload(t *testing.T) {
	p := nginx.Start(t, nginx.Options{})
	for i := range 3 {
		text := fmt.Sprintf("server { listen unix:%s; location / { return 200 %d; } }", p.Socket("web"), i)
		if err := p.Reload(text); err != nil {
			t.Fatal(err)
		}
		if got, want := get(t, p, "http://any/"), fmt.Sprint(i); got != want {
			t.Errorf("the answer is %q, want %q", got, want)
		}
		err := p.Reload("server { listen unix:" + p.Socket("web") + "; location ~ ( { } }")
		if err == nil || !strings.Contains(err.Error(), "pcre") {
			t.Errorf("a wrong configuration: %v", err)
		}
		if got, want := get(t, p, "http://any/"), fmt.Sprint(i); got != want {
			t.Errorf("the answer after a wrong configuration is %q, want %q", got, want)
		}
	}
}

func get(t *testing.T, p *nginx.Process, url string) string {
	t.Helper()
	client := p.Client("web")
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return string(text)
}
