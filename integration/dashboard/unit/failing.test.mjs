import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Readings } from '../../../api/dashboard/static/lib/traffic.js';

// What the page reads of the browser when its modules are loaded.
globalThis.document ??= { baseURI: 'http://sluice.test/dashboard/' };
const { cause, failingOf } = await import('../../../api/dashboard/static/view/failing.js');
const { summary } = await import('../../../api/dashboard/static/view/overview.js');

const reading = (name, requests, serverErrors) => ({ name, requests, serverErrors, clientErrors: 0, bytesReceived: 0, bytesSent: 0, buckets: [] });
const endpoint = (address, state, connectFailures = 0, reason = '') => ({ address, connectFailures, pools: [{ service: 'shop@file', state, reason, slowStart: 1 }] });

test('services fail by the part of 5xx, the worst first', () => {
  const readings = new Readings();
  readings.add(0, ['well', 'half', 'down', 'rare'].map((name) => reading(name, 0, 0)));
  readings.add(10000, [reading('well', 1000, 20), reading('half', 100, 20), reading('down', 40, 40), reading('rare', 0, 0)]);
  const found = failingOf(readings);
  assert.deepEqual(found.map((one) => [one.name, one.status]), [['down', 'failing'], ['half', 'degraded']]);
  assert.equal(found[0].reason, '100 % of its requests get 5xx, 4.00 a second.');
});

test('the cause is that of the endpoints', () => {
  assert.equal(cause('shop@file', []), 'It has no endpoint.');
  assert.match(cause('shop@file', [endpoint('a:1', 'serving')]), /can be reached/);
  assert.equal(cause('shop@file', [endpoint('a:1', 'serving', 3)]), 'a:1 is unreachable: 3 connects failed since it last answered.');
  assert.equal(cause('shop@file', [endpoint('a:1', 'serving'), endpoint('b:1', 'unhealthy', 0, 'its check failed'), endpoint('c:1', 'ejected', 0, 'it failed')]),
    '2 of 3 endpoints do not stand well. b:1 is unhealthy: its check failed.');
});

test('the headline begins with what requests suffer from', () => {
  const ready = { ready: true, quarantined: 5, verdicts: [] };
  assert.deepEqual(summary(ready), { tone: 'bad', text: '5 objects are not in use.' });
  assert.deepEqual(summary(ready, { failed: [{ status: 'degraded' }] }), { tone: 'bad', text: '1 service fails requests, and 5 objects are not in use.' });
  assert.deepEqual(summary({ ...ready, quarantined: 0 }, { failed: [{ status: 'degraded' }, {}] }), { tone: 'warn', text: '2 services fail requests.' });
  assert.equal(summary({ ...ready, quarantined: 0 }, { failed: [{ status: 'failing' }] }).tone, 'bad');
  assert.equal(summary({ ...ready, quarantined: 0 }).tone, 'good');
});
