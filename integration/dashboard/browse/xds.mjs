// The pages of xDS: streams of clients, one client, and the published resources.

import { audit } from './accessibility.mjs';

const places = ['#/xds', '#/xds/shop-frontend', '#/xds/orders%2F7d9c6b5f4', '#/xds-resources'];

/** publishes reads what clients have accepted, why one has rejected a response, and what is published. */
export async function publishes({ open, check, eventually, require }) {
  const page = await open();
  const gauge = async (title) => (await page.locator('.gauge').filter({ has: page.locator('span', { hasText: new RegExp(`^${title}$`) }) }).locator('b').innerText()).trim();
  const rows = page.locator('tbody tr');
  await page.locator('nav a', { hasText: 'xDS' }).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('d');
  await page.locator('main h1', { hasText: 'xDS' }).waitFor();
  await eventually('the counters', async () => [await gauge('Streams'), await gauge('Synced'), await gauge('Pending'), await gauge('Rejected')].join() === '63,61,1,1');

  await eventually('the first page', async () => (await page.locator('.pager span').innerText()) === '1–50 of 63');
  await page.locator('.pager button', { hasText: 'Next' }).click();
  await eventually('the second page', async () => (await page.locator('.pager span').innerText()) === '51–63 of 63');

  await page.locator('.choices button', { hasText: 'Rejected' }).click();
  await eventually('the stream that is rejected', async () => (await rows.count()) === 2);
  const [cluster, listener] = await rows.allInnerTexts();
  check(/^rejected\s+orders\/7d9c6b5f4\s+grpc-node-js 1\.71\.0\s+127\.0\.0\.1:\d+\s+sotw\s+\d+ (s|min)\s+CDS\s+1\s+\S+-\d+\s+none\s+rejected/.test(cluster), `the row is ${cluster}`);
  check(/Version \S+-\d+, .*: cluster "shop@file": the load balancing policy LEAST_REQUEST .* the previous version of the resource is kept$/.test(cluster), `the reason is ${cluster}`);
  check(/LDS\s+1\s+(\S+-\d+)\s+\1\s+synced/.test(listener), `the other type is ${listener}`);
  await page.locator('.choices button', { hasText: 'Pending' }).click();
  await eventually('the stream that is pending', async () => /reports[^]*CDS\s+all\s+\S+-\d+\s+none\s+pending for/.test((await rows.allInnerTexts()).join()));
  await page.locator('.choices button', { hasText: 'All' }).click();

  await page.keyboard.press('/');
  await page.keyboard.type('shop-front');
  await eventually('the streams of the search', async () => (await rows.count()) === 3);
  check(page.url().includes('search=shop-front'), 'the address does not hold the search');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.locator('main h1', { hasText: 'shop-frontend' }).waitFor();
  const stream = page.locator('section[aria-label^="Stream of"]');
  check((await stream.locator('tr', { hasText: 'LDS' }).locator('.chip').allInnerTexts()).join() === 'cart@file,shop@file', 'the names of the listeners are not those of the subscription');
  const resources = page.locator('section[aria-label="Resources that the client has subscribed to"]');
  check((await resources.locator('tbody tr').count()) === 4, `the client has ${await resources.locator('tbody tr').count()} resources`);
  await resources.locator('.choices button', { hasText: 'EDS' }).click();
  await eventually('the endpoints', async () => (await resources.locator('tbody tr').count()) === 1);
  check(page.url().includes('#/xds/shop-frontend?type=eds'), `the address is ${page.url()}`);
  await resources.locator('summary').focus();
  await page.keyboard.press('Enter');
  await eventually('the endpoint in the JSON', async () => /"address": "127\.0\.0\.1"/.test(await resources.locator('pre').innerText()));

  await page.locator('nav a', { hasText: 'Problems' }).click();
  await page.locator('.problems a', { hasText: 'xds client orders/7d9c6b5f4 cds' }).click();
  await page.locator('main h1', { hasText: 'orders/7d9c6b5f4' }).waitFor();
  await page.locator('td .why', { hasText: 'LEAST_REQUEST' }).waitFor();

  await page.locator('a', { hasText: 'All resources' }).click();
  await page.locator('main h1', { hasText: 'Published resources' }).waitFor();
  await page.locator('.choices button', { hasText: 'CDS' }).click();
  await page.locator('input[type="search"]').fill('shop');
  await eventually('the cluster', async () => (await rows.count()) === 1 && /CDS\s+shop@file/.test(await rows.first().innerText()));
  await page.locator('summary').click();
  await eventually('its policy', async () => (await page.locator('pre').innerText()).includes('least_request'));
  await page.reload();
  await eventually('the search after a reload', async () => (await rows.count()) === 1 && (await page.locator('.choices button[aria-pressed="true"]').innerText()).includes('CDS'));
  await page.evaluate(() => { location.hash = '#/xds/nobody'; });
  await page.locator('main h1', { hasText: 'Not found.' }).waitFor();

  for (const [width, scheme] of [[1360, 'light'], [1360, 'dark'], [390, 'light']]) {
    const other = await open({ width, scheme });
    await other.context().addInitScript(require('axe-core').source);
    await other.reload();
    for (const place of places) {
      await audit(other, place, `${width}, ${scheme}`, { check, eventually });
      const wide = await other.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      check(wide <= 0, `${place} is ${wide} pixels too wide for ${width}`);
    }
  }
}
