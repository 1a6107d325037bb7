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

// page is the name of the file that the browser is led to.
const page = "index.html"

// untitled is what stands in the page where a name may come.
const untitled = "<title>Sluice</title>"

//go:embed static
var content embed.FS

// file is one file as it is sent.
type file struct {
	kind  string // Content-Type
	tag   string // ETag
	plain []byte
	small []byte // plain, with gzip
}

// load reads the files that are part of the binary, and gives the page its title. What cannot be read cannot have been
// built in.
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
	_, _ = writer.Write(plain) // A buffer takes everything.
	_ = writer.Close()
	return file{
		kind:  kind(name),
		tag:   `"` + hex.EncodeToString(sum[:12]) + `"`,
		plain: plain,
		small: small.Bytes(),
	}
}

// kind does not ask the machine's table of types, which may say anything of .js.
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

// serve answers a GET or HEAD. A browser asks each time whether its copy still holds, so that a page is never older
// than its API.
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
		_, _ = w.Write(body) // A client that has left is not our concern.
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

// matches compares weakly, as RFC 9110, section 13.1.2 asks for.
func matches(condition, tag string) bool {
	if condition == "*" {
		return true
	}
	return slices.ContainsFunc(strings.Split(condition, ","), func(one string) bool {
		return strings.TrimPrefix(strings.TrimSpace(one), "W/") == tag
	})
}
