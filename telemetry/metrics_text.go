package telemetry

import (
	"crypto/tls"
	"io"
	"strconv"
	"sync/atomic"

	dto "github.com/prometheus/client_model/go"
)

const (
	// textBlock is how many bytes of a page are written at once.
	textBlock = 64 << 10
	// ownLabels is how many bytes of labels each cell is given room for at first.
	ownLabels = 128
)

// plainText writes metrics in Prometheus' text format.
type plainText struct {
	out io.Writer
	b   []byte
	err error
	// bounds are the upper bounds of the view's buckets, as they are written; below is memory to add up counts in.
	bounds []string
	picked []int
	below  []uint64
	labels *headerLabels
}

// row is a cell with its labels, which are in memory that rows share.
type row struct {
	cell     *cell
	from, to int
}

// write writes what families would return.
func (v *view) write(to io.Writer, s sight) error {
	p := &plainText{out: to, b: make([]byte, 0, 2*textBlock), picked: v.picked, labels: v.metrics.labels, below: make([]uint64, len(v.picked))}
	for _, bound := range v.options.Buckets {
		p.bounds = append(p.bounds, strconv.FormatFloat(bound, 'g', -1, 64))
	}
	for _, standing := range v.metrics.standings() {
		p.standing(standing)
	}
	for _, ranks := range s.levels {
		p.level(ranks)
	}
	p.flush()
	return p.err
}

// flush writes what has gathered.
func (p *plainText) flush() {
	if p.err == nil {
		_, p.err = p.out.Write(p.b)
	}
	p.b = p.b[:0]
}

// family begins a family.
func (p *plainText) family(name, help string, kind dto.MetricType) {
	kinds := map[dto.MetricType]string{
		dto.MetricType_COUNTER: "counter", dto.MetricType_GAUGE: "gauge", dto.MetricType_HISTOGRAM: "histogram",
	}
	p.b = append(append(append(append(append(p.b, "# HELP "...), name...), ' '), help...), '\n')
	p.b = append(append(append(append(append(p.b, "# TYPE "...), name...), ' '), kinds[kind]...), '\n')
}

// end ends a line.
func (p *plainText) end() {
	p.b = append(p.b, '\n')
	if len(p.b) >= textBlock {
		p.flush()
	}
}

// sample begins a line that has a value.
func (p *plainText) sample(name, suffix string, labels []byte) {
	p.b = append(append(append(append(append(p.b, name...), suffix...), '{'), labels...), "} "...)
}

// count writes a line with a count.
func (p *plainText) count(name, suffix string, labels []byte, count uint64) {
	p.sample(name, suffix, labels)
	p.b = strconv.AppendUint(p.b, count, 10)
	p.end()
}

// standing writes a family of gauges.
func (p *plainText) standing(s standing) {
	first, labels := true, []byte(nil)
	s.read(func(value float64, values ...string) {
		if first {
			first = false
			p.family(s.name, s.help, dto.MetricType_GAUGE)
		}
		labels = labels[:0]
		for i, name := range s.labels {
			labels = appendLabel(labels, name, values[i])
		}
		p.sample(s.name, "", labels)
		p.b = strconv.AppendFloat(p.b, value, 'g', -1, 64)
		p.end()
	})
}

// level writes the families of a level.
func (p *plainText) level(r ranks) {
	rows, labels := rowsOf(r)
	if len(rows) == 0 || p.err != nil {
		return
	}
	p.family(r.requests, requestsHelp, dto.MetricType_COUNTER)
	for _, row := range rows {
		p.requests(r.requests, labels[row.from:row.to], row.cell)
	}
	p.secure(r)
	p.family(r.durations, durationsHelp, dto.MetricType_HISTOGRAM)
	for _, row := range rows {
		p.duration(r.durations, labels[row.from:row.to], row.cell)
	}
	p.family(r.received, receivedHelp, dto.MetricType_COUNTER)
	for _, row := range rows {
		p.count(r.received, "", labels[row.from:row.to], row.cell.received.Load())
	}
	p.family(r.sent, sentHelp, dto.MetricType_COUNTER)
	for _, row := range rows {
		p.count(r.sent, "", labels[row.from:row.to], row.cell.sent.Load())
	}
}

