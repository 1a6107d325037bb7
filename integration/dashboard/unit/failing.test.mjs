import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Readings } from '../../../api/dashboard/static/lib/traffic.js';

// What the page reads of the browser when its modules are loaded.
globalThis.document ??= { baseURI: 'http://sluice.test/dashboard/' };
const { cause, failingOf } = await import('../../../api/dashboard/static/view/failing.js');
const { summary } = await import('../../../api/dashboard/static/view/overview.js');
const { failedEndpoints } = await import('../../../api/dashboard/static/view/findings.js');
const { ranked } = await import('../../../api/dashboard/static/view/keys.js');
const { children, shares } = await import('../../../api/dashboard/static/lib/tree.js');

const reading = (name, requests, serverErrors) => ({ name, requests, serverErrors, clientErrors: 0, bytesReceived: 0, bytesSent: 0, buckets: [] });
const endpoint = (address, state, connectFailures = 0, reason = '') => ({ address, connectFailures, pools: [{ service: 'shop@file', state, reason, slowStart: 1 }] });

test('services fail by the part of 5xx, the worst first', () => {
  const readings = new Readings();
  readings.add(0, ['well', 'half', 'down', 'rare'].map((name) => reading(name, 0, 0)));
  readings.add(10000, [reading('well', 1000, 20), reading('half', 100, 20), reading('down', 40, 40), reading('rare', 0, 0)]);
  const found = failingOf(readings);
  assert.deepEqual(found.map((one) => [one.name, one.status]), [['down', 'failing'], ['half', 'degraded']]);
  assert.equal(found[0].reason, '100 % of its responses are 5xx (4.00/s).');
});

test('the cause is that of the endpoints', () => {
  assert.equal(cause('shop@file', []), 'It has no endpoints.');
  assert.match(cause('shop@file', [endpoint('a:1', 'serving')]), /are reachable/);
  assert.equal(cause('shop@file', [endpoint('a:1', 'serving', 3)]), 'a:1 is unreachable: 3 failed connections since its last response.');
  assert.equal(cause('shop@file', [endpoint('a:1', 'serving'), endpoint('b:1', 'unhealthy', 0, 'its check failed'), endpoint('c:1', 'ejected', 0, 'it failed')]),
    '2 of 3 endpoints have problems. b:1 is unhealthy: its check failed. Requests go to 1 other endpoint.');
  assert.equal(cause('shop@file', [endpoint('b:1', 'unhealthy', 0, 'its check failed')]), 'b:1 is unhealthy: its check failed.');
});

test('the headline begins with what requests suffer from', () => {
  const ready = { ready: true, quarantined: 5, verdicts: [] };
  assert.deepEqual(summary(ready), { tone: 'bad', text: '5 objects are disabled.' });
  assert.deepEqual(summary({ ...ready, retained: 1 }), { tone: 'bad', text: '5 objects are disabled, and 1 change is refused.' });
  assert.deepEqual(summary({ ...ready, quarantined: 0, retained: 2 }), { tone: 'warn', text: '2 changes are refused; the last valid definition serves.' });
  assert.deepEqual(summary(ready, { failed: [{ status: 'degraded' }] }), { tone: 'bad', text: '1 service has failing requests, and 5 objects are disabled.' });
  assert.deepEqual(summary({ ...ready, quarantined: 0 }, { failed: [{ status: 'degraded' }, {}] }), { tone: 'warn', text: '2 services have failing requests.' });
  assert.equal(summary({ ...ready, quarantined: 0 }, { failed: [{ status: 'failing' }] }).tone, 'bad');
  assert.equal(summary({ ...ready, quarantined: 0 }).tone, 'good');
});

test('without a connection the headline is never an all-clear', () => {
  const { tone, text } = summary({ ready: true, quarantined: 0, verdicts: [] }, { lost: Date.now() });
  assert.equal(tone, 'bad');
  assert.match(text, /^No connection to Sluice since \d/);
});

test('each service that an endpoint fails in is a finding', () => {
  const both = { address: 'a:1', connectFailures: 0, pools: [
    { service: 'one@file', state: 'unhealthy', reason: 'its check failed' }, { service: 'two@file', state: 'ejected', reason: 'requests failed', backSeconds: 2 },
    { service: 'three@file', state: 'serving', reason: '' }, { service: 'four@file', state: 'draining', reason: 'its weight is 0' },
  ] };
  assert.deepEqual(failedEndpoints([both]).map((one) => [one.name, one.service, one.reason]), [
    ['a:1', 'one@file', 'unhealthy: its check failed'], ['a:1', 'two@file', 'ejected: requests failed; back in 2.00 s'],
  ]);
});

test('objects are found by their name before their options', () => {
  const names = ['admin@file', 'my-shop@file', 'workshop@file', 'shop@file'].map((name) => ({ name }));
  assert.deepEqual(ranked(names, 'SHO').map((one) => one.name), ['shop@file', 'my-shop@file', 'workshop@file', 'admin@file']);
});

test('a mirror gets a percentage or a fraction', () => {
  const mirrors = [{ name: 'a', percent: 20 }, { name: 'b@docker', fraction: { numerator: 1, denominator: 3 } }, { name: 'c' }, { name: 'd', fraction: { denominator: 7 } }];
  assert.deepEqual(children({ name: 'top@file', mirroring: { service: 'main', mirrors } }).map((one) => [one.name, one.role, one.share]), [
    ['main@file', 'main service', 1], ['a@file', 'mirrors 20 % of requests', 0.2], ['b@docker', 'mirrors 1 of 3 requests', 1 / 3],
    ['c@file', 'mirrors 0 % of requests', 0], ['d@file', 'mirrors 0 of 7 requests', 0],
  ]);
});

test('shares of nested services multiply, and mirrored requests are none', () => {
  const leaf = (name, share, copy) => ({ name, share, copy, object: { loadBalancer: {} }, children: [] });
  const tree = { name: 'top', object: {}, children: [
    { name: 'split', share: 1, object: {}, children: [leaf('a', 0.9), leaf('b', 0.1)] }, leaf('a', 0.2, true), { name: 'gone', share: 1, children: [] },
  ] };
  assert.deepEqual([...shares(tree)], [['a', 0.9], ['b', 0.1]]);
});
