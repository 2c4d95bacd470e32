/**
 * `node scripts/build-console.mjs <folder>`: builds the console (`web/`) into a folder. `scripts/build.mjs` calls it.
 * Every file is stored compressed as well, so that the service compresses nothing while it answers.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build } from 'vite';

const WEB = fileURLToPath(new URL('../web/', import.meta.url));
/** Smaller files are not worth another one. */
const WORTH_COMPRESSING = 1024;

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Name the folder to build into.');
await build({
  root: WEB,
  configFile: join(WEB, 'vite.config.ts'),
  logLevel: 'warn',
  build: { outDir: folder, emptyOutDir: true },
});
const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
await Promise.all(files.map((entry) => compress(join(entry.parentPath, entry.name))));

async function compress(path) {
  const content = await readFile(path);
  // The service writes a nonce into each copy of the page; fonts are compressed already.
  if (content.length < WORTH_COMPRESSING || path.endsWith('.html') || path.endsWith('.woff2')) return;
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
  await writeFile(`${path}.br`, await promisify(brotliCompress)(content, quality));
  await writeFile(`${path}.gz`, await promisify(gzip)(content, { level: 9 }));
}
