import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareable } from '../../../api/dashboard/static/lib/place.js';

test('an address that explains a request holds no credential', () => {
  const lines = ['X-Team: shop', 'authorization: Basic YTpi', 'Proxy-Authorization: x', 'Cookie: a=b', 'X-Api-Key: k', 'X-Auth-Token: t', 'Accept: text/html'];
  assert.deepEqual(shareable(lines), ['X-Team: shop', 'Accept: text/html']);
});
