package registration

import (
	"cmp"
	"fmt"
	"os"
	"strings"
)

// maxPodName is how much of the name of a pod is in the name of its Lease, which has 253 characters at most.
const maxPodName = 128

// Identity returns what distinguishes this process from the other replicas: name and UID of its pod, which the
// environment variables POD_NAME and POD_UID have, so that a container that is started again is the same replica.
// Without them it is the name of the host, which several pods in the network of a node share, and the process id.
func Identity() (string, error) {
	pod, uid := os.Getenv("POD_NAME"), os.Getenv("POD_UID")
	if uid != "" {
		return strings.Trim(label(pod[:min(len(pod), maxPodName)])+"-"+label(uid), "-"), nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("the name of this host: %w", err)
	}
	host = cmp.Or(pod, host)
	return fmt.Sprintf("%s-%d", label(host[:min(len(host), maxPodName)]), os.Getpid()), nil
}

// label returns a text as a part of the name of an object.
func label(text string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(text)), "-")
}
