// Reads the site as people do: node browse.mjs. Environment variables:
//   MODULES   folder with node_modules
//   CHROMIUM  path of the browser
//   SITE      address of the site
//   PICTURES  folder for screenshots; empty takes none
// Exits with 0 on success, and otherwise writes the failures to standard error.

import { createRequire } from 'node:module';

const require = createRequire(`${process.env.MODULES}/`);
const { chromium } = require('playwright-core');
const axe = require('axe-core').source;
const own = new URL(process.env.SITE);
const faults = [];
const places = ['', 'middlewares', 'reference/rules', 'reference/dynamic', 'middlewares/ratelimit'];

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });

/** open opens a window. Requests to other hosts, failed ones, and errors of the page are failures. */
async function open(width, scheme) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, locale: 'en-GB', reducedMotion: 'reduce' });
  context.setDefaultTimeout(20000);
  await context.route((url) => url.origin !== own.origin && !['data:', 'blob:'].includes(url.protocol), (route) => {
    faults.push(`the page requests another host: ${route.request().url()}`);
    return route.abort();
  });
  const page = await context.newPage();
  page.on('pageerror', (error) => faults.push(`${page.url()}: ${error.stack}`));
  page.on('console', (message) => message.type() === 'error' && faults.push(`${page.url()}: ${message.text()}`));
  page.on('response', (response) => response.status() >= 400 && faults.push(`${response.url()}: ${response.status()}`));
  return page;
}

/** reads opens each page and has axe-core look at it. */
async function reads(width, scheme) {
  const page = await open(width, scheme);
  await page.context().addInitScript(axe);
  for (const place of places) {
    await page.goto(new URL(place ? `${place}.html` : '', own).href, { waitUntil: 'networkidle' });
    await page.waitForSelector('main h1');
    if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/${place.replaceAll('/', '-') || 'index'}-${width}-${scheme}.png` });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) faults.push(`${place} (${width}): the page is ${wide} pixels wider than the screen`);
    const cut = await page.evaluate(() => [...document.querySelectorAll('header :is(a, button), .VPSidebar :is(a, h2)')]
      .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest('.VPSidebarItem.collapsed .items'))
      .filter((one) => {
        const bar = one.closest('.VPSidebar');
        const right = bar ? bar.getBoundingClientRect().right : innerWidth;
        return one.getBoundingClientRect().right > Math.min(right, innerWidth) + 0.5 && (!bar || bar.getBoundingClientRect().left >= 0);
      })
      .map((one) => one.outerHTML.slice(0, 120)));
    for (const one of cut.slice(0, 3)) faults.push(`${place} (${width}): cut off at the right: ${one}`);
    const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }));
    for (const one of found.violations) {
      const nodes = one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 200)} ${[...node.any, ...node.all].map((check) => check.message).join(' ').slice(0, 200)}`);
      faults.push(`${place || 'index'} (${width}, ${scheme}): ${one.id}: ${one.help}: ${one.nodes.length} times: ${nodes.join(' | ')}`);
    }
  }
  await page.context().close();
}

/** searches types words and follows the first result. */
async function searches() {
  for (const [words, expected] of [['certFile', /certFile/], ['HostRegexp', /HostRegexp/]]) {
    const page = await open(1440, 'light'); // A window keeps the words and shows their results again at first.
    await page.goto(own.href, { waitUntil: 'networkidle' });
    const input = page.locator('#localsearch-input');
    // Vue sets this once the page has the handlers of its script.
    await page.waitForFunction(() => document.querySelector('#app').__vue_app__);
    await page.keyboard.press('Control+k');
    await input.fill(words);
    const first = page.locator('#localsearch-list a.result').first();
    await first.waitFor();
    if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/search-${words}.png` });
    await first.click();
    await page.waitForURL((url) => url.pathname !== own.pathname);
    await page.locator('.vp-doc', { hasText: expected }).waitFor();
    await page.context().close();
  }
}

try {
  await searches();
  for (const width of [1440, 390]) for (const scheme of ['light', 'dark']) await reads(width, scheme);
} catch (error) {
  faults.push(error.stack);
}
await browser.close();
for (const fault of faults) console.error(fault);
process.exit(faults.length === 0 ? 0 : 1);
