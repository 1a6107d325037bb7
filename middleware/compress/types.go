package compress

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
)

// types selects the content types to compress.
type types struct {
	// included is a complete list if not empty; excluded lists exceptions.
	included, excluded []string
}

func newTypes(included, excluded []string) (types, error) {
	if len(included) > 0 && len(excluded) > 0 {
		return types{},
			errors.New("compress.includedContentTypes and compress.excludedContentTypes are both set; one of them is wanted")
	}
	var t types
	var err error
	if t.included, err = mediaTypes("includedContentTypes", included); err != nil {
		return types{}, err
	}
	t.excluded, err = mediaTypes("excludedContentTypes", excluded)
	return t, err
}

// mediaTypes parses media types, without parameters.
func mediaTypes(option string, texts []string) ([]string, error) {
	var list []string
	for _, text := range texts {
		media, _, err := mime.ParseMediaType(text)
		if err != nil {
			return nil, fmt.Errorf("compress.%s: %q is not a media type: %w", option, text, err)
		}
		main, sub, found := strings.Cut(media, "/")
		if !found || main == "*" && sub != "*" {
			return nil, fmt.Errorf("compress.%s: %q is not a media type, such as text/html or text/*", option, text)
		}
		list = append(list, media)
	}
	return list, nil
}

// allows reports whether a type is compressed. Invalid types are not.
func (t *types) allows(contentType string) bool {
	media := mediaType(contentType)
	main, sub, found := strings.Cut(media, "/")
	switch {
	case !found || main == "" || sub == "" || isGRPC(media):
		return false
	case len(t.included) > 0:
		return among(t.included, media)
	}
	return !among(t.excluded, media) && !dense(main, sub)
}

// refusesRequest reports whether the request's content type rules out compression: its protocol usually includes the
// response.
func (t *types) refusesRequest(header http.Header) bool {
	values := header["Content-Type"]
	if len(values) == 0 {
		return false
	}
	media := mediaType(values[0])
	return isGRPC(media) || among(t.excluded, media)
}

func mediaType(contentType string) string {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.Trim(media, " \t")
}

func among(list []string, media string) bool {
	for _, one := range list {
		if strings.EqualFold(one, media) || one == "*/*" {
			return true
		}
		if main, ranged := strings.CutSuffix(one, "*"); ranged && hasPrefixFold(media, main) {
			return true
		}
	}
	return false
}

// isGRPC reports whether a type is that of gRPC, which has its own compression and framing.
func isGRPC(media string) bool {
	const name = "application/grpc"
	return hasPrefixFold(media, name) && (len(media) == len(name) || media[len(name)] == '+')
}

func hasPrefixFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

// dense reports whether a type is usually compressed already.
func dense(main, sub string) bool {
	main, sub = strings.ToLower(main), strings.ToLower(sub)
	switch main {
	case "video":
		return true
	case "audio":
		switch sub {
		case "wav", "x-wav", "vnd.wave", "midi", "x-midi", "aiff", "x-aiff", "basic", "l16", "mpegurl", "x-mpegurl":
			return false
		}
		return true
	case "image":
		switch sub {
		case "jpeg", "jpg", "pjpeg", "png", "apng", "gif", "webp", "avif", "heic", "heif", "jxl", "jp2", "jpx", "jpm":
			return true
		}
	case "font":
		return sub == "woff" || sub == "woff2"
	case "application":
		return archive(sub)
	}
	return false
}

func archive(sub string) bool {
	switch sub {
	case "zip", "gzip", "x-gzip", "x-bzip", "x-bzip2", "x-xz", "x-lzma", "x-lzip", "zstd", "x-zstd", "x-brotli",
		"x-snappy-framed", "x-compress",
		"x-7z-compressed", "vnd.rar", "x-rar-compressed", "java-archive", "font-woff", "font-woff2", "x-font-woff",
		"vnd.android.package-archive", "vnd.debian.binary-package", "x-rpm", "x-redhat-package-manager":
		return true
	}
	return strings.HasSuffix(sub, "+zip") || strings.HasSuffix(sub, "+gzip") || strings.HasSuffix(sub, "+zstd")
}
