import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Readings, between, quantile, since } from '../../../api/dashboard/static/lib/traffic.js';

const reading = (requests, buckets, other = {}) => ({ name: 'a', requests, clientErrors: 0, serverErrors: 0, bytesReceived: 0, bytesSent: 0, buckets, ...other });

test('quantiles lie within their bucket', () => {
  assert.ok(Number.isNaN(quantile([], 0.5)));
  assert.equal(quantile([[1, 10]], 1), 1);
  const middle = quantile([[1, 10]], 0.5);
  assert.ok(middle > 2 ** (-1 / 8) && middle < 1, `the middle is ${middle}`);
  assert.equal(quantile([[0.5, 90], [2, 10]], 0.9), 0.5);
  assert.ok(quantile([[0.5, 90], [2, 10]], 0.99) > 1.8);
});

test('quantiles of many durations are exact to a bucket', () => {
  const buckets = new Map();
  const values = Array.from({ length: 5000 }, (_, i) => 0.001 * (1 + i));
  for (const value of values) {
    const upper = 2 ** (Math.ceil(Math.log2(value) * 8) / 8);
    buckets.set(upper, (buckets.get(upper) ?? 0) + 1);
  }
  const sorted = [...buckets].sort((a, b) => a[0] - b[0]);
  for (const q of [0.1, 0.5, 0.95, 0.99]) {
    const got = quantile(sorted, q) / (0.001 * 5000 * q);
    assert.ok(got > 0.97 && got < 1.03, `the quantile ${q} is off by ${got}`);
  }
});

test('what came between two readings', () => {
  assert.deepEqual(since([[1, 3], [2, 5]], [[1, 3], [2, 9], [4, 1]]), [[2, 4], [4, 1]]);
  const now = between(reading(10, [[1, 10]]), reading(30, [[1, 10], [2, 20]], { serverErrors: 5, clientErrors: 2, bytesSent: 100 }), 10);
  assert.deepEqual([now.rate, now.errors, now.server, now.client, now.sent], [2, 0.25, 0.5, 0.2, 10]);
  assert.ok(now.p50 > 1.8 && now.p50 < 2);
  assert.equal(between(reading(10, []), reading(3, []), 1), undefined, 'counting that began anew has no rate');
  assert.equal(between(reading(1, []), reading(3, []), 0), undefined);
  assert.equal(between(reading(1, []), reading(1, []), 1).errors, 0);
});

test('readings forget what is long ago', () => {
  const readings = new Readings(10, 60);
  assert.equal(readings.now('a'), undefined);
  for (let i = 0; i <= 100; i++) readings.add(i * 2000, [reading(i * i, [])]);
  readings.add(1, [reading(7, [])]);
  assert.ok(readings.kept.length <= 32, `${readings.kept.length} are kept`);
  assert.equal(readings.now('a').rate, (100 * 100 - 95 * 95) / 10);
  assert.equal(readings.total('a').requests, 10000);
  assert.equal(readings.now('b'), undefined);
  assert.equal(readings.course('a').at(-1).rate, (100 * 100 - 99 * 99) / 2);
});
