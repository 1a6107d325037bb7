// The diagram of a route, the explanation of a request, and the pictures for the documentation.

import { join } from 'node:path';
import { traffic, write } from './world.mjs';

/** routes checks the page of a router: the stations of its route, the state of its endpoints, and its traffic. */
export async function routes({ open, check, eventually, environment }) {
  const stop = traffic(environment, ['shop.example.com/api/x'], { parallel: 2 });
  const page = await open({ place: '#/routers/shop%40file' });
  const column = (title) => page.locator(`.route .column[aria-label="${title}"]`);
  check((await column('Entry points').innerText()).includes('web'), 'the diagram lacks the entry point');
  check((await column('Rule').innerText()).includes('Host(`shop.example.com`) && PathPrefix(`/api`)'), 'the diagram lacks the rule');
  const middlewares = await column('Middlewares').locator('.station').allInnerTexts();
  check(middlewares.length === 3 && middlewares[0].includes('rate@file') && middlewares[0].includes('by guard@file') && middlewares[2].includes('strip@file'), `the middlewares are ${middlewares.join(' | ')}`);
  check((await column('Service').innerText()).includes('shop@file'), 'the diagram lacks the service');
  await eventually('three endpoints', async () => (await column('Endpoints').locator('.station').count()) === 3);
  await eventually('the endpoint that is down', async () => (await column('Endpoints').locator('.station.bad').innerText()).includes('unhealthy'));
  await eventually('edges between the stations', async () => (await page.locator('.route path.edge').count()) === 6);
  check((await page.locator('.route path.edge.bad').count()) === 1, 'the edge to the endpoint that is down looks like the others');
  await eventually('requests', async () => Number((await page.locator('.gauge', { hasText: 'Requests' }).locator('b').innerText()).replace(',', '')) > 5);
  await eventually('how long they took', async () => (await page.locator('.bars li').count()) > 1);
  await stop();

  await column('Service').locator('a', { hasText: 'shop@file' }).click();
  await page.locator('main h1', { hasText: 'shop@file' }).waitFor();
  check((await page.locator('section[aria-label="Used by"]').innerText()).includes('shop@file'), 'the service does not say who uses it');
  await page.evaluate(() => { location.hash = '#/routers/split%40file'; });
  await page.locator('main h1', { hasText: 'split@file' }).waitFor();
  const services = await column('Service').locator('.station').allInnerTexts();
  await eventually('shares of the weighted services', async () => {
    const texts = (await column('Endpoints').locator('.station').allInnerTexts()).map((text) => text.match(/[\d.]+ %/)?.[0]);
    return texts.filter((text) => text === '37.5 %').length === 2 && texts.includes('25 %') && texts.includes('0 %');
  });
  const widths = await page.locator('.route path.edge:not(.bad)').evaluateAll((all) => all.map((edge) => parseFloat(getComputedStyle(edge).strokeWidth)));
  check(Math.max(...widths) - Math.min(...widths) > 0.5, `the lines of 37.5 % and 25 % are ${widths} pixels wide`);
  check(services.length === 3 && services[1].includes('weight 3') && services[2].includes('weight 1'), `the services are ${services.join(' | ')}`);

  await page.evaluate(() => { location.hash = '#/routers/broken%40file'; });
  await page.locator('main h1', { hasText: 'broken@file' }).waitFor();
  check((await column('Middlewares').locator('.station.missing').innerText()).includes('does not exist'), 'the middleware that is missing is not shown');
  await page.evaluate(() => { location.hash = '#/routers/gone%40file'; });
  await page.locator('main h1', { hasText: 'Not found.' }).waitFor();
}

/** fails makes requests fail at an unreachable endpoint, and follows the headline to the reason. */
export async function fails({ open, check, eventually, environment }) {
  const stop = traffic(environment, ['down.example.com/'], { parallel: 2, pause: 40 });
  const page = await open();
  await eventually('the headline', async () => /^1 service has failing requests, and \d+ objects are disabled\.$/.test(await page.locator('.state h1').innerText()));
  const first = page.locator('section[aria-label="Problems"] li').first();
  await eventually('the reason', async () => /down@file[^]*100 % of its responses are 5xx[^]*127\.0\.0\.1:1 is (unreachable: [\d,]+ failed connection|ejected)/.test(await first.innerText()));
  await first.locator('a', { hasText: 'down@file' }).focus();
  await page.waitForTimeout(4500);
  check(await page.evaluate(() => document.activeElement.textContent) === 'down@file', 'the focus is lost when figures come');
  await page.keyboard.press('Enter');
  await page.locator('main h1', { hasText: 'down@file' }).waitFor();
  await page.locator('.route .station.bad', { hasText: 'unreachable' }).waitFor();
  check((await page.locator('.route path.edge.bad').count()) === 1, 'the edge to the endpoint that cannot be reached looks like the others');
  await page.locator('nav a', { hasText: 'Problems' }).click();
  await page.locator('section[aria-label="Services with failing requests"] li', { hasText: 'down@file' }).waitFor();
  const beside = page.locator('section[aria-label="Endpoints, providers and certificates"] li');
  await beside.filter({ hasText: 'shop@file' }).filter({ hasText: 'unhealthy: its check failed' }).waitFor();
  await eventually('the same number of findings everywhere', async () => {
    const [title, badge] = [await page.locator('main [role="status"]').innerText(), await page.locator('nav .badge').innerText()];
    return title === `${badge} findings` && Number(badge) >= (await page.locator('.problems li').count());
  });
  await page.locator('nav a', { hasText: 'Endpoints' }).click();
  await page.locator('tbody tr', { hasText: 'down@file unreachable' }).waitFor();
  await stop();
}

