// Builds the documentation's site: node docs/site/build.mjs FOLDER. Environment variables:
//   MODULES  folder with node_modules, as .ci/tools site prints it
//   VERSION  the version that the site shows
// The pages are the Markdown files of the repository. They are copied below MODULES, with links between them as on the
// site, and rendered by VitePress into FOLDER. A link to a page or a picture that does not exist fails the build.

import { createRequire } from 'node:module';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { collect } from './pages.mjs';
import { sidebar } from './sidebar.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const modules = process.env.MODULES;
const out = process.argv[2];
if (!modules || !out) {
  console.error('usage: MODULES=FOLDER [VERSION=v1.2.3] node docs/site/build.mjs FOLDER');
  process.exit(2);
}

const { pages, files, faults } = collect(join(here, '..', '..'));
if (faults.length > 0) {
  for (const fault of faults) console.error(fault);
  process.exit(1);
}
const source = mkdtempSync(join(modules, 'source-'));
try {
  for (const page of pages) write(join(source, page.to), page.text);
  for (const file of files) {
    mkdirSync(dirname(join(source, file.to)), { recursive: true });
    cpSync(file.from, join(source, file.to));
  }
  cpSync(join(here, 'theme'), join(source, '.vitepress', 'theme'), { recursive: true });
  for (const name of ['config.mjs', 'accessible.mjs']) cpSync(join(here, name), join(source, '.vitepress', name));
  cpSync(join(here, '..', '..', 'api', 'dashboard', 'static', 'icon.svg'), join(source, 'public', 'icon.svg'));
  write(join(source, '.vitepress', 'site.json'), JSON.stringify({
    version: process.env.VERSION || 'unreleased', sidebar: sidebar(pages), out: resolve(out),
  }));
  const vitepress = createRequire(`${resolve(modules)}/`).resolve('vitepress');
  const { build } = await import(pathToFileURL(vitepress).href);
  await build(source);
} finally {
  rmSync(source, { recursive: true, force: true });
}

function write(name, text) {
  mkdirSync(dirname(name), { recursive: true });
  writeFileSync(name, text);
}
