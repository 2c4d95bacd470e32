/**
 * `npm run docs:build [-- <folder>]`: builds the documentation site from the Markdown of the repository, by default
 * into `site/`. `docs/navigation.json` names its pages. The site loads nothing from other hosts and needs no server:
 * open `index.html`. Fails at a link to a file or heading that does not exist, and at a page below `docs/` that the
 * navigation does not name.
 */
import { cp, glob, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, posix, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { escaped, renderPage } from './docs-site/markdown.mjs';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const ASSETS = ['style.css', 'search.js'];
/** Where the files that pages link to are, next to the pages. */
const SOURCES = 'source';

const target = resolve(process.argv[2] ?? join(ROOT, 'site'));
const navigation = JSON.parse(await readFile(join(ROOT, 'docs/navigation.json'), 'utf8'));
const sections = await Promise.all(
  navigation.map(async (section) => ({ ...section, pages: await pathsOf(section.pages) })),
);
const paths = sections.flatMap(({ pages }) => pages);
const faults = [];
const copies = new Set();
/** `path#anchor` of every link to a heading, with the page that has it. */
const anchors = new Map();
const pages = new Map();

for (const path of await pathsOf(['docs/**/*.md'])) {
  if (!paths.includes(path)) faults.push(`docs/navigation.json does not name ${path}.`);
}
const isFolder = new Map();
for (const path of paths) {
  const source = await readFile(join(ROOT, path), 'utf8');
  for (const [, href] of source.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)) await lookUp(posix.join(posix.dirname(path), href));
  pages.set(
    path,
    renderPage(source, path, (...link) => addressOf(path, ...link)),
  );
}
for (const [link, page] of anchors) {
  const [path, anchor] = link.split('#');
  if (!pages.get(path).headings.some((heading) => heading.anchor === anchor)) {
    faults.push(`${page}: ${path} has no heading #${anchor}.`);
  }
}
if (faults.length > 0) {
  for (const fault of faults) console.error(fault);
  process.exit(1);
}

await rm(target, { recursive: true, force: true });
for (const path of paths) await write(outputOf(path), pageHtml(path));
for (const path of copies) await cp(join(ROOT, path), await prepared(`${SOURCES}/${path}`));
for (const name of ASSETS) await cp(join(ROOT, 'scripts/docs-site', name), await prepared(name));
const index = paths.map((path) => ({ url: outputOf(path), title: nameOf(path), text: pages.get(path).text }));
// A script instead of JSON, because pages that are opened as files cannot fetch.
await write('search-index.js', `globalThis.searchIndex = ${JSON.stringify(index)};\n`);
console.log(`${target}: ${paths.length} pages, ${anchors.size} links to headings, ${copies.size} other files.`);

async function pathsOf(patterns) {
  const found = await Promise.all(patterns.map((pattern) => Array.fromAsync(glob(pattern, { cwd: ROOT }))));
  return found.flatMap((each) => each.sort());
}

async function lookUp(path) {
  isFolder.set(
    path,
    await stat(join(ROOT, path)).then(
      (found) => found.isDirectory(),
      () => undefined,
    ),
  );
}

/** The file of a page in the site: the README first, pages of `docs/` next to it, the others by their path. */
function outputOf(path) {
  return path
    .replace(/^README\.md$/, 'index.md')
    .replace(/^docs\//, '')
    .replace(/\.md$/, '.html')
    .toLowerCase();
}

/** The address of a link on `page`, relative to it. Undefined for a folder without a page. */
function addressOf(page, path, anchor) {
  const found = path.replace(/\/$/, '');
  const linked = isFolder.get(path) ? `${found}/README.md` : found;
  const fragment = anchor === undefined ? '' : `#${anchor}`;
  if (paths.includes(linked)) {
    if (anchor !== undefined) anchors.set(`${linked}#${anchor}`, page);
    return relative(page, outputOf(linked)) + fragment;
  }
  if (path !== page && isFolder.get(path) === undefined) faults.push(`${page}: ${path} does not exist.`);
  if (isFolder.get(path)) return undefined;
  copies.add(found);
  return relative(page, `${SOURCES}/${found}`);
}

/** The title of a page in the menu: its heading, unless the navigation has another one. */
function nameOf(path) {
  return sections.find(({ pages: each }) => each.includes(path)).titles?.[path] ?? pages.get(path).title;
}

function relative(page, file) {
  return posix.relative(posix.dirname(outputOf(page)), file);
}

function pageHtml(path) {
  const { html, headings } = pages.get(path);
  const at = (file) => relative(path, file);
  const item = (page) =>
    `<li><a href="${at(outputOf(page))}"${page === path ? ' aria-current="page"' : ''}>${escaped(nameOf(page))}</a></li>`;
  const menu = sections.map(({ title: name, pages: each }) => {
    return `<details${each.includes(path) ? ' open' : ''}><summary>${escaped(name)}</summary><ul>${each.map(item).join('')}</ul></details>`;
  });
  const outline = headings.filter(({ depth }) => depth === 2 || depth === 3);
  const contents = outline.map(
    ({ depth, text, anchor }) => `<li class="depth-${depth}"><a href="#${anchor}">${escaped(text)}</a></li>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${escaped(nameOf(path))} · Signalbox</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${at('style.css')}">
<script defer src="${at('search-index.js')}"></script>
<script defer src="${at('search.js')}"></script>
</head>
<body data-root="${at('index.html').slice(0, -'index.html'.length)}">
<a class="skip" href="#content">Skip to the content</a>
<nav class="menu" aria-label="Pages">
<search><input type="search" placeholder="Search" aria-label="Search the documentation"><ol class="results" aria-live="polite"></ol></search>
${menu.join('\n')}
</nav>
<main id="content">
${html}</main>
<nav class="outline" aria-label="On this page">${contents.length > 1 ? `<p>On this page</p><ul>${contents.join('')}</ul>` : ''}</nav>
</body>
</html>
`;
}

async function prepared(file) {
  const path = join(target, file);
  await mkdir(dirname(path), { recursive: true });
  return path;
}

async function write(file, text) {
  await writeFile(await prepared(file), text);
}
