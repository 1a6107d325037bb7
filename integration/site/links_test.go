package site

import (
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// page is one page of the built site.
type page struct {
	ids map[string]bool
	// links are what readers follow; resources are what browsers fetch by themselves.
	links, resources []string
}

// testLinks demands that every link within the site leads to a page and a heading that exist, that browsers fetch
// nothing from elsewhere, and that pages show the version.
func testLinks(t *testing.T, out string) {
	pages := map[string]page{}
	err := filepath.WalkDir(out, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".html" {
			return err
		}
		relative, err := filepath.Rel(out, name)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if !strings.Contains(string(text), version) {
			t.Errorf("%s does not show the version", relative)
		}
		node, err := html.Parse(strings.NewReader(string(text)))
		pages["/"+filepath.ToSlash(relative)] = read(node)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 50 {
		t.Fatalf("the site has only %d pages", len(pages))
	}
	for name, one := range pages {
		for _, resource := range one.resources {
			if fault := follow(out, pages, name, resource); fault != "" {
				t.Errorf("%s: %s: %s", name, resource, fault)
			}
			if location, err := url.Parse(resource); err != nil || location.Host != "" {
				t.Errorf("%s: fetches %s from another host", name, resource)
			}
		}
		for _, link := range one.links {
			if fault := follow(out, pages, name, link); fault != "" {
				t.Errorf("%s: links to %s: %s", name, link, fault)
			}
		}
	}
}

// read collects what the checks need of a page.
func read(node *html.Node) page {
	found := page{ids: map[string]bool{}}
	for one := range node.Descendants() {
		if one.Type != html.ElementNode {
			continue
		}
		for _, attribute := range one.Attr {
			switch {
			case attribute.Key == "id":
				found.ids[attribute.Val] = true
			case attribute.Key == "href" && one.Data == "a":
				found.links = append(found.links, attribute.Val)
			case attribute.Key == "href" || attribute.Key == "src":
				found.resources = append(found.resources, attribute.Val)
			}
		}
	}
	slices.Sort(found.links)
	found.links = slices.Compact(found.links)
	return found
}

// follow returns what is wrong with a link of a page; empty if nothing is. Links to other sites are not followed.
func follow(out string, pages map[string]page, from, link string) string {
	location, err := url.Parse(link)
	switch {
	case err != nil:
		return err.Error()
	case location.Scheme != "" || location.Host != "":
		return ""
	}
	target := location.Path
	switch {
	case target == "":
		target = from
	case !strings.HasPrefix(target, "/"):
		target = path.Join(path.Dir(from), target)
	}
	if strings.HasSuffix(target, "/") {
		target += "index.html"
	}
	if path.Ext(target) != ".html" {
		if _, err := os.Stat(filepath.Join(out, filepath.FromSlash(target))); err != nil {
			return "there is no such file"
		}
		return ""
	}
	other, exists := pages[target]
	switch {
	case !exists:
		return "there is no such page"
	case location.Fragment != "" && !other.ids[location.Fragment]:
		return "the page has no such heading"
	}
	return ""
}
