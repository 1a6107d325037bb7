// The page of environment services.

import { audit } from './accessibility.mjs';
import { write } from './world.mjs';

/** divides reads which subset answers each tag, and follows the configuration. */
export async function divides({ open, check, eventually, require, environment }) {
  const page = await open();
  const matrix = page.locator('.matrix');
  const row = (name) => matrix.locator('tbody tr').filter({ has: page.locator('th', { hasText: `${name}@file` }) });
  const cells = async (name) => (await row(name).locator('td').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
  await page.locator('nav a', { hasText: 'Environments' }).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('v');
  await page.locator('main h1', { hasText: 'Environments' }).waitFor();
  const tags = await matrix.locator('thead th').allInnerTexts();
  check(tags.length === 13 && tags[1] === 'dev' && tags[12] === 'staging.canary', `the tags are ${tags}`);
  check((await matrix.locator('tbody tr').count()) === 4, 'there are not four services');
  const exact = async (name) => (await cells(name)).join();
  check((await exact('shop')) === 'up: dev,up: dev.proj1,up: dev.proj1.feature1,up: dev.proj1,up: dev.proj1,up: dev.proj2,up: dev.proj2,up: dev.proj2,up: dev,up: dev,up: staging,up: staging', `shop is ${await exact('shop')}`);
  check((await exact('payment')).endsWith('up: any,up: any'), `payment is ${await exact('payment')}`);
  check((await exact('search')).startsWith('–,–') && (await exact('search')).endsWith('up: staging,up: staging'), `search is ${await exact('search')}`);
  check(/environments\.yaml:\d+/.test(await row('orders').locator('th').innerText()), `the origin is missing: ${await row('orders').locator('th').innerText()}`);

  await page.locator('input[name="tag"]').fill('dev.proj2.checkout.x');
  await page.keyboard.press('Enter');
  const result = page.locator('section[aria-label="Result"]');
  await result.waitFor();
  const answers = (await result.locator('tbody tr').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
  check(answers.length === 4 && /^orders@file.*dev the nearest ancestor, dev 1 of 1 endpoint X-Virtual-Env$/.test(answers[0]) && /^search@file.*dev\.proj2\.checkout/.test(answers[2]), `the answers are ${answers.join(' | ')}`);
  check(page.url().endsWith('#/environments?tag=dev.proj2.checkout.x'), `the address is ${page.url()}`);
  await page.locator('input[name="tag"]').fill('');
  await page.locator('main button', { hasText: 'Show' }).click();
  await result.locator('h2', { hasText: 'Without a tag' }).waitFor();
  check(/search@file.*nothing: 503/.test((await result.locator('tbody tr', { hasText: 'search@file' }).innerText()).replace(/\s+/g, ' ')), 'search answers without a tag');
  check((await result.locator('header').innerText()).includes('1 service cannot answer'), 'the service that cannot answer is not counted');
  await page.reload();
  await result.locator('h2', { hasText: 'Without a tag' }).waitFor();

  await page.locator('input[type="search"]').fill('pay');
  await eventually('the found service', async () => (await matrix.locator('tbody tr').count()) === 1);
  await page.locator('input[type="search"]').fill('<b>nothing</b>');
  await page.locator('main p', { hasText: 'Nothing matches.' }).waitFor();
  await page.locator('input[type="search"]').fill('');
  await eventually('all services', async () => (await matrix.locator('tbody tr').count()) === 4);
  await page.keyboard.press('Escape');
  await page.keyboard.press('j');
  check((await page.evaluate(() => document.activeElement.textContent)) === 'orders@file', 'j does not lead to the first service');
  await row('shop').locator('td a').nth(2).click();
  await page.locator('main h1', { hasText: 'shop-dev-proj1-feature1@file' }).waitFor();

  for (const [width, scheme] of [[1360, 'light'], [1360, 'dark'], [390, 'light']]) {
    const other = await open({ width, scheme });
    await other.context().addInitScript(require('axe-core').source);
    await other.reload();
    await audit(other, '#/environments?tag=dev.proj2.checkout.x', `${width}, ${scheme}`, { check, eventually });
    const wide = await other.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(wide <= 0, `the page is ${wide} pixels too wide for ${width}`);
    if (environment.SHOTS) await other.screenshot({ path: `${environment.SHOTS}/environments-${width}-${scheme}.png`, fullPage: true });
  }

  await page.goBack();
  await matrix.waitFor();
  write(environment, 'environments.yaml', 'http:\n  services:\n    shop: {environment: {default: dev, subsets: [{tag: dev, service: one}]}}\n    one: {loadBalancer: {servers: [{url: http://127.0.0.1:1}], healthCheck: {path: /, interval: 100ms}}}\n');
  await eventually('the subset that is down', async () => (await exact('shop')) === 'down: dev');
  write(environment, 'environments.yaml', 'http: {}\n');
  await eventually('no tab without an environment service', async () => !(await page.locator('nav a', { hasText: 'Environments' }).isVisible()));
  await page.locator('main [role="alert"]', { hasText: 'There is no environment service' }).waitFor();
}
