package dynamic_test

import (
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

func TestPriorityClassesByName(t *testing.T) {
	classes := []dynamic.PriorityClass{
		dynamic.PriorityLow, dynamic.PriorityDefault, dynamic.PriorityHigh, dynamic.PriorityCritical,
	}
	for i, class := range classes {
		if parsed, err := dynamic.ParsePriorityClass(class.String()); err != nil || parsed != class {
			t.Errorf("%s is read as %s: %v", class, parsed, err)
		}
		if i > 0 && classes[i-1] >= class {
			t.Errorf("%s is not below %s", classes[i-1], class)
		}
	}
	if class, err := dynamic.ParsePriorityClass(""); err != nil || class != dynamic.PriorityDefault {
		t.Errorf("no name is %s: %v", class, err)
	}
	var zero dynamic.PriorityClass
	if zero != dynamic.PriorityDefault {
		t.Errorf("the zero value is %s", zero)
	}
}

func TestUnknownPriorityClasses(t *testing.T) {
	for _, name := range []string{"High", "urgent", " low", "1"} {
		class, err := dynamic.ParsePriorityClass(name)
		want := `priorityClass "` + name + `" is none of low, default, high, critical`
		if err == nil || err.Error() != want || class != dynamic.PriorityDefault {
			t.Errorf("%q is %s: %v, want %s", name, class, err, want)
		}
	}
	if got := dynamic.PriorityClass(9).String(); got != "PriorityClass(9)" {
		t.Error(got)
	}
}
