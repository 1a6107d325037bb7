import assert from 'node:assert/strict';
import { test } from 'node:test';
import { headersOf, shareable } from '../../../api/dashboard/static/view/explain.js';

test('an address that explains a request holds no credential', () => {
  const lines = headersOf('X-Team: shop\nauthorization: Basic YTpi\n Proxy-Authorization: x\nCookie: a=b\nX-Api-Key: k\nX-Auth-Token: t\nAccept: text/html\n\n');
  assert.deepEqual(shareable(lines), ['X-Team: shop', 'Accept: text/html']);
});
