import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decades, linear, merged, padded, path, roof } from '../../../api/dashboard/static/lib/plot.js';
import { parse, place, placeOf, qualified } from '../../../api/dashboard/static/lib/place.js';
import { example, tokens } from '../../../api/dashboard/static/lib/rule.js';

test('a rule is the sum of its tokens', () => {
  for (const rule of ['Host(`a.example.com`) && !(PathPrefix(`/x`) || Header(`X-A`, `b c`))', 'HostRegexp(`^[a-z]+\\.example$`)', '', 'Host(`open', '&&||!((', 'Path("/a\\"b")', 'Häöst(`ü`)\n\t&& x', '`'.repeat(5)]) {
    assert.equal(tokens(rule).map((token) => token.text).join(''), rule);
  }
  assert.deepEqual(tokens('!Host(`a`)').map((token) => token.kind), ['operator', 'matcher', 'mark', 'value', 'mark']);
});

test('an example of a request that a rule answers', () => {
  assert.deepEqual(example('Host(`a.example.com`) && PathPrefix(`/x`)', true), { method: 'GET', url: 'https://a.example.com/x' });
  assert.deepEqual(example('!Host(`no.example.com`) && Host(`yes.example.com`) && Method(`POST`)', false), { method: 'POST', url: 'http://yes.example.com/' });
  assert.deepEqual(example('PathRegexp(`^/x`)', false), { method: 'GET', url: 'http://example.com/' });
});

test('places lead back to what they were made of', () => {
  for (const name of ['shop@file', 'a/b@x', '<i>%2F@file', 'ü&=?#@file']) {
    const back = parse(place('routers', name, { search: 'a b&c', header: ['A: 1', 'B: 2'], none: '' }));
    assert.equal(back.view, 'routers');
    assert.equal(back.name, name);
    assert.equal(back.query.get('search'), 'a b&c');
    assert.deepEqual(back.query.getAll('header'), ['A: 1', 'B: 2']);
    assert.ok(!back.query.has('none'));
  }
  assert.equal(place('overview'), '#/');
  assert.equal(parse('').view, 'overview');
  assert.equal(parse('#/%E0%A4%A').view, 'overview');
  assert.equal(placeOf('certificate', 'x'), undefined);
  assert.equal(qualified('shop', 'router@docker'), 'shop@docker');
  assert.equal(qualified('shop@file', 'router@docker'), 'shop@file');
});

test('scales have a round top', () => {
  for (const [value, top] of [[0, 1], [NaN, 1], [0.0034, 0.004], [1, 1], [1.01, 1.5], [52, 60], [99, 100]]) assert.equal(roof(value), top, `the top of ${value}`);
});

test('a linear scale begins at nothing', () => {
  assert.deepEqual(linear(52).ticks, [0, 30, 60]);
  assert.deepEqual(linear(52).ticks.map(linear(52).rise), [0, 0.5, 1]);
});

test('a logarithmic scale ends at powers of ten and shows what is short beside what is long', () => {
  const { rise, ticks } = decades([0.0002, NaN, 0.3]);
  assert.deepEqual(ticks.map((tick) => tick.toPrecision(3)), ['0.000100', '0.00100', '0.0100', '0.100', '1.00']);
  assert.ok(rise(0.0002) > 0.05 && rise(0.0002) < 0.1 && rise(0.3) > 0.85, `${rise(0.0002)} and ${rise(0.3)}`);
  assert.equal(Math.round(rise(1) * 1e6), 1e6);
  assert.ok(decades([1e-6, 100]).ticks.length <= 5, 'there are more ticks than there is room for');
  for (const values of [[], [0.1], [0.1, 0.1], [1]]) {
    const scale = decades(values);
    assert.ok(scale.ticks.length >= 2 && scale.ticks.every((tick) => scale.rise(tick) >= 0 && scale.rise(tick) <= 1), `${values}: ${scale.ticks}`);
  }
});

test('lines have gaps where there is no value', () => {
  const { rise } = linear(10);
  assert.equal(path([0, 10], rise), 'M0.0 100.0L300.0 0.0');
  assert.equal(path([NaN, 5, 5], rise), 'M150.0 50.0L300.0 50.0');
  assert.equal(path([5, NaN, 20], rise), 'M0.0 50.0M300.0 0.0');
  assert.deepEqual(padded([1], 3, 0), [0, 0, 1]);
});

test('bars put buckets together and leave none out', () => {
  const bars = merged([[2 ** (-7 / 8), 1], [1, 2], [2 ** (1 / 8), 4], [2 ** (12 / 8), 8]]);
  assert.deepEqual(bars.map((bar) => bar.number), [1, 2, 4, 0, 8]);
  assert.equal(bars.at(-1).upper, 2 ** 1.5);
  assert.deepEqual(merged([]), []);
});