// rowsOf returns the cells of a level, and the memory of their labels.
func rowsOf(r ranks) (rows []row, labels []byte) {
	rows = make([]row, 0, len(r.series))
	labels = make([]byte, 0, ownLabels*len(r.series))
	for _, s := range r.series {
		s.cells.sorted(func(key uint64, c *cell) {
			from := len(labels)
			labels = appendFirst(labels, "code", strconv.Itoa(keyStatus(key)))
			if r.kind == TrafficEntrypoints {
				labels = appendLabel(labels, r.label, s.name)
			}
			labels = appendLabel(labels, "method", methodName(keyMethod(key)))
			labels = appendLabel(labels, "protocol", protocolName(keyProtocol(key)))
			if r.kind != TrafficEntrypoints {
				labels = appendOwn(labels, r.level, s)
			}
			rows = append(rows, row{c, from, len(labels)})
		})
	}
	return rows, labels
}

// appendOwn appends the labels that are a series' own.
func appendOwn(labels []byte, l level, s *Series) []byte {
	labels = appendLabel(labels, l.label, s.name)
	if s.router {
		labels = appendLabel(labels, "service", s.service)
	}
	return labels
}

// requests writes how many requests a cell has counted.
func (p *plainText) requests(name string, labels []byte, c *cell) {
	counts := c.combinations.Load()
	if p.labels == nil || counts == nil {
		if p.labels == nil {
			p.count(name, "", labels, c.native.count())
		}
		return
	}
	known := p.labels.known.Load()
	for i := range counts {
		count := counts[i].Load()
		if count == 0 || i >= len(known.values) {
			continue
		}
		with := labels[:len(labels):len(labels)]
		for j, label := range p.labels.labels {
			with = appendLabel(with, label, known.values[i][j])
		}
		p.count(name, "", with, count)
	}
}

// duration writes the classic buckets of a cell. They are read before the native ones, whose sum is the count, as read does.
func (p *plainText) duration(name string, labels []byte, c *cell) {
	sum, at := uint64(0), 0
	for i := range c.classic {
		sum += c.classic[i].Load()
		if at < len(p.picked) && p.picked[at] == i {
			p.below[at] = sum
			at++
		}
	}
	count := c.native.count()
	for i, bound := range p.bounds {
		p.bucket(name, labels, bound, p.below[i])
	}
	p.bucket(name, labels, "+Inf", count)
	p.sample(name, "_sum", labels)
	p.b = strconv.AppendFloat(p.b, float64(c.ticks.Load())*tick.Seconds(), 'g', -1, 64)
	p.end()
	p.count(name, "_count", labels, count)
}

func (p *plainText) bucket(name string, labels []byte, bound string, count uint64) {
	p.b = append(append(append(append(p.b, name...), "_bucket{"...), labels...), ",le=\""...)
	p.b = append(append(p.b, bound...), "\"} "...)
	p.b = strconv.AppendUint(p.b, count, 10)
	p.end()
}

// secure writes how many requests came over TLS.
func (p *plainText) secure(r ranks) {
	first, labels := true, []byte(nil)
	for _, s := range r.series {
		s.secure.sorted(func(key uint64, count *atomic.Uint64) {
			if first {
				first = false
				p.family(r.level.secure, secureHelp, dto.MetricType_COUNTER)
			}
			labels = appendOwn(labels[:0], r.level, s)
			labels = appendLabel(labels, "tls_cipher", tls.CipherSuiteName(uint16(key)))
			labels = appendLabel(labels, "tls_version", TLSVersionName(uint16(key>>16)))
			p.count(r.level.secure, "", labels, count.Load())
		})
	}
}

// appendLabel appends a label, with a comma before it where it is not the first.
func appendLabel(labels []byte, name, value string) []byte {
	if len(labels) > 0 {
		labels = append(labels, ',')
	}
	return appendFirst(labels, name, value)
}

// appendFirst appends a label.
func appendFirst(labels []byte, name, value string) []byte {
	labels = append(append(labels, name...), "=\""...)
	value = text(value)
	for i := range len(value) {
		switch c := value[i]; c {
		case '\\', '"':
			labels = append(labels, '\\', c)
		case '\n':
			labels = append(labels, "\\n"...)
		default:
			labels = append(labels, c)
		}
	}
	return append(labels, '"')
}
