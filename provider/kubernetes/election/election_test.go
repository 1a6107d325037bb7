package election

import "testing"

func TestOwnNamespace(t *testing.T) {
	if name := OwnNamespace(); name == "" {
		t.Error("there is none")
	}
	t.Setenv("POD_NAMESPACE", "edge")
	if name := OwnNamespace(); name != "edge" {
		t.Skipf("this test runs in a pod of namespace %s", name)
	}
}
