// Plots: lines over time, and histograms of durations.

import { el, replace, svg, write } from './dom.js';
import { clock, count, duration, many, span } from './format.js';

const width = 300;
const height = 100;

/** roof rounds up to a round number, for the top of a scale. */
export function roof(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => step * power >= value * 0.999) * power;
}

/** linear is a scale from 0 to a round number: rise is the height of a value, from 0 to 1, and ticks are the labelled heights. */
export function linear(most) {
  const top = roof(most);
  return { rise: (value) => Math.min(value, top) / top, ticks: [0, top / 2, top] };
}

/** decades is a logarithmic scale that ends at powers of ten. */
export function decades(values) {
  const known = values.filter((value) => value > 0);
  const low = Math.floor(Math.log10(known.length ? Math.min(...known) : 1e-3) + 1e-9);
  const high = Math.max(low + 1, Math.ceil(Math.log10(known.length ? Math.max(...known) : 1) - 1e-9));
  const step = Math.ceil((high - low) / 4);
  const ticks = [];
  for (let at = low; at <= high; at += step) ticks.push(10 ** at);
  return { rise: (value) => Math.max(0, (Math.log10(value) - low) / (high - low)), ticks };
}

/** path draws values from left to right, with gaps for NaN. */
export function path(values, rise) {
  let text = '';
  let pen = 'M';
  const last = Math.max(values.length - 1, 1);
  values.forEach((value, i) => {
    if (!Number.isFinite(value)) {
      pen = 'M';
      return;
    }
    const x = ((i / last) * width).toFixed(1);
    const y = (height - rise(value) * height).toFixed(1);
    text += `${pen}${x} ${y}`;
    pen = 'L';
  });
  return text;
}

function area(values, rise) {
  if (values.filter(Number.isFinite).length < 2) return '';
  const from = values.findIndex(Number.isFinite);
  const line = path(values.map((value, i) => (Number.isFinite(value) || i < from ? value : 0)), rise);
  return `${line}L${width} ${height}L${((from / (values.length - 1)) * width).toFixed(1)} ${height}Z`;
}

/**
 * lines returns a plot of lines over the same time: {node, draw(times, columns)}. A line is {name, tone, filled};
 * say formats a value, and tenfold makes the scale logarithmic. The text alternative holds the last values.
 */
