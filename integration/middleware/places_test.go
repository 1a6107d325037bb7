package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/integration/harness"
)

func leaving(request *http.Request) (*http.Request, context.CancelFunc) {
	ctx, leave := context.WithCancel(request.Context())
	return request.WithContext(ctx), leave
}

// key is the name of a kind's middleware and service.
func (k kind) key() string { return strings.ToLower(k.name) }

func entrypointOf(kind int) string { return fmt.Sprintf("with%02d", kind) }

// placesStatic has an entrypoint for each kind, whose every router has the middleware.
func placesStatic() string {
	var entrypoints strings.Builder
	for i, k := range kinds() {
		fmt.Fprintf(&entrypoints, "  %s: {address: \"127.0.0.1:0\", http: {middlewares: [%s@file]}}\n", entrypointOf(i),
			k.key())
	}
	return strings.Replace(static, "  traefik:", entrypoints.String()+"  traefik:", 1)
}

// placesYAML has each kind on a router, on a router by the name and provider, and on a service.
func placesYAML() string {
	var routers, services, middlewares strings.Builder
	for _, k := range kinds() {
		key := k.key()
		fmt.Fprintf(&middlewares, "    %s: {%s: %s}\n", key, k.name, k.options)
		fmt.Fprintf(&services, "    %s: {middlewares: [%s], loadBalancer: {servers: [{url: 'http://${ENDPOINT}'}]}}\n", key,
			key)
		for place, rest := range map[string]string{
			"router": "service: one, middlewares: [" + key + "]", "named": "service: one@file, middlewares: [" + key + "@file]",
			"service": "service: " + key, "toml": "service: one, middlewares: [" + key + "-toml@file]",
		} {
			fmt.Fprintf(&routers, "    %s-%s: {entryPoints: [web], rule: Host(`%s-%s.test`), %s}\n", place, key, place, key,
				rest)
		}
	}
	return "http:\n  routers:\n    entrypoint: {rule: 'PathPrefix(`/`)', priority: 1, service: one}\n" + routers.String() +
		"  middlewares:\n" + middlewares.String() +
		"  services:\n    one: {loadBalancer: {servers: [{url: 'http://${ENDPOINT}'}]}}\n    pages: {loadBalancer: " +
		"{servers: [{url: 'http://${PAGES}'}]}}\n" +
		services.String()
}

// placesTOML defines each kind once more.
func placesTOML(t *testing.T) string {
	var text strings.Builder
	text.WriteString("[http.middlewares]\n")
	for _, k := range kinds() {
		fmt.Fprintf(&text, "%s-toml = {%s = %s}\n", k.key(), k.name, inTOML(k.decoded(t)))
	}
	return text.String()
}

func (k kind) decoded(t *testing.T) any {
	t.Helper()
	var options any
	if err := json.Unmarshal([]byte(k.options), &options); err != nil {
		t.Fatal(err)
	}
	return options
}

// inTOML writes a value as TOML on one line.
func inTOML(value any) string {
	switch value := value.(type) {
	case map[string]any:
		var fields []string
		for _, name := range slices.Sorted(maps.Keys(value)) {
			fields = append(fields, name+" = "+inTOML(value[name]))
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case []any:
		var items []string
		for _, item := range value {
			items = append(items, inTOML(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case string:
		return strconv.Quote(value)
	default:
		return fmt.Sprint(value)
	}
}

// TestPlaces checks each kind in every place and form of declaration.
func TestPlaces(t *testing.T) {
	t.Parallel()
	endpoint := proof{failed: make(chan string, 1), held: make(chan struct{})}
	endpoint.failed <- ""
	server := httptest.NewServer(endpoint)
	defer server.Close()
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, "page ", r.URL.Path)
	}))
	defer pages.Close()
	s := harness.Start(t, harness.Setup{
		Static: placesStatic(), Dynamic: map[string]string{"all.yaml": placesYAML(), "more.toml": placesTOML(t)},
		Vars: map[string]string{
			"ENDPOINT": server.Listener.Addr().String(), "PAGES": pages.Listener.Addr().String(),
			"CA": harness.NewAuthority(t).File,
		},
	})
	for i, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			for _, place := range []string{"entrypoint", "router", "named", "service", "toml"} {
				address, host := s.Addr("web"), place+"-"+k.key()+".test"
				if place == "entrypoint" {
					address = s.Addr(entrypointOf(i))
				}
				client := harness.NewClient(t, harness.H1, address, host, nil)
				client.Transport.DisableKeepAlives = true
				if got := k.show(t, client, endpoint, host, place+k.key()); got != k.want {
					t.Errorf("%s: %s, want %s", place, got, k.want)
				}
			}
		})
	}
}

// TestLabels writes each kind as labels, which declare what the file does.
func TestLabels(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		labels := map[string]string{}
		k.label(t, labels, "traefik.http.middlewares.m."+k.key(), k.decoded(t))
		read := new(dynamic.LabelDecoder).Decode(labels)
		if len(read.Wrong)+len(read.Stray)+len(read.Configuration.Verdicts) > 0 {
			t.Errorf("%v: %v %v %v", labels, read.Wrong, read.Stray, read.Configuration.Verdicts)
			continue
		}
		root, err := document.Parse("m.yaml", []byte(fmt.Sprintf("http: {middlewares: {m: {%s: %s}}}", k.name, k.options)))
		if err != nil {
			t.Fatal(err)
		}
		file := new(dynamic.Decoder).Decode("m.yaml", root, false)
		if diff := cmp.Diff(maps.Collect(file.HTTP.Middlewares.All()),
			maps.Collect(read.Configuration.HTTP.Middlewares.All())); diff != "" {
			t.Errorf("%v (-file +labels):\n%s", labels, diff)
		}
	}
}

// label adds the labels for a value.
func (k kind) label(t *testing.T, labels map[string]string, name string, value any) {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 {
			labels[name] = "true"
		}
		for field, below := range value {
			if !strings.Contains(field, "-") { // The names of options have no case, those of headers do.
				field = strings.ToLower(field)
			}
			k.label(t, labels, name+"."+field, below)
		}
	case []any:
		var items []string
		for i, item := range value {
			if _, object := item.(map[string]any); object {
				k.label(t, labels, fmt.Sprintf("%s[%d]", name, i), item)
				continue
			}
			items = append(items, fmt.Sprint(item))
		}
		if len(items) > 0 {
			labels[name] = strings.Join(items, ",")
		}
	default:
		labels[name] = fmt.Sprint(value)
	}
}
