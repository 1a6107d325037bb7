package servicemanager_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if question := os.Getenv(questionVariable); question != "" {
		child(question)
		return
	}
	goleak.VerifyTestMain(m)
}
