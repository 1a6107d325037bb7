// Collects the pages of the site and rewrites their links.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, posix } from 'node:path';

/** repository is where files are that are not part of the site. */
const repository = 'https://github.com/sluiceproxy/sluice';

/** skipped are folders without pages. */
const skipped = new Set(['testdata', 'node_modules', 'dist', 'vendor']);

/**
 * collect reads the Markdown files below a folder. It returns the pages, each with its place in the repository (from),
 * its place on the site (to), title and text; the pictures that they show; and links that lead nowhere.
 */
export function collect(root) {
  const names = markdown(root, '');
  const places = new Map(names.map((name) => [name, place(name, names)]));
  const files = new Map();
  const faults = [];
  const pages = names.map((from) => {
    const to = places.get(from);
    const text = links(readFileSync(join(root, from), 'utf8'), (target, line) => {
      const [path, fragment = ''] = target.split(/(?=#)/);
      const linked = posix.join(dirname(from), decodeURI(path));
      if (places.has(linked)) return relative(to, places.get(linked)) + fragment;
      if (!linked.startsWith('..') && existsSync(join(root, linked))) return include(root, linked, to, files);
      faults.push(`${from}:${line}: links to ${linked}, which does not exist`);
      return target;
    });
    return { from, to, title: /^# (.*)$/m.exec(text)?.[1].replaceAll('`', '') ?? basename(from, '.md'), text };
  });
  return { pages, files: [...files].map(([to, from]) => ({ from, to })), faults };
}

/** markdown lists the Markdown files below a folder, in the order of their names. */
function markdown(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => !entry.name.startsWith('.') && !skipped.has(entry.name))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const name = posix.join(folder, entry.name);
      if (entry.isDirectory()) return markdown(root, name);
      return entry.isFile() && extname(name) === '.md' ? [name] : [];
    });
}

/** place returns where a file is on the site. */
function place(name, names) {
  const index = ['docs/README.md', 'docs/index.md', 'README.md'].find((one) => names.includes(one));
  if (name === index) return 'index.md';
  if (name.startsWith('docs/')) return name.slice('docs/'.length).replace(/README\.md$/, 'index.md');
  const kind = /^middleware\/([^/]+)\/README\.md$/.exec(name);
  if (kind) return `middlewares/${kind[1]}.md`;
  if (!name.includes('/')) return `project/${name.toLowerCase()}`;
  return name.replace(/README\.md$/, 'index.md');
}

/** relative returns the link from one page to another. */
function relative(from, to) {
  const path = posix.relative(dirname(from), to);
  return path.startsWith('.') ? path : `./${path}`;
}

/** include makes a picture a part of the site, and leads to the repository for everything else. */
function include(root, name, to, files) {
  if (['.png', '.svg', '.jpg', '.webp'].includes(extname(name))) {
    const placed = name.replace(/^docs\//, '');
    files.set(placed, join(root, name));
    return relative(to, placed);
  }
  return `${repository}/${statSync(join(root, name)).isDirectory() ? 'tree' : 'blob'}/main/${name}`;
}

/**
 * links replaces the targets of the links of a text, those to other sites and within the page excepted. Code is left
 * alone.
 */
function links(text, target) {
  let fence = '';
  return text.split('\n').map((line, index) => {
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1] ?? '';
    if (mark && (!fence || mark.startsWith(fence))) fence = fence ? '' : mark;
    if (fence || mark) return line;
    return line.replace(/(`+)(?:(?!\1).)*\1(?!`)|\]\(([^)\s]+)([^)]*)\)/g, (whole, code, link, rest) => {
      if (code || /^([a-z]+:|#|\/\/)/.test(link)) return whole;
      return `](${target(link, index + 1)}${rest})`;
    });
  }).join('\n');
}
