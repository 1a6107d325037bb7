package file

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
)

// source is the state of one file.
type source struct {
	// digest is that of the text of good.
	digest [sha256.Size]byte
	// good is the last valid state; nil if there was none.
	good *dynamic.Configuration
	// emptySince is when the file was first seen without content after it had some.
	emptySince time.Time
	// finding explains why the current text is not used; nil if it is. refusedSince is when the first such text came after
	// good.
	finding      *dynamic.Verdict
	refusedSince time.Time
}

// update reads a file and reports whether its state has changed.
func (p *Provider) update(ctx context.Context, path string) (changed bool) {
	known := p.files[path]
	if known == nil {
		known = &source{}
		p.files[path] = known
	}
	text, rendered, err := p.text(ctx, path)
	if err != nil {
		return known.refuse(path, rendered, err)
	}
	if p.doubts(known, text) {
		return false
	}
	changed = known.finding != nil
	digest := sha256.Sum256(text)
	if known.good != nil && digest == known.digest {
		known.finding = nil
		return changed
	}
	if rendered && p.config.DebugLogGeneratedTemplate {
		p.logger.Debug("template generated", "file", path, "content", redact(string(text)))
	}
	root, err := document.ParseWithDuplicates(path, text)
	if err == nil && root.Kind != document.Map && root.Kind != document.Null {
		// A partly written file may be a scalar; its text is not repeated.
		err = &document.Error{File: path, Line: root.Line, Reason: fmt.Sprintf("expected a map, got %s", root.Kind)}
	}
	if err != nil {
		return known.refuse(path, rendered, err)
	}
	root, foreign := root.Split(static.Sections())
	known.digest, known.good, known.finding = digest, p.decoder.Decode(path, root, rendered), nil
	if len(foreign) > 0 && !p.isStatic(path) {
		known.good.Verdicts = append(known.good.Verdicts, p.misplaced(path, foreign, rendered)...)
	}
	return true
}

// isStatic reports whether a file is that of the static configuration too.
func (p *Provider) isStatic(path string) bool {
	own, err := os.Stat(path)
	if err != nil || p.staticFile == "" {
		return false
	}
	other, err := os.Stat(p.staticFile)
	return err == nil && os.SameFile(own, other)
}

// misplaced returns a verdict for each section of the static configuration in a file of the dynamic one.
func (p *Provider) misplaced(path string, sections []document.Field, rendered bool) []dynamic.Verdict {
	place := "a file that --configFile names"
	if p.staticFile != "" {
		place = p.staticFile
	}
	verdicts := make([]dynamic.Verdict, len(sections))
	for i, section := range sections {
		verdicts[i] = dynamic.Verdict{
			Ref:    dynamic.Ref{Kind: dynamic.KindSource, Name: path},
			Origin: dynamic.Origin{File: path, Line: section.Line, Rendered: rendered},
			Status: dynamic.Degraded,
			Code:   dynamic.CodeIneffectiveOption,
			Reason: section.Key + " belongs to the static configuration and has no effect here; move it to " + place,
		}
	}
	return verdicts
}

// doubts reports whether a file that had content has been empty for a short time only.
func (p *Provider) doubts(known *source, text []byte) bool {
	if len(text) > 0 || known.good == nil || known.good.Origins.IsZero() {
		known.emptySince = time.Time{}
		return false
	}
	if known.emptySince.IsZero() {
		known.emptySince = time.Now()
	}
	doubtful := time.Since(known.emptySince) < emptyRounds*p.settle
	p.doubtful = p.doubtful || doubtful
	return doubtful
}

// errUnreadable is the cause of errors on files that could not be read.
var errUnreadable = errors.New("cannot be read")

// refuse records why the current text is not used.
func (s *source) refuse(path string, rendered bool, err error) (changed bool) {
	verdict := dynamic.Verdict{
		Ref:    dynamic.Ref{Kind: dynamic.KindSource, Name: path},
		Origin: dynamic.Origin{File: path, Rendered: rendered},
		Status: dynamic.Quarantined,
		Code:   dynamic.CodeInvalidSource,
		Reason: reason(err),
	}
	if at, ok := errors.AsType[*document.Error](err); ok {
		verdict.Origin.Line, verdict.Reason = at.Line, at.Reason
	}
	if errors.Is(err, errUnreadable) {
		verdict.Code = dynamic.CodeUnreadableSource
	}
	if s.good != nil {
		if s.finding == nil {
			s.refusedSince = time.Now()
		}
		verdict.Status, verdict.Since = dynamic.Retained, s.refusedSince
	}
	if s.finding != nil && *s.finding == verdict {
		return false
	}
	s.finding = &verdict
	return true
}

// text reads a file and renders it if it is a template.
func (p *Provider) text(ctx context.Context, path string) (text []byte, rendered bool, err error) {
	text, err = p.load(path)
	if err != nil || !bytes.Contains(text, []byte("{{")) {
		return text, false, err
	}
	text, err = render(ctx, path, text, p.maxSize)
	return text, err == nil, err
}

// load reads a regular file up to the limit. Opening other kinds of files might block.
func (p *Provider) load(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", errUnreadable, reason(err))
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%w: it is a directory; name it with providers.file.directory", errUnreadable)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is not a regular file", errUnreadable)
	}
	if info.Size() > p.maxSize {
		return nil, fmt.Errorf("has %d bytes, more than the %d that are read", info.Size(), p.maxSize)
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", errUnreadable, reason(err))
	}
	defer func() { _ = in.Close() }()
	var out bytes.Buffer
	out.Grow(int(info.Size()) + bytes.MinRead)
	if _, err := out.ReadFrom(io.LimitReader(in, p.maxSize+1)); err != nil {
		return nil, fmt.Errorf("%w: %s", errUnreadable, reason(err))
	}
	if int64(out.Len()) > p.maxSize {
		return nil, fmt.Errorf("grows beyond the %d bytes that are read", p.maxSize)
	}
	return out.Bytes(), nil
}
