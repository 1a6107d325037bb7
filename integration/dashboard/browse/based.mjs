// A dashboard below api.basePath.

/** based opens the page below api.basePath, beside the API. */
export async function based({ open, check }) {
  const page = await open({ place: '../dashboard' });
  check(new URL(page.url()).pathname === '/ops/dashboard/', `the page is at ${page.url()}`);
  await page.locator('.brand small', { hasText: 'edge <two>' }).waitFor();
  check(await page.title() === 'Overview · edge <two> · Sluice', `the title is ${await page.title()}`);
  check((await page.locator('.state.good h1').innerText()) === 'No problems found.', 'the overview does not say that there are no problems');
  await page.locator('nav a', { hasText: 'Routers' }).click();
  await page.locator('tbody tr', { hasText: 'only@file' }).waitFor();
}