/** explains fills in the form with the keyboard. */
export async function explains({ open, check }) {
  const page = await open({ place: '#/explain' });
  const ask = async (url) => {
    await page.locator('input[name="url"]').fill(url);
    await page.keyboard.press('Enter');
  };
  await page.locator('select[name="entrypoint"]').selectOption('web');
  await ask('http://shop.example.com/api/cart');
  await page.locator('.verdict h2', { hasText: 'shop@file serves this request.' }).waitFor();
  check((await page.locator('.candidates').first().innerText()).includes('PathPrefix(`/api`)'), 'the answer does not say why');
  check((await page.locator('.route .station').allInnerTexts()).some((text) => text.includes('strip@file')), 'the answer lacks the middlewares');
  check(page.url().includes('url=http'), 'the address does not hold the question');

  await ask('http://nobody.example.com/');
  await page.locator('.verdict.bad h2', { hasText: 'Sluice responds with 404' }).waitFor();
  check((await page.locator('section[aria-label="Closest routers"]').innerText()).includes('Host(`'), 'the answer lacks the closest routers');
  await ask('http://broken.example.com/');
  await page.locator('.verdict.bad h2', { hasText: '503' }).waitFor();
  await ask('http://team.example.com/');
  await page.locator('.verdict.bad h2', { hasText: '404' }).waitFor();
  await page.locator('textarea').fill('X-Team: blue');
  await ask('http://team.example.com/');
  await page.locator('.verdict h2', { hasText: 'team@file serves this request.' }).waitFor();
  page.expected = /400/;
  await ask('ftp://shop.example.com/');
  await page.locator('.verdict.bad p', { hasText: 'none of http, https' }).waitFor();

  await page.evaluate(() => { location.hash = '#/routers/shop%40file'; });
  await page.locator('a', { hasText: 'Explain a request' }).click();
  await page.locator('.verdict h2', { hasText: 'shop@file serves this request.' }).waitFor();
}

/** pictures writes the pictures of README and documentation. */
export async function pictures({ open, environment, eventually }) {
  const stop = traffic(environment, [...Array.from({ length: 30 }, (_, i) => ['shop.example.com/api/x', 'shop.example.com/checkout/cart', 'search.example.com/', 'shop.example.com/api/bytes?n=20000', `t00${i % 10}.example.com/`][i % 5]), 'reports.example.com/'], { parallel: 3, pause: 14 });
  const shots = [['overview', '#/', {}], ['overview-dark', '#/', { scheme: 'dark' }], ['router', '#/routers/shop%40file', {}], ['routers', '#/routers', {}], ['explain', '#/explain?method=GET&url=http%3A%2F%2Fshop.example.com%2Fapi%2Fcart&entrypoint=web', {}],
    ['changes', '#/changes', { scheme: 'dark' }], ['xds', '#/xds', {}], ['phone', '#/', { width: 390, height: 844, scheme: 'dark' }]];
  const pages = [];
  for (const [name, place, options] of shots) pages.push([name, await open({ height: 980, ...options, place })]);
  await eventually('a minute of traffic', async () => (await pages[0][1].locator('.lane', { hasText: 'web' }).first().locator('.line').first().getAttribute('d')).split('L').length > 40, 120000);
  const rollout = (weight) => `http:\n  services:\n    rollout:\n      weighted:\n        services:\n          - {name: checkout@file, weight: ${100 - weight}}\n          - {name: shop@file, weight: ${weight}}\n  routers:\n    rollout: {rule: 'Host(\`new.example.com\`)${weight > 1 ? ' && Method(\`GET\`)' : ''}', service: rollout, entryPoints: [web]}\n`;
  const changes = pages.find(([name]) => name === 'changes')[1];
  for (const weight of [1, 5]) {
    write(environment, 'rollout.yaml', rollout(weight));
    await changes.locator(weight === 1 ? '.feed li.arrive' : '.feed .edit', { hasText: weight === 1 ? 'rollout@file' : 'changed' }).first().waitFor();
  }
  await changes.locator('.feed .number').first().click();
  for (const [name, page] of pages) {
    await page.bringToFront();
    await page.waitForTimeout(name === 'router' || name === 'routers' ? 30000 : 4000);
    await page.screenshot({ path: join(environment.IMAGES, `${name}.png`) });
  }
  await stop();
}
