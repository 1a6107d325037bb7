// The navigation: the contents of docs/README.md, and the pages of folders that it does not list one by one.

import { dirname, posix } from 'node:path';

/** folders are the parts that follow, folded, each with the pages of a folder. */
const folders = [
  ['Recipes', 'recipes'], ['Middlewares', 'middlewares'], ['Measurements', 'performance'], ['Decisions', 'adr'],
];

/** sidebar returns the navigation over all pages; each page is in it once. */
export function sidebar(pages) {
  const left = new Map(pages.map((page) => [page.to, page]));
  const take = (name, text) => {
    const page = left.get(name);
    left.delete(name);
    return page ? [{ text: text ?? page.title, link: `/${name.replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '')}` }] : [];
  };
  const contents = left.get('index.md')?.text ?? '';
  const parts = [{ text: 'Documentation', items: take('index.md', 'Contents') }];
  for (const section of contents.split(/^## /m).slice(1)) {
    const links = [...section.matchAll(/\[[^\]]+\]\(([^)#\s]+\.md)[^)]*\)/g)];
    const items = links.flatMap(([, link]) => take(posix.join(dirname('index.md'), link)));
    parts.push({ text: section.slice(0, section.indexOf('\n')).trim(), items });
  }
  for (const [text, folder] of folders) {
    const items = [...left.keys()].filter((name) => name.startsWith(`${folder}/`)).flatMap((name) => take(name));
    parts.push({ text, items, collapsed: true });
  }
  parts.push({ text: 'More', items: [...left.keys()].flatMap((name) => take(name)) });
  return parts.filter((part) => part.items.length > 0);
}
