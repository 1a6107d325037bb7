// Accessibility, keyboard, and hostile names.

import { places } from './world.mjs';

/** accessible runs axe-core on every view, in light and dark, on a wide and a narrow screen. */
export async function accessible({ open, check, require, eventually }) {
  for (const [width, scheme] of [[1360, 'light'], [1360, 'dark'], [390, 'light']]) {
    const page = await open({ width, scheme });
    await page.context().addInitScript(require('axe-core').source);
    await page.reload();
    for (const place of places) await audit(page, place, `${width}, ${scheme}`, { check, eventually });
    await page.keyboard.press('Control+k');
    await page.locator('dialog[open] li').first().waitFor();
    const inside = await page.evaluate(() => window.axe.run('dialog[open]', { runOnly: ['wcag2a', 'wcag2aa'] }));
    for (const violation of inside.violations) check(false, `finder (${width}, ${scheme}): ${violation.id}: ${violation.nodes[0].html.slice(0, 300)}`);
  }
}

/** audit runs axe-core on one view; the page has its source. */
export async function audit(page, place, label, { check, eventually }) {
  await page.evaluate((hash) => {
    document.querySelector('main').replaceChildren();
    location.hash = hash;
    dispatchEvent(new Event('hashchange'));
  }, place);
  await page.waitForSelector('main h1');
  await eventually('the first figures', async () => (await page.locator('main').innerText()).length > 25);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  for (const violation of found.violations.filter((one) => ['serious', 'critical', 'moderate'].includes(one.impact))) {
    check(false, `${place} (${label}): ${violation.id}: ${violation.help}: ${violation.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 200)} ${node.any.map((one) => one.message).join(' ').slice(0, 200)}`).join(' | ')}`);
  }
}

/** keyboards uses the page without a pointer. */
export async function keyboards({ open, check, eventually }) {
  const page = await open();
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  await page.keyboard.press('Tab');
  check((await focused()) === 'Skip to the content', `the first stop is ${await focused()}`);
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await page.locator('main h1', { hasText: 'Routers' }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('shop.example');
  await eventually('the found router', async () => /^enabled\s+shop@file/.test(await page.locator('tbody tr').first().innerText()));
  // The last keys may not have been searched for.
  await eventually('the address of the search', () => page.url().endsWith('search=shop.example'));
  await page.keyboard.press('ArrowDown');
  check((await focused()) === 'shop@file', `the arrow leads to ${await focused()}`);
  await page.keyboard.press('Enter');
  await page.locator('main h1', { hasText: 'shop@file' }).waitFor();
  check(page.url().endsWith('#/routers/shop%40file'), `Enter leads to ${page.url()}`);
  await page.goBack();
  await page.locator('main h1', { hasText: 'Routers' }).waitFor();
  check((await page.locator('input[type="search"]').inputValue()) === 'shop.example', 'the search is forgotten');

  await page.keyboard.press('/');
  await page.keyboard.type('x');
  await eventually('the address of the search for x', () => page.url().endsWith('search=x'));
  await page.keyboard.press('Escape');
  check(await page.evaluate(() => document.activeElement === document.body), 'the focus stays in the search after Escape');
  check((await page.locator('input[type="search"]').inputValue()) === 'x', 'Escape clears the search');
  await page.locator('input[type="search"]').fill('shop.example');
  // The search for x has one router as well, whose row may still be there, or come until the next search begins.
  await eventually('the address of the next search', () => page.url().endsWith('search=shop.example'));
  await page.locator('tbody tr', { hasText: 'shop@file' }).waitFor();
  await eventually('the routers of the search', async () => (await page.locator('tbody tr').count()) === 1);
  await page.keyboard.press('Escape');
  await page.keyboard.press('j');
  check((await focused()) === 'shop@file', `after Escape, j leads to ${await focused()}`);

  await page.keyboard.press('Control+k');
  await page.locator('dialog[open] input').fill('sho');
  await eventually('the router whose name begins so', async () => (await page.locator('dialog[open] li').count()) > 2 && (await page.locator('dialog[open] li[aria-selected="true"]').innerText()).includes('shop@file'));
  await page.locator('dialog[open] input').fill('rate@');
  await eventually('the found middleware', async () => (await page.locator('dialog[open] li[aria-selected="true"]').innerText()).includes('rate@file'));
  await page.keyboard.press('Enter');
  await page.locator('main h1', { hasText: 'rate@file' }).waitFor();
  await page.keyboard.press('?');
  await page.locator('dialog[open] h2', { hasText: 'Keys' }).waitFor();
  await page.keyboard.press('Escape');
  check((await page.locator('dialog[open]').count()) === 0, 'Escape does not close the keys');

  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.keyboard.press('t');
  await page.keyboard.press('t');
  const dark = await ground();
  check(light !== dark, 'the page does not turn dark');
  await page.reload();
  await page.waitForSelector('main h1');
  check((await ground()) === dark, 'the choice of colours is forgotten');
}

/** hostile opens objects whose names and texts contain markup. */
export async function hostile({ open, check, eventually }) {
  const page = await open({ place: '#/routers?search=onerror' });
  const name = '<img src=x onerror=alert(1)>';
  await eventually('the name as it is', async () => (await page.locator('tbody tr').first().innerText()).includes(`${name}@file`));
  await page.locator('tbody a').first().click();
  await page.locator('main h1', { hasText: name }).waitFor();
  check((await page.locator('.route').innerText()).includes('<script>alert(2)</script>'), 'the rule is not shown as it is');
  await page.goto(`${page.url().split('#')[0]}#/%3Cimg%20src%3Dx%20onerror%3Dalert(3)%3E`);
  await page.locator('main h1', { hasText: 'Not found.' }).waitFor();
  page.expected = /400|Trusted|TrustedHTML|Content Security Policy|Fetch API/;
  await page.goto(`${page.url().split('#')[0]}#/explain?method=GET&url=${encodeURIComponent('http://"><script>alert(4)</script>/')}`);
  await page.locator('.verdict.bad').waitFor();
  check((await page.locator('main img, main script').count()) === 0, 'a text has become markup');

  const policed = await page.evaluate(async () => {
    const heard = [];
    document.addEventListener('securitypolicyviolation', (event) => heard.push(event.effectiveDirective));
    try {
      document.body.innerHTML = '<i>no</i>';
      heard.push('markup was taken');
    } catch (error) {
      heard.push(error.name);
    }
    await fetch('https://elsewhere.example/').catch(() => heard.push('refused'));
    await new Promise((resolve) => setTimeout(resolve, 50));
    return heard;
  }).catch((error) => [error.message]);
  check(policed.includes('TypeError') && policed.includes('connect-src') && policed.includes('refused'), `the policy let through: ${policed}`);
}
