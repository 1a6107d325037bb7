package node

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// prefix is the prefix of all annotations.
const prefix = "test.sluice.dev/"

// Values of on-stop.
const (
	polite = "polite"
	exit   = "exit"
	closes = "close"
	hang   = "hang"
)

// wishes is the behaviour requested by a pod's manifest.
type wishes struct {
	process      bool
	ready        bool
	readyAfter   time.Duration
	drain        time.Duration
	onStop       string
	restartAfter time.Duration
}

// read parses a pod's fields and annotations. An error names the annotation.
func read(pod *corev1.Pod) (wishes, error) {
	w := wishes{ready: true, onStop: polite, restartAfter: time.Second}
	for _, container := range pod.Spec.Containers {
		if probe := container.ReadinessProbe; probe != nil {
			w.readyAfter = max(w.readyAfter, time.Duration(probe.InitialDelaySeconds)*time.Second)
		}
		if hooks := container.Lifecycle; hooks != nil && hooks.PreStop != nil && hooks.PreStop.Sleep != nil {
			w.drain = max(w.drain, time.Duration(hooks.PreStop.Sleep.Seconds)*time.Second)
		}
	}
	for key, target := range map[string]*time.Duration{
		"ready-after": &w.readyAfter, "drain": &w.drain, "restart-after": &w.restartAfter,
	} {
		if text, ok := pod.Annotations[prefix+key]; ok {
			duration, err := time.ParseDuration(text)
			if err != nil {
				return w, fmt.Errorf("annotation %s%s: %w", prefix, key, err)
			}
			*target = duration
		}
	}
	if text, ok := pod.Annotations[prefix+"ready"]; ok {
		ready, err := strconv.ParseBool(text)
		if err != nil {
			return w, fmt.Errorf("annotation %sready: %w", prefix, err)
		}
		w.ready = ready
	}
	switch text := pod.Annotations[prefix+"run"]; text {
	case "", "inside":
	case "process":
		w.process = true
	default:
		return w, fmt.Errorf("annotation %srun: %q is neither inside nor process", prefix, text)
	}
	switch text := pod.Annotations[prefix+"on-stop"]; text {
	case "":
	case polite, exit, closes, hang:
		w.onStop = text
	default:
		return w, fmt.Errorf("annotation %son-stop: unknown value %q", prefix, text)
	}
	return w, nil
}
