// Figures of endpoints, requests without a route, and the live tail.

import { traffic } from './world.mjs';

/** number is the first number of a text; NaN for none. */
const number = (text) => Number(text.match(/[\d.]+/)?.[0]);

/** measures shows which endpoint is slow or fails, and sorts routers by their figures. */
export async function measures({ open, check, eventually, environment }) {
  const stop = traffic(environment, ['team.example.com/', 'split.example.com/status?code=500', 'down.example.com/', 'shop.example.com/api/x', 'shop.example.com/api/x', 'shop.example.com/api/x', 'shop.example.com/api/x'], { parallel: 3, pause: 20 });
  const page = await open({ place: '#/endpoints' });
  const heads = (await page.locator('thead th').allInnerTexts()).map((text) => text.trim());
  const cell = async (row, title) => (await row.locator('td').nth(heads.indexOf(title)).innerText()).trim();
  const down = page.locator('tbody tr').filter({ has: page.locator('a', { hasText: 'down@file' }) });
  await eventually('the endpoint that fails', async () => number(await cell(down, 'Req/s')) > 0.5 && (await cell(down, '5xx')) === '100 %');
  const shop = page.locator('tbody tr').filter({ has: page.locator('a', { hasText: /^shop@file$/ }) });
  await eventually('the endpoints of shop', async () => (await shop.count()) === 3 && number(await cell(shop.nth(1), 'Req/s')) > 1);
  await eventually('the 5xx of an endpoint', async () => number(await cell(shop.nth(1), '5xx')) > 0);
  check(/ms|µs/.test(await cell(shop.nth(1), 'Mean')), `the mean duration is ${await cell(shop.nth(1), 'Mean')}`);
  const tops = await page.locator('tbody tr').evaluateAll((rows) => rows.filter((row) => !row.querySelector('.why')).map((row) => row.cells[1].querySelector('a')?.getBoundingClientRect().top - row.cells[5].getClientRects()[0].top));
  check(tops.every((top) => top >= 0 && top < 12), `the share is not beside its service: ${tops}`);

  await page.evaluate(() => { location.hash = '#/routers/shop%40file'; });
  await eventually('the figures in the diagram', async () => /[\d.]+ req\/s/.test(await page.locator('.route .column[aria-label="Endpoints"] .station').first().innerText()));
  await page.locator('nav a', { hasText: 'Routers' }).click();
  await page.locator('th button', { hasText: 'Req/s' }).click();
  await eventually('the router with the most requests', async () => (await page.locator('tbody tr').first().innerText()).includes('shop@file'));
  check((await page.locator('th[aria-sort="descending"]').innerText()).includes('Req/s'), 'the order is not that of requests');
  await page.locator('th button', { hasText: '5xx' }).click();
  await eventually('the routers with 5xx', async () => /(down|split)@file/.test(await page.locator('tbody tr').first().innerText()));
  await stop();
}

/** misses sends requests that no router matches, and follows one to its explanation. */
export async function misses({ open, check, eventually, environment }) {
  const stop = traffic(environment, ['lost.example.com/cart?token=hunter2', 'lost.example.com/%1b%5b2J', 'split.example.com/'], { parallel: 2, pause: 20 });
  const page = await open();
  const section = page.locator('section[aria-label="Requests without a route"]');
  await section.locator('tr', { hasText: 'lost.example.com/cart' }).waitFor();
  await eventually('the 4xx of the entry point', async () => {
    const figures = await page.locator('.lane', { hasText: 'web' }).first().locator('figcaption').nth(1).innerText();
    return number(figures.match(/4xx, ([\d.]+)/)?.[1] ?? '') > 0;
  });
  check(!(await page.locator('main').innerText()).includes('hunter2'), 'the query is shown');
  await section.locator('a', { hasText: 'All' }).click();
  await page.locator('main h1', { hasText: 'Requests without a route' }).waitFor();
  await page.locator('input[type="search"]').fill('cart');
  await eventually('the search', async () => (await page.locator('tbody tr').count()) === 1);
  const row = page.locator('tbody tr').first();
  check(/lost\.example\.com\/cart\s+GET\s+web\s+\d+/.test(await row.innerText()), `the row is ${await row.innerText()}`);
  await row.locator('a', { hasText: 'Explain' }).click();
  await page.locator('.verdict.bad h2', { hasText: '404' }).waitFor();
  check((await page.locator('input[name="url"]').inputValue()) === 'http://lost.example.com/cart', `the explained URL is ${await page.locator('input[name="url"]').inputValue()}`);
  await stop();
}

/** tails watches requests with a filter, and pauses. */
export async function tails({ open, check, eventually, environment }) {
  const stop = traffic(environment, ['shop.example.com/api/x?token=hunter2', 'split.example.com/other', 'down.example.com/'], { parallel: 2, pause: 20 });
  const page = await open({ place: '#/requests' });
  for (const host of ['shop.example.com/api/x?token=REDACTED', 'split.example.com/other', 'down.example.com/']) await page.locator('tbody tr', { hasText: host }).first().waitFor();
  check(!(await page.locator('main').innerText()).includes('hunter2'), 'a query value is shown');
  check(!(await page.locator('tbody').innerText()).includes('/dashboard/'), 'the requests of the dashboard itself are shown');
  await page.locator('input[name="status"]').fill('5xx');
  await page.keyboard.press('Enter');
  await eventually('only failed requests', async () => {
    const rows = await page.locator('tbody tr').allInnerTexts();
    return rows.length > 3 && rows.every((text) => /\b50\d\b/.test(text) && text.includes('down'));
  });
  check(page.url().includes('status=5xx'), 'the address does not hold the filter');
  await page.locator('button', { hasText: 'Pause' }).click();
  const first = await page.locator('tbody tr').first().innerText();
  await page.waitForTimeout(700);
  check((await page.locator('tbody tr').first().innerText()) === first, 'rows come while it is paused');
  page.expected = /400/;
  await page.locator('input[name="status"]').fill('teapot');
  await page.keyboard.press('Enter');
  await page.locator('[role="status"]', { hasText: 'neither a status code' }).waitFor();
  await stop();
}
