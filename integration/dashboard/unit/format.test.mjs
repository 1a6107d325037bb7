import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ago, bytes, count, duration, many, percent, rate, span, tail } from '../../../api/dashboard/static/lib/format.js';

const table = (say, rows) => {
  for (const [value, text] of rows) assert.equal(say(value), text, `${say.name}(${value})`);
};

test('counts', () => table(count, [[0, '0'], [12, '12'], [10002, '10,002'], [99999, '99,999'], [123456, '123 k'], [1234567, '1.23 M'], [999600, '1.00 M'], [5e12, '5.00 T']]));
test('rates', () => table(rate, [[0, '0'], [0.004, '<0.01'], [0.5, '0.50'], [9.996, '10.0'], [42.35, '42.4'], [412.4, '412'], [1234, '1.23 k'], [NaN, '–'], [undefined, '–']]));
test('bytes', () => table(bytes, [[0, '0 B'], [999, '999 B'], [1000, '1.00 kB'], [5.1e9, '5.10 GB']]));
test('durations', () => table(duration, [[0, '0'], [0.00000042, '0.42 µs'], [0.00084, '840 µs'], [0.0124, '12.4 ms'], [0.9999, '1.00 s'], [1.2, '1.20 s'], [300, '5 min'], [NaN, '–'], [undefined, '–']]));
test('spans', () => table(span, [[-1, '0 s'], [59, '59 s'], [60, '1 min'], [3599, '59 min'], [3600, '1 h'], [5400, '1 h 30 min'], [86399, '23 h'], [200000, '2 d']]));
test('parts', () => table(percent, [[0, '0 %'], [0.00001, '<0.01 %'], [0.0004, '0.04 %'], [0.125, '12.5 %'], [0.1, '10 %'], [0.9, '90 %'], [0.07, '7 %'], [0.9999, '>99.9 %'], [1, '100 %'], [NaN, '–']]));
test('moments', () => {
  assert.equal(ago(1000, 1500), 'now');
  assert.equal(ago(0, 90000), '1 min ago');
});
test('words', () => {
  assert.equal(many(1, 'router'), '1 router');
  assert.equal(many(0, 'object is', 'objects are'), '0 objects are');
  assert.equal(tail('/etc/shop.yaml:3', 16), '/etc/shop.yaml:3');
  assert.equal(tail('/etc/shop.yaml:3', 12), '…shop.yaml:3');
});