export function lines({ label, kinds, say, least = 0, tenfold = false }) {
  const shapes = kinds.map((kind) => ({
    fill: kind.filled ? svg('path', { class: `fill ${kind.tone}` }) : null,
    line: svg('path', { class: `line ${kind.tone}` }),
  }));
  const cross = svg('path', { class: 'cross', d: '' });
  const grid = svg('path', { class: 'grid' });
  const canvas = svg('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    grid, shapes.map((shape) => [shape.fill, shape.line]), cross);
  const heights = el('div', { class: 'heights', 'aria-hidden': 'true' });
  const begun = el('span', {});
  const note = el('div', { class: 'note', hidden: true });
  const node = el('div', { class: 'plot', role: 'img', tabindex: '0', 'aria-label': label }, heights, canvas, el('div', { class: 'times', 'aria-hidden': 'true' }, begun, el('span', {}, 'now')), note);
  let shown = { times: [], columns: [] };

  const hide = () => {
    note.hidden = true;
    cross.setAttribute('d', '');
  };
  let at = -1;
  const point = (index) => {
    const { times, columns } = shown;
    if (!times.length) return;
    at = Math.max(0, Math.min(times.length - 1, index));
    const part = at / Math.max(times.length - 1, 1);
    cross.setAttribute('d', `M${part * width} 0V${height}`);
    note.style.setProperty('--at', part);
    note.hidden = false;
    replace(note, el('b', {}, clock(times[at])), kinds.map((kind, i) =>
      el('span', { class: `key ${kind.tone}` }, `${kind.name} ${columns[i][at] === undefined ? '–' : say(columns[i][at])}`)));
  };
  node.addEventListener('pointermove', (event) => {
    const box = canvas.getBoundingClientRect();
    point(Math.round(((event.clientX - box.left) / box.width) * (shown.times.length - 1)));
  });
  node.addEventListener('pointerleave', hide);
  node.addEventListener('blur', hide);
  node.addEventListener('keydown', (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    point(note.hidden ? shown.times.length - 1 : at + move);
  });

  return {
    node,
    draw(times, columns) {
      shown = { times, columns };
      const all = columns.flat().filter(Number.isFinite);
      const { rise, ticks } = tenfold ? decades(all) : linear(Math.max(least, ...all));
      grid.setAttribute('d', ticks.map((tick) => `M0 ${((1 - rise(tick)) * height).toFixed(1)}H${width}`).join(''));
      replace(heights, ticks.map((tick) => el('span', { vars: { '--at': rise(tick) } }, say(tick))));
      write(begun, times.length ? `${span(Math.round((times[times.length - 1] - times[0]) / 10000) * 10)} ago` : '');
      shapes.forEach((shape, i) => {
        shape.line.setAttribute('d', path(columns[i], rise));
        shape.fill?.setAttribute('d', area(columns[i], rise));
      });
      const words = kinds.map((kind, i) => `${kind.name} ${say(columns[i][columns[i].length - 1] ?? NaN)}`);
      node.setAttribute('aria-label', `${label}: ${words.join(', ')}`);
      if (!note.hidden) point(at);
    },
  };
}

/** padded prepends gaps to a short list, so that the newest value is at the right. */
export function padded(list, length, gap = NaN) {
  return list.length >= length ? list : [...new Array(length - list.length).fill(gap), ...list];
}

/** spark is a sparkline without a scale. */
export function spark(tone) {
  const line = svg('path', { class: `line ${tone}` });
  const fill = svg('path', { class: `fill ${tone}` });
  const node = svg('svg', { class: 'spark', viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' }, fill, line);
  return {
    node,
    draw(values) {
      const { rise } = linear(Math.max(...values.filter(Number.isFinite), 0));
      line.setAttribute('d', path(values, (value) => rise(value) / 1.05));
      fill.setAttribute('d', area(values, (value) => rise(value) / 1.05));
    },
  };
}

/** merged merges buckets by four: two bars for a doubling of the duration. */
export function merged(buckets) {
  const bars = new Map();
  for (const [upper, number] of buckets) {
    const at = Math.ceil(Math.round(Math.log2(upper) * 8) / 4);
    bars.set(at, (bars.get(at) ?? 0) + number);
  }
  const keys = [...bars.keys()].sort((a, b) => a - b);
  if (!keys.length) return [];
  const list = [];
  for (let at = keys[0]; at <= keys[keys.length - 1]; at++) {
    list.push({ lower: 2 ** ((at - 1) / 2), upper: 2 ** (at / 2), number: bars.get(at) ?? 0 });
  }
  return list;
}

/** spread draws a histogram of durations with marks at quantiles. */
export function spread(buckets, marks) {
  const bars = merged(buckets);
  if (!bars.length) return el('p', { class: 'none' }, 'No request yet.');
  const total = bars.reduce((sum, bar) => sum + bar.number, 0);
  const most = Math.max(...bars.map((bar) => bar.number));
  const low = Math.log2(bars[0].lower);
  const high = Math.log2(bars[bars.length - 1].upper);
  const list = el('ol', { class: 'bars', 'aria-label': `How long ${many(total, 'request')} took` }, bars.map((bar) =>
    el('li', { title: `${duration(bar.lower)} to ${duration(bar.upper)}: ${count(bar.number)}`, vars: { '--part': bar.number / most } },
      el('span', { class: 'unseen' }, `${duration(bar.lower)} to ${duration(bar.upper)}: ${count(bar.number)}`))));
  const known = marks.filter((mark) => Number.isFinite(mark.value));
  const rules = known.map((mark, i) =>
    el('span', { class: `mark ${mark.tone} ${Math.log2(mark.value) - low > 0.9 * (high - low) ? 'flip' : ''}`, 'aria-hidden': 'true', vars: { '--at': (Math.log2(mark.value) - low) / (high - low), '--nth': i } }, el('b', {}, mark.name)));
  const legend = el('p', { class: 'facts' }, known.map((mark) => el('span', { class: `key ${mark.tone}` }, `${mark.name} `, el('b', {}, duration(mark.value)))), el('span', {}, many(total, 'request')));
  return el('div', { class: 'spread' }, legend, el('div', { class: 'stage' }, list, rules),
    el('div', { class: 'scale' }, el('span', {}, duration(bars[0].lower)), el('span', {}, duration(2 ** ((low + high) / 2))), el('span', {}, duration(bars[bars.length - 1].upper))));
}
