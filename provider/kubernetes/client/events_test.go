package client_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// watchEvent returns the event of a Middleware as an API server writes it, without the end of the line.
func watchEvent(kind, name, padding string) string {
	return `{"type":"` + kind + `","object":{"apiVersion":"traefik.io/v1alpha1","kind":"Middleware","metadata":{"name":"` +
		name + `","annotations":{"padding":"` + padding + `"}}}}`
}

// TestEventsOfCustomResources reads watches that are divided into events in several ways.
func TestEventsOfCustomResources(t *testing.T) {
	long := strings.Repeat(`a}\n{\"type\":\"`, 20_000)
	pretty := strings.NewReplacer(`{`, "{\n  ", `}`, "\n}", `,`, ",\n  ").Replace(watchEvent("ADDED", "a", ""))
	for name, test := range map[string]struct {
		body string
		want []string
	}{
		"a line each": {
			watchEvent("ADDED", "a", "") + "\n" + watchEvent("MODIFIED", "b", "x") + "\n" + watchEvent("DELETED", "c", "") +
				"\n" + watchEvent("BOOKMARK", "d", "") + "\n",
			[]string{"ADDED a 0", "MODIFIED b 1", "DELETED c 0", "BOOKMARK d 0"},
		},
		"empty lines": {
			watchEvent("ADDED", "a", "") + "\r\n\n" + watchEvent("ADDED", "b", "") + "\n\n",
			[]string{"ADDED a 0", "ADDED b 0"},
		},
		"longer than the buffer": {
			watchEvent("ADDED", "a", long) + "\n" + watchEvent("ADDED", "b", "") + "\n",
			[]string{"ADDED a 240000", "ADDED b 0"},
		},
		"no end of the last line": {
			watchEvent("ADDED", "a", "") + "\n" + watchEvent("ADDED", "b", ""), []string{"ADDED a 0", "ADDED b 0"},
		},
		"cut off": {
			watchEvent("ADDED", "a", "") + "\n" + watchEvent("ADDED", "b", "")[:60], []string{"ADDED a 0"},
		},
		"several lines for an event": {
			pretty + "\n" + watchEvent("ADDED", "b", ""), []string{"ADDED a 0", "ADDED b 0"},
		},
		"the type last": {
			`{"object":` + strings.TrimSuffix(strings.TrimPrefix(watchEvent("ADDED", "a", ""), `{"type":"ADDED","object":`),
				"}") + `,"type":"ADDED"}` + "\n",
			[]string{"ADDED a 0"},
		},
		"an object that is none": {
			`{"type":"ADDED","object":[1]}` + "\n" + watchEvent("ADDED", "b", "") + "\n", []string{"ERROR"},
		},
		"an error": {
			`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}` +
				"\n", []string{"ERROR Expired"},
		},
		"nothing": {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := watched(t, test.body); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestEventsAtEachLength moves the ends of events and buffers past each other.
func TestEventsAtEachLength(t *testing.T) {
	var body strings.Builder
	var want []string
	for n := range 300 {
		body.WriteString(watchEvent("ADDED", "m", strings.Repeat("x", 16_100+n)) + "\n")
		want = append(want, fmt.Sprintf("ADDED m %d", 16_100+n))
	}
	if got := watched(t, body.String()); !slices.Equal(got, want) {
		t.Errorf("got %d events: %q", len(got), got)
	}
}

// watched returns the events of a watch with a body, each as type, name and length of the padding.
func watched(t *testing.T, body string) (events []string) {
	t.Helper()
	stream, err := customResources(t, body).Get().Namespace("shop").Resource("middlewares").Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		switch object := event.Object.(type) {
		case *v1alpha1.Middleware:
			events = append(events, fmt.Sprintf("%s %s %d", event.Type, object.Name, len(object.Annotations["padding"])))
		case *metav1.Status:
			text := string(event.Type)
			if object.Reason == metav1.StatusReasonExpired {
				text += " " + string(object.Reason)
			}
			events = append(events, text)
		}
		if event.Type == watch.Error {
			return events
		}
	}
	return events
}
