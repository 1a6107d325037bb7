package resource_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/xds/resource"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// services are services of the configuration by their qualified names.
type services map[string]*dynamic.Service

// parse reads the services of a file. Beside these there is set@kubernetes, whose servers are an endpoint set.
func parse(t testing.TB, text string) services {
	t.Helper()
	indented := "http:\n  services:\n    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
	root, err := document.ParseWithDuplicates("f.yaml", []byte(indented))
	if err != nil {
		t.Fatal(err)
	}
	var decoder dynamic.Decoder
	configuration := decoder.Decode("f.yaml", root, false)
	if len(configuration.Verdicts) > 0 {
		t.Fatalf("%v", configuration.Verdicts)
	}
	cluster := &dynamic.ServersLoadBalancer{EndpointSet: "east/shop/cart:80", Scheme: "h2c"}
	found := services{"set@kubernetes": {LoadBalancer: cluster}}
	for name, service := range configuration.HTTP.Services.All() {
		found[name+"@file"] = service
	}
	return found
}

func (s services) lookup(name string) *dynamic.Service { return s[name] }

func (s services) translate(name string) (resource.Bundle, []string, error) {
	return resource.OfService(name, s[name], s.lookup)
}

// resources returns the Listeners, RouteConfigurations and Clusters of a bundle.
func resources(bundle resource.Bundle) []proto.Message {
	var all []proto.Message
	for _, one := range bundle.Listeners {
		all = append(all, one)
	}
	for _, one := range bundle.Routes {
		all = append(all, one)
	}
	for _, one := range bundle.Clusters {
		all = append(all, one)
	}
	return all
}

// wire returns messages in the form in which they are sent.
func wire(t testing.TB, messages ...proto.Message) string {
	t.Helper()
	var out []byte
	for _, message := range messages {
		text, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(out, message)
		if err != nil {
			t.Fatal(err)
		}
		out = text
	}
	return string(out)
}

// validator is implemented by all messages of Envoy's API: the rules of their fields.
type validator interface{ ValidateAll() error }

// valid checks the rules of a message's fields, and those of the messages packed in it.
func valid(t testing.TB, message proto.Message) {
	t.Helper()
	if rules, ok := message.(validator); ok {
		if err := rules.ValidateAll(); err != nil {
			t.Errorf("%T: %v", message, err)
		}
	}
	for _, packed := range packedIn(message) {
		inner, err := packed.UnmarshalNew()
		if err != nil {
			t.Errorf("%T: %v", message, err)
			continue
		}
		valid(t, inner)
	}
}
