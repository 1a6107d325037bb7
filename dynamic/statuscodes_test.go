package dynamic

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// members lists the codes of a set, from well below to well above what HTTP has.
func members(codes StatusCodes) []int {
	var all []int
	for code := -1; code <= 1100; code++ {
		if codes.Contains(code) {
			all = append(all, code)
		}
	}
	return all
}

func span(from, to int) []int {
	var all []int
	for code := from; code <= to; code++ {
		all = append(all, code)
	}
	return all
}

func TestParseStatusCodes(t *testing.T) {
	for _, test := range []struct {
		name string
		list []string
		want []int
	}{
		{"none", nil, nil},
		{"one", []string{"502"}, []int{502}},
		{"the ends", []string{"100", "599"}, []int{100, 599}},
		{"all", []string{"100-599"}, span(100, 599)},
		{"over the borders of words", []string{"163-165", "227-229"}, []int{163, 164, 165, 227, 228, 229}},
		{"a class", []string{"5xx", "4XX"}, span(400, 599)},
		{"commas and spaces, as in labels", []string{" 404 ,500 - 502"}, []int{404, 500, 501, 502}},
		{"twice", []string{"500-502", "501-503"}, span(500, 503)},
		{"a range of one", []string{"500-500"}, []int{500}},
	} {
		t.Run(test.name, func(t *testing.T) {
			codes, err := ParseStatusCodes(test.list)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, members(codes)); diff != "" {
				t.Errorf("codes (-want +got):\n%s", diff)
			}
			if codes.Empty() != (len(test.want) == 0) {
				t.Errorf("empty: %v", codes.Empty())
			}
			reversed := slices.Clone(test.list)
			slices.Reverse(reversed)
			if other, _ := ParseStatusCodes(reversed); other != codes {
				t.Error("the order makes a difference")
			}
		})
	}
}

func TestParseStatusCodesRefuses(t *testing.T) {
	const form = "is no status code from 100 to 599, no range such as 500-599 and no class such as 5xx"
	for entry, want := range map[string]string{
		"": form, "5": form, "50": form, "5000": form, "099": form, "99": form, "600": form, "0xx": form, "6xx": form,
		"xxx": form,
		"5x":  form, "50x": form, "+50": form, "-500": form, "500-": form, "500-600": form, "500,": form, "500-501-502": form,
		"5xx-6xx": form,
		"５００":     form, "all": form,
		"599-500": `is a range that ends before it begins, did you mean "500-599"?`,
	} {
		codes, err := ParseStatusCodes([]string{"404", entry})
		if err == nil || err.Error() != `status "`+entry+`": `+want || !codes.Empty() {
			t.Errorf("%q: %v with %v, want %s", entry, err, members(codes), want)
		}
	}
}

// FuzzParseStatusCodes asserts that whatever is accepted is made of codes that HTTP has, and that an error names the
// entry.
func FuzzParseStatusCodes(f *testing.F) {
	for _, seed := range []string{"502", "500-599", "5xx", "404,500-502", "", "-", ",", "xx", "599-500", "9xx"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		codes, err := ParseStatusCodes([]string{entry})
		all := members(codes)
		switch {
		case err != nil && (len(all) > 0 || !strings.HasPrefix(err.Error(), "status ")):
			t.Errorf("%q: %v with %v", entry, err, all)
		case err == nil && (len(all) == 0 || all[0] < 100 || all[len(all)-1] > 599):
			t.Errorf("%q: %v", entry, all)
		}
	})
}
