import assert from 'node:assert/strict';
import { test } from 'node:test';

// What the page reads of the browser when its modules are loaded.
globalThis.document ??= { baseURI: 'http://sluice.test/dashboard/' };
const { expiry, problem, totals, until } = await import('../../../api/dashboard/static/view/resolvers.js');

const now = Date.parse('2026-05-01T12:00:00Z');

test('times are said from now', () => {
  assert.equal(until('2026-05-01T12:05:00Z', now), 'in 5 min');
  assert.equal(until('2026-05-01T11:00:00Z', now), 'now');
  assert.deepEqual(expiry({ state: 'pending' }, now), { text: 'none yet', tone: 'quiet-text' });
  assert.deepEqual(expiry({ state: 'valid', notAfter: '2026-05-31T12:00:00Z' }, now), { text: 'in 30 d', tone: '' });
  assert.deepEqual(expiry({ state: 'failing', notAfter: '2026-04-29T12:00:00Z' }, now), { text: 'expired 2 d ago', tone: 'bad-text' });
  assert.equal(expiry({ state: 'unused', notAfter: '2026-04-29T12:00:00Z' }, now).tone, 'quiet-text');
});

test('a problem has its type, its detail and the reasons of names', () => {
  assert.equal(problem({ detail: 'connection refused' }), 'connection refused');
  assert.equal(problem({ type: 'compound', detail: 'two names', names: { 'a.test': 'caa: no', 'b.test': 'dns: no' } }), 'compound: two names; a.test: caa: no; b.test: dns: no');
});

test('certificates are counted over all resolvers', () => {
  assert.deepEqual(totals([{ states: { valid: 2, failing: 1 } }, { states: { valid: 1, unused: 4 } }]), { '': 8, failing: 1, pending: 0, due: 0, valid: 3, unused: 4 });
});
