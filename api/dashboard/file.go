package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
)

// page is the file that redirects lead to.
const page = "index.html"

// untitled is the placeholder for the title in the page.
const untitled = "<title>Sluice</title>"

//go:embed static
var content embed.FS

type file struct {
	kind  string // Content-Type
	tag   string // ETag
	plain []byte
	small []byte // identity and gzip encoding
}

// load reads the embedded files and sets the page's title. Errors are impossible after a successful build.
func load(name string) map[string]file {
	found := map[string]file{}
	_ = fs.WalkDir(content, "static", func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		plain, err := content.ReadFile(at)
		if err != nil {
			return err
		}
		short := strings.TrimPrefix(at, "static/")
		if short == page && name != "" {
			title := "<title>" + html.EscapeString(name) + " · Sluice</title>"
			plain = bytes.Replace(plain, []byte(untitled), []byte(title), 1)
		}
		found[short] = newFile(at, plain)
		return nil
	})
	return found
}

func newFile(name string, plain []byte) file {
	sum := sha256.Sum256(plain)
	var small bytes.Buffer
	writer := gzip.NewWriter(&small)
	_, _ = writer.Write(plain) // Writes to memory do not fail.
	_ = writer.Close()
	return file{
		kind:  kind(name),
		tag:   `"` + hex.EncodeToString(sum[:12]) + `"`,
		plain: plain,
		small: small.Bytes(),
	}
}

// kind returns the media type. The system's table of types is not used, since it may define .js differently.
func kind(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}

// serve answers GET or HEAD. Browsers revalidate each time, so that the page matches its API.
func (f file) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-cache")
	header.Set("Vary", "Accept-Encoding")
	body, tag := f.plain, f.tag
	if accepts(r.Header) {
		body, tag = f.small, strings.TrimSuffix(tag, `"`)+`-gzip"`
		header.Set("Content-Encoding", "gzip")
	}
	header.Set("ETag", tag)
	if matches(r.Header.Get("If-None-Match"), tag) {
		header.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Type", f.kind)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may have gone
	}
}

// accepts reports whether the client takes gzip (RFC 9110, section 12.5.3).
func accepts(header http.Header) bool {
	for field := range strings.SplitSeq(strings.Join(header.Values("Accept-Encoding"), ","), ",") {
		coding, parameters, err := mime.ParseMediaType(strings.TrimSpace(field))
		if err != nil || coding != "gzip" {
			continue
		}
		weight, weighed := parameters["q"]
		quality, err := strconv.ParseFloat(weight, 64)
		return !weighed || err == nil && quality > 0
	}
	return false
}

// matches does the weak comparison of RFC 9110, section 13.1.2.
func matches(condition, tag string) bool {
	if condition == "*" {
		return true
	}
	return slices.ContainsFunc(strings.Split(condition, ","), func(one string) bool {
		return strings.TrimPrefix(strings.TrimSpace(one), "W/") == tag
	})
}
