// The configuration of VitePress. Everything that the site needs is in its own folder: it requests no other host.

import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitepress';
import { accessible } from './accessible.mjs';

const site = JSON.parse(readFileSync(new URL('site.json', import.meta.url), 'utf8'));

/** anchor names a heading as GitHub does, so that links work in both places. */
const anchor = (text) => text.trim().toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');

export default defineConfig({
  title: 'Sluice',
  description: 'Documentation of Sluice, an edge router',
  lang: 'en',
  outDir: site.out,
  appearance: true,
  lastUpdated: false,
  head: [['link', { rel: 'icon', href: '/icon.svg', type: 'image/svg+xml' }]],
  vite: { plugins: [accessible()], build: { chunkSizeWarningLimit: 4096 }, logLevel: 'warn', publicDir: 'public' },
  markdown: {
    anchor: { slugify: anchor },
    toc: { slugify: anchor },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // A page is text and not a template of Vue: braces stand for themselves.
    config: (md) => {
      const { text, code_inline: code } = md.renderer.rules;
      md.renderer.rules.text = (...args) => text(...args).replaceAll('{{', '<span v-pre>{{</span>');
      md.renderer.rules.code_inline = (...args) => code(...args).replace('<code', '<code v-pre');
    },
  },
  themeConfig: {
    siteTitle: 'Sluice',
    logo: '/icon.svg',
    sidebar: site.sidebar,
    nav: [{ text: site.version, link: '/project/changelog' }],
    outline: { level: [2, 3] },
    search: { provider: 'local', options: { detailedView: true, translations: { button: { buttonText: 'Search', buttonAriaLabel: 'Search Ctrl K' } }, miniSearch: { searchOptions: { fuzzy: 0.1, prefix: true } } } },
    docFooter: { prev: 'Previous', next: 'Next' },
  },
});
