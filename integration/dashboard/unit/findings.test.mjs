import assert from 'node:assert/strict';
import { test } from 'node:test';

// What the page reads of the browser when its modules are loaded.
globalThis.document ??= { baseURI: 'http://sluice.test/dashboard/' };
const { live } = await import('../../../api/dashboard/static/lib/live.js');
const { findings, gapOf, matches } = await import('../../../api/dashboard/static/view/findings.js');
const { summary } = await import('../../../api/dashboard/static/view/overview.js');

const ready = { ready: true, quarantined: 0, verdicts: [] };

/** answers are the lists of the API, by path and status; a list that is not here is refused with 500. */
const answers = new Map();
globalThis.fetch = async (url) => {
  const path = url.pathname.replace('/api/', '');
  const list = answers.get(`${path} ${url.searchParams.get('status')}`) ?? answers.get(path);
  if (!list) return Response.json({ message: 'internal error' }, { status: 500 });
  const data = Array.isArray(list) ? list.slice(0, Number(url.searchParams.get('per_page'))) : list;
  return Response.json(data, { headers: { 'X-Total-Count': String(list.length ?? 1) } });
};

const endpoint = (address, ...states) => ({ source: 'url', address, connectFailures: 0, pools: states.map((state, i) => ({ service: `s${i}@file`, state, reason: 'no answer' })) });

test('there is no all-clear before everything is read', async () => {
  live.ready = ready;
  const state = () => summary(ready, { others: findings.beside().length, failed: findings.failed, gap: findings.gap });
  assert.deepEqual(state(), { tone: 'warn', text: 'Reading …' });

  answers.set('certificates', []);
  await findings.first();
  assert.deepEqual(state(), { tone: 'warn', text: 'Endpoints could not be read.' });
  await assert.rejects(findings.requests());
  assert.deepEqual(state(), { tone: 'warn', text: 'Endpoints and service traffic could not be read.' });

  answers.set('endpoints', []).set('traffic/services', { time: 1000, services: [] });
  await findings.refresh();
  await findings.requests();
  assert.equal(state().text, 'Reading …', 'one reading has no rates');
  answers.set('traffic/services', { time: 5000, services: [] });
  await findings.requests();
  assert.deepEqual(state(), { tone: 'good', text: 'No problems found.' });

  answers.delete('certificates');
  await findings.refresh();
  assert.deepEqual(state(), { tone: 'warn', text: 'Certificates could not be read.' });
  live.lost = 1;
  assert.equal(findings.gap, '', 'the last known state is that of before');
  live.lost = 0;
});

test('what was never read is no last known state', () => {
  assert.equal(gapOf({ endpoints: 'failed', certificates: 'stale', traffic: 'read' }, Date.now()), 'Endpoints could not be read.');
  assert.equal(gapOf({ endpoints: 'failed', certificates: 'stale', traffic: 'unread' }), 'Endpoints and certificates could not be read.');
});

test('the number of findings counts what is listed', async () => {
  live.ready = { ...ready, verdicts: [{ kind: 'router', name: 'a@file', status: 'degraded' }], moreVerdicts: 2 };
  const both = endpoint('both:1', 'unhealthy', 'ejected');
  answers.set('certificates', []).set('endpoints ejected', [both]).set('endpoints unhealthy', [both, endpoint('one:1', 'unhealthy', 'serving')]);
  await findings.refresh();
  assert.equal(findings.beside().length, 3, 'a finding for each service in which an endpoint fails');
  assert.equal(findings.total, 6);
  assert.equal(findings.amount, '6 findings');

  answers.set('endpoints unhealthy', Array.from({ length: 130 }, (_, i) => endpoint(`e${i}:1`, 'unhealthy', 'unhealthy')));
  await findings.refresh();
  assert.equal(findings.total, 3 + 100 * 2 + 2);
  assert.equal(findings.amount, 'at least 205 findings');
  assert.deepEqual(findings.cut, [{ path: 'endpoints', status: 'unhealthy', read: 100, total: 130 }]);
  assert.equal(summary({ ...ready, moreVerdicts: 0 }, { others: 202, more: true }).text, 'At least 202 problems with endpoints, providers or certificates.');
});

test('a search and a state select all kinds of findings', () => {
  const one = { kind: 'endpoint', name: '10.0.0.1:80', service: 'shop@file', status: 'degraded', reason: 'unhealthy: No answer' };
  for (const search of ['', '10.0', 'SHOP', 'no answer']) assert.ok(matches(one, { search }), search);
  assert.ok(!matches(one, { search: 'cart' }));
  assert.ok(matches(one, { status: 'degraded' }));
  assert.ok(!matches(one, { status: 'quarantined' }));
  assert.ok(matches({ ...one, status: 'disabled' }, { search: 'shop', status: 'quarantined' }), 'an expired certificate is disabled');
});
