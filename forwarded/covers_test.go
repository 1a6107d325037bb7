package forwarded_test

import (
	"fmt"
	"testing"

	"github.com/sluiceproxy/sluice/forwarded"
)

func TestCoversEveryAddress(t *testing.T) {
	var eighths, countries []string
	for i := range 8 {
		eighths = append(eighths, fmt.Sprintf("%d.0.0.0/3", i*32))
	}
	for i := 0; i < 256; i += 3 {
		countries = append(countries, fmt.Sprintf("%d.0.0.0/8", i), fmt.Sprintf("20%02x::/16", i))
	}
	tests := []struct {
		entries []string
		want    bool
	}{
		{nil, false},
		{[]string{"0.0.0.0/0"}, true},
		{[]string{"203.0.113.9/0"}, true},
		{[]string{"::/0"}, true},
		{[]string{"::ffff:0.0.0.0/96"}, true},
		{[]string{"0.0.0.0/0", "::/0"}, true},
		{[]string{"0.0.0.0/1", "128.0.0.0/1"}, true},
		{[]string{"::/1", "8000::/1"}, true},
		{[]string{"192.0.2.1", "::/1", "10.0.0.0/8"}, true},
		{[]string{"2000::/3"}, true},
		{[]string{"2000::/4", "3000::/4"}, true},
		{[]string{"0.0.0.0/1"}, true},
		{eighths, true},
		{eighths[:4], true},
		{eighths[:3], false},
		{[]string{"64.0.0.0/2", "64.0.0.0/3", "96.0.0.0/3", "64.0.0.0/2"}, false},
		{[]string{"2000::/5"}, false},
		{[]string{"8000::/1"}, false},
		{[]string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fe80::/10"}, false},
		{[]string{"192.0.2.1", "2001:db8::1"}, false},
		{countries, false},
	}
	for _, test := range tests {
		set, err := forwarded.NewTrust(test.entries)
		if err != nil {
			t.Fatal(err)
		}
		if got := set.CoversMost(); got != test.want {
			t.Errorf("%v: every address: %v, want %v", test.entries, got, test.want)
		}
	}
}
