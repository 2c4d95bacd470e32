import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SCRIPTS = ['build-docs.mjs', 'docs-site'];

let folder: string;
let site: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signalbox-site-'));
  site = join(folder, 'site');
  await build(ROOT);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function build(root: string): Promise<void> {
  await promisify(execFile)(process.execPath, [join(root, 'scripts/build-docs.mjs'), site]);
}

/** Builds the site of a repository with these files only. */
async function buildOf(files: Readonly<Record<string, string>>): Promise<void> {
  const root = await mkdtemp(join(folder, 'repository-'));
  for (const name of SCRIPTS) await cp(join(ROOT, 'scripts', name), join(root, 'scripts', name), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  const navigation = JSON.stringify([{ title: 'Pages', pages: ['docs/index.md', 'docs/other.md'] }]);
  for (const [path, text] of Object.entries({ 'docs/navigation.json': navigation, ...files })) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  await build(root);
}

describe('the documentation site', () => {
  it('has a page for every page of the documentation, with a menu that leads to all', async () => {
    const pages = (await readdir(join(ROOT, 'docs'), { recursive: true })).filter((name) => name.endsWith('.md'));
    const built = await readdir(site, { recursive: true });
    for (const page of pages) expect(built).toContain(page.replace(/\.md$/, '.html').toLowerCase());
    const index = await readFile(join(site, 'index.html'), 'utf8');
    const menu = index.slice(index.indexOf('class="menu"'), index.indexOf('<main'));
    for (const page of built.filter((name) => name.endsWith('.html'))) {
      if (!page.startsWith('source/')) expect(menu).toContain(`href="${page}"`);
    }
  });

  it('loads nothing from other hosts', async () => {
    for (const name of await readdir(site, { recursive: true })) {
      if (!/\.(html|css|js)$/.test(name) || name.startsWith('source/')) continue;
      const text = await readFile(join(site, name), 'utf8');
      if (name.endsWith('.html'))
        expect(text).not.toMatch(/<(?:script|img|link|iframe)[^>]*(?:src|href)="(?:https?:)?\/\//);
      if (name.endsWith('.css')) expect(text).not.toMatch(/url\(|@import/);
    }
  });

  it('links to files of the repository that are no pages', async () => {
    expect(await readFile(join(site, 'dependencies.html'), 'utf8')).toContain(
      'href="source/scripts/dependency-record.json"',
    );
    await expect(readFile(join(site, 'source/scripts/dependency-record.json'), 'utf8')).resolves.toContain('licences');
  });

  it('shows Markdown as text where it is code, and gives headings the anchors of GitHub', async () => {
    await buildOf({
      'docs/index.md':
        '# A\n\n## `x < y` & more\n\n## Same\n\n## Same\n\n```html\n<b>&amp;</b>\n```\n\n[1](#x--y--more) [2](#same-1)',
      'docs/other.md': '# B\n',
    });
    const html = await readFile(join(site, 'index.html'), 'utf8');
    expect(html).toContain('<code>&lt;b&gt;&amp;amp;&lt;/b&gt;\n</code>');
    expect(html).toContain('<h2 id="x--y--more">');
    expect(html).toContain('<h2 id="same-1">');
  });

  it.each([
    ['a dead link', '[x](missing.md)', 'docs/index.md: docs/missing.md does not exist.'],
    ['a dead link to a source', '[x](../src/missing.ts)', 'docs/index.md: src/missing.ts does not exist.'],
    ['a dead anchor of another page', '[x](other.md#gone)', 'docs/index.md: docs/other.md has no heading #gone.'],
    ['a dead anchor of the page', '[x](#gone)', 'docs/index.md: docs/index.md has no heading #gone.'],
    ['a picture of another host', '![x](https://example.com/x.png)', 'would load a picture from another host'],
  ])('is not built with %s', async (_, text, fault) => {
    await expect(buildOf({ 'docs/index.md': `# A\n\n${text}\n`, 'docs/other.md': '# B\n' })).rejects.toThrow(fault);
  });

  it('is not built with a page that the navigation does not name', async () => {
    const files = { 'docs/index.md': '# A\n', 'docs/other.md': '# B\n', 'docs/lost.md': '# C\n' };
    await expect(buildOf(files)).rejects.toThrow('docs/navigation.json does not name docs/lost.md.');
  });
});
