package propagate_test

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/sdk/propagate"
)

// labelValue is the syntax of label values in Kubernetes, with which read tags are compared.
const labelValue = `[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?`

func TestBaggageIsRead(t *testing.T) {
	long := strings.Repeat("a", 63)
	for _, test := range []struct {
		name   string
		fields []string
		want   string
	}{
		{"the only member", []string{"virtual-env=dev.proj1.feature1"}, "dev.proj1.feature1"},
		{"among others", []string{"a=1, virtual-env=dev ,b=2"}, "dev"},
		{"optional white space", []string{"a=1\t,\t virtual-env \t= dev \t; p"}, "dev"},
		{"properties", []string{"virtual-env=dev;p=1;virtual-env=no"}, "dev"},
		{"percent-encoded", []string{"virtual-env=%64ev%2Eone"}, "dev.one"},
		{"several fields", []string{"a=1", "virtual-env=dev"}, "dev"},
		{"the last one counts", []string{"virtual-env=one,virtual-env=two"}, "two"},
		{"the last valid one counts", []string{"virtual-env=one,virtual-env=-"}, "one"},
		{"one character", []string{"virtual-env=a"}, "a"},
		{"all characters", []string{"virtual-env=aZ0-_.9"}, "aZ0-_.9"},
		{"as long as allowed", []string{"virtual-env=" + long}, long},
		{"too long", []string{"virtual-env=" + long + "a"}, ""},
		{"another case", []string{"Virtual-Env=dev"}, ""},
		{"the end of another key", []string{"my-virtual-env=dev"}, ""},
		{"the value of another key", []string{"a=virtual-env=dev"}, ""},
		{"begins with a dot", []string{"virtual-env=.dev"}, ""},
		{"ends with a dot", []string{"virtual-env=dev."}, ""},
		{"encoded comma", []string{"virtual-env=a%2Cb"}, ""},
		{"plus is no space", []string{"virtual-env=a+b"}, ""},
		{"not UTF-8", []string{"virtual-env=a%ff"}, ""},
		{"not encoded", []string{"virtual-env=a%zz"}, ""},
		{"cut off", []string{"virtual-env=a%2"}, ""},
		{"no value", []string{"virtual-env"}, ""},
		{"empty value", []string{"virtual-env="}, ""},
		{"empty", []string{""}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			header := http.Header{"Baggage": test.fields}
			if got := propagate.Tag(propagate.Propagator{}.Extract(context.Background(), header)); got != test.want {
				t.Errorf("read %q, want %q", got, test.want)
			}
		})
	}
}

func TestBaggageIsWritten(t *testing.T) {
	members := strings.Repeat("a=1,", 62) + "a=1"
	for _, test := range []struct {
		name, tag string
		fields    []string
		want      string
	}{
		{"none before", "dev", nil, "virtual-env=dev"},
		{"an empty one before", "dev", []string{" "}, "virtual-env=dev"},
		{"others before", "dev", []string{"a=1;p, b=2"}, "a=1;p, b=2,virtual-env=dev"},
		{"several fields before", "dev", []string{"a=1", "b=%20"}, "a=1,b=%20,virtual-env=dev"},
		{"the member before", "dev", []string{"virtual-env=other,b=2"}, "virtual-env=other,b=2"},
		{"no label value", "what/else", []string{"a=1"}, "a=1"},
		{"64 members", "dev", []string{members}, members + ",virtual-env=dev"},
		{"65 members", "dev", []string{members + ",a=1"}, members + ",a=1"},
		{
			"8192 bytes", "dev",
			[]string{"a=" + strings.Repeat("1", 8174)},
			"a=" + strings.Repeat("1", 8174) + ",virtual-env=dev",
		},
		{"8193 bytes", "dev", []string{"a=" + strings.Repeat("1", 8175)}, "a=" + strings.Repeat("1", 8175)},
	} {
		t.Run(test.name, func(t *testing.T) {
			header := http.Header{}
			if test.fields != nil {
				header["Baggage"] = test.fields
			}
			ctx := propagate.WithTag(context.Background(), test.tag)
			propagate.Propagator{SetBaggage: true}.Inject(ctx, header)
			if got := strings.Join(header.Values("Baggage"), "|"); got != test.want {
				t.Errorf("wrote %q, want %q", got, test.want)
			}
			if got := header.Get("X-Virtual-Env"); got != test.tag {
				t.Errorf("the header is %q", got)
			}
		})
	}
	header := http.Header{}
	propagate.Propagator{}.Inject(propagate.WithTag(context.Background(), "dev"), header)
	if header.Get("Baggage") != "" {
		t.Error("the member was added without the option")
	}
}

// TestTheAliasOfTheRouterReadsTheMember uses the pattern that docs/propagation.md shows.
func TestTheAliasOfTheRouterReadsTheMember(t *testing.T) {
	const pattern, placeholder = `(?:.*,)? *virtual-env=(@)(?:[;,].*)?`, "(@)"
	alias := regexp.MustCompile("^(?:" + strings.Replace(pattern, placeholder, "("+labelValue+")", 1) + ")$")
	for _, before := range []string{"", "a=1", "a=1,b=2;p=3 "} {
		header := http.Header{"Baggage": {before}}
		propagate.Propagator{SetBaggage: true}.Inject(propagate.WithTag(context.Background(), "dev.one"), header)
		match := alias.FindStringSubmatch(header.Get("Baggage"))
		if match == nil || match[1] != "dev.one" {
			t.Errorf("the alias reads %q of %q", match, header.Get("Baggage"))
		}
	}
}

// FuzzBaggage reads arbitrary baggage as a slower parser does, and adds the member to it.
func FuzzBaggage(f *testing.F) {
	for _, seed := range []string{
		"", ",", "virtual-env=dev", "a=1 , virtual-env = %64ev ; p=1,b", "virtual-env=a%2,virtual-env=b", "=,;=%", " 0",
	} {
		f.Add(seed, "dev")
	}
	valid := regexp.MustCompile("^" + labelValue + "$")
	f.Fuzz(func(t *testing.T, list, tag string) {
		p := propagate.Propagator{SetBaggage: true}
		want, found := "", false
		for _, one := range strings.Split(list, ",") {
			pair := strings.SplitN(strings.Split(one, ";")[0], "=", 2)
			if strings.Trim(pair[0], " \t") != "virtual-env" {
				continue
			}
			found = true
			if value, err := url.PathUnescape(strings.Trim(append(pair, "")[1], " \t")); err == nil &&
				len(value) < 64 && valid.MatchString(value) {
				want = value
			}
		}
		header := http.Header{"Baggage": {list}}
		if got := propagate.Tag(p.Extract(context.Background(), header)); got != want {
			t.Fatalf("read %q of %q, want %q", got, list, want)
		}
		p.Inject(propagate.WithTag(context.Background(), tag), header)
		after := header.Get("Baggage")
		added := len(tag) < 64 && valid.MatchString(tag) && !found && strings.Count(list, ",") < 63 && len(list) < 8000
		switch {
		case strings.Trim(list, " \t") != "" && !strings.HasPrefix(after, list):
			t.Fatalf("%q became %q", list, after)
		case added && propagate.Tag(p.Extract(context.Background(), http.Header{"Baggage": {after}})) != tag:
			t.Fatalf("%q was not added to %q: %q", tag, list, after)
		case found && after != list:
			t.Fatalf("%q has the member and became %q", list, after)
		}
	})
}
