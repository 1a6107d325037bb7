package otlp

import "testing"

func TestOnThisMachine(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost:4317": true, "127.0.0.1:4318": true, "127.9.9.9": true, "[::1]:4317": true,
		"[::1]": true, "::1": true,
		"[::ffff:127.0.0.1]:1": true,
		"collector:4317":       false, "localhost.example": false, "192.0.2.1:4317": false, "[2001:db8::1]:4317": false,
		"": false, "0.0.0.0:1": false,
	} {
		if got := onThisMachine(host); got != want {
			t.Errorf("onThisMachine(%q) = %t", host, got)
		}
	}
}
