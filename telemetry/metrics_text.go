package telemetry

import (
	"io"
	"strconv"

	dto "github.com/prometheus/client_model/go"
)

// textBlock is how many bytes of a page are written at once.
const textBlock = 64 << 10

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
	first, labels, pairs := true, []byte(nil), []labelPair(nil)
	s.read(func(value float64, values ...string) {
		if first {
			first = false
			p.family(s.name, s.help, dto.MetricType_GAUGE)
		}
		pairs = pairs[:0]
		for i, name := range s.labels {
			pairs = append(pairs, labelPair{name, values[i]})
		}
		labels = appendLabels(labels[:0], pairs)
		p.sample(s.name, "", labels)
		p.b = strconv.AppendFloat(p.b, value, 'g', -1, 64)
		p.end()
	})
}

// level writes the families of a level.
func (p *plainText) level(r ranks) {
	rows, labels := rowsOf(r, appendLabels)
	if len(rows) == 0 || p.err != nil {
		return
	}
	p.family(r.requests, requestsHelp, dto.MetricType_COUNTER)
	for i := range rows {
		p.requests(r.requests, rows[i].of(labels), rows[i].cell)
	}
	p.secure(r)
	p.family(r.durations, durationsHelp, dto.MetricType_HISTOGRAM)
	for i := range rows {
		p.duration(r.durations, rows[i].of(labels), rows[i].cell)
	}
	p.family(r.received, receivedHelp, dto.MetricType_COUNTER)
	for i := range rows {
		p.count(r.received, "", rows[i].of(labels), rows[i].cell.received.Load())
	}
	p.family(r.sent, sentHelp, dto.MetricType_COUNTER)
	for i := range rows {
		p.count(r.sent, "", rows[i].of(labels), rows[i].cell.sent.Load())
	}
}

// requests writes how many requests a cell has counted.
func (p *plainText) requests(name string, labels []byte, c *cell) {
	if p.labels == nil {
		p.count(name, "", labels, c.native.count())
		return
	}
	p.labels.each(c, func(values []string, count uint64) {
		with := labels
		for i, label := range p.labels.labels {
			with = appendLabel(append(with, ','), label, values[i])
		}
		p.count(name, "", with, count)
	})
}

// duration writes the classic buckets of a cell. They are read before the native ones, whose sum is the count, as read does.
func (p *plainText) duration(name string, labels []byte, c *cell) {
	c.cumulative(p.picked, p.below)
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
	r.eachSecure(func(pairs []labelPair, count uint64) {
		if first {
			first = false
			p.family(r.level.secure, secureHelp, dto.MetricType_COUNTER)
		}
		labels = appendLabels(labels[:0], pairs)
		p.count(r.level.secure, "", labels, count)
	})
}

// appendLabels appends labels with commas between them.
func appendLabels(labels []byte, pairs []labelPair) []byte {
	for i, pair := range pairs {
		if i > 0 {
			labels = append(labels, ',')
		}
		labels = appendLabel(labels, pair.name, pair.value)
	}
	return labels
}

// appendLabel appends a label.
func appendLabel(labels []byte, name, value string) []byte {
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
