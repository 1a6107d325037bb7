import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcome } from '../../../api/dashboard/static/lib/format.js';
import { shareable } from '../../../api/dashboard/static/lib/place.js';

test('an address that explains a request holds no credential', () => {
  const lines = ['X-Team: shop', 'authorization: Basic YTpi', 'Proxy-Authorization: x', 'Cookie: a=b', 'X-Api-Key: k', 'X-Auth-Token: t', 'Accept: text/html'];
  assert.deepEqual(shareable(lines), ['X-Team: shop', 'Accept: text/html']);
});

test('the outcome of a request is a redirection, an answer of Sluice, or the service', () => {
  assert.equal(outcome({ status: 301, location: 'https://a.test/' }), ' redirects with 301 to https://a.test/');
  assert.equal(outcome({ status: 503 }), ' matches, and Sluice responds with 503.');
  assert.equal(outcome({}), ' serves this request.');
});
