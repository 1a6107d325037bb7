// Runs one scenario in Chromium: node browse.mjs SCENARIO. Environment variables:
//   MODULES    folder with node_modules
//   CHROMIUM   path of the browser
//   DASHBOARD  address of the page
//   TRAFFIC    http://host:port of the entrypoint web
//   DYNAMIC    folder of the dynamic files
//   IMAGES     folder for pictures, for the scenario pictures
// Exits with 0 on success, and otherwise writes the failures to standard error.

import { createRequire } from 'node:module';
import { scenarios } from './scenarios.mjs';

const require = createRequire(`${process.env.MODULES}/`);
const { chromium } = require('playwright-core');
const own = new URL(process.env.DASHBOARD);
const faults = [];
/** patience is the time in milliseconds that every wait may take on a busy machine. */
const patience = 60000;

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
const contexts = [];

/** open opens a window. Requests to other hosts, console errors and policy violations are failures. */
async function open({ width = 1360, height = 860, scheme = 'light', place = '', touch = false } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, hasTouch: touch, locale: 'en-GB', timezoneId: 'UTC' });
  contexts.push(context);
  context.setDefaultTimeout(patience);
  await context.route((url) => url.origin !== own.origin && !['data:', 'blob:'].includes(url.protocol), (route) => {
    faults.push(`the page asks another host: ${route.request().url()}`);
    return route.abort();
  });
  const page = await context.newPage();
  page.on('pageerror', (error) => faults.push(`${page.url()}: ${error.stack}`));
  page.on('dialog', (dialog) => {
    faults.push(`a dialog opened: ${dialog.message()}`);
    return dialog.dismiss();
  });
  page.on('console', (message) => {
    const answer = message.text().startsWith('Failed to load resource'); // Of answers it says nothing that the response does not.
    if (message.type() === 'error' && !answer && !page.expected?.test(message.text())) faults.push(`${page.url()}: ${message.text()}`);
  });
  page.on('response', (response) => {
    const absent = response.status() === 404 && /\/api\/(http|tcp|udp)\//.test(new URL(response.url()).pathname); // What does not exist is asked for too.
    if (response.status() >= 400 && !absent && !page.expected?.test(String(response.status()))) faults.push(`${response.url()} answered with ${response.status()}`);
  });
  await page.goto(new URL(place, own).href);
  await page.waitForSelector('main h1');
  return page;
}

/** check records a failure unless the condition holds. */
function check(holds, what) {
  if (!holds) faults.push(what);
}

/** eventually waits until a function returns a true value. */
async function eventually(what, yes) {
  const end = Date.now() + patience;
  let last;
  for (;;) {
    try {
      last = await yes();
      if (last) return last;
    } catch (error) {
      last = error.message;
    }
    if (Date.now() > end) throw new Error(`${what}: not so within ${patience} ms (${last})`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

try {
  const scenario = scenarios[process.argv[2]];
  if (!scenario) throw new Error(`there is no scenario ${process.argv[2]}`);
  await scenario({ open, check, eventually, require, environment: process.env });
} catch (error) {
  faults.push(error.stack);
  const page = contexts.at(-1)?.pages()[0];
  if (page) faults.push(`the page held: ${(await page.locator('main').innerText().catch(() => '')).slice(0, 1500)}`);
}
await browser.close();
for (const fault of faults) console.error(fault);
process.exit(faults.length ? 1 : 0); // What a scenario that failed has left running ends too.
