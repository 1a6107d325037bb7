package propagate_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/sluiceproxy/sluice/sdk/propagate"
)

// An application that serves HTTP and calls another service while it does.
func Example() {
	orders := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "orders in %s", r.Header.Get("X-Virtual-Env"))
	}))
	defer orders.Close()

	p := propagate.Propagator{DefaultTag: propagate.TagFromEnvironment()}
	client := &http.Client{Transport: p.Transport(nil)}
	shop := httptest.NewServer(p.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, orders.URL, nil)
		if err != nil {
			panic(err)
		}
		response, err := client.Do(request)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer func() { _ = response.Body.Close() }()
		_, _ = io.Copy(w, response.Body)
	})))
	defer shop.Close()

	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, shop.URL, nil)
	if err != nil {
		panic(err)
	}
	request.Header.Set("X-Virtual-Env", "dev.proj1.feature1")
	response, err := shop.Client().Do(request)
	if err != nil {
		panic(err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(os.Stdout, response.Body)
	// Output: orders in dev.proj1.feature1
}

// A message of a queue carries the tag in a field of its own.
func ExampleWithTag() {
	ctx := propagate.WithTag(context.Background(), "dev.proj1")
	_, _ = fmt.Fprintln(os.Stdout, propagate.Tag(ctx))
	// Output: dev.proj1
}

// Other carriers than HTTP and gRPC need the methods Values and Set.
func ExamplePropagator_Inject() {
	p := propagate.Propagator{SetBaggage: true}
	carrier := http.Header{"Baggage": {"user=alice"}}
	p.Inject(propagate.WithTag(context.Background(), "dev.proj1"), carrier)
	_, _ = fmt.Fprintln(os.Stdout, carrier.Get("X-Virtual-Env"), carrier.Get("baggage"))
	// Output: dev.proj1 user=alice,virtual-env=dev.proj1
}

// A name of two labels, a Service and its namespace, is added to the hosts that get the tag.
func ExampleInternalHosts() {
	internal := propagate.InternalHosts("cluster.local")
	p := propagate.Propagator{AllowHost: func(host string) bool {
		return internal(host) || host == "web.shop"
	}}
	_, _ = fmt.Fprintln(os.Stdout, p.Allows("web"), p.Allows("web.shop"), p.Allows("example.com"))
	// Output: true true false
}
