/**
 * `npm run build`: leaves `dist` as a link to a complete build of the present sources. Each build has a folder of its
 * own, `.builds/<fingerprint of its inputs>`, which never changes: a service that runs from an older build keeps its
 * files, and a start that finds a current build takes it as it is. `docs/decisions/2026-11-22-builds.md` gives the
 * reasons.
 */
import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  copyFile,
  link,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const DIST = join(ROOT, 'dist');
const BUILDS = join(ROOT, '.builds');
const require = createRequire(join(ROOT, 'package.json'));
/** What decides over the output, besides the sources. */
const INPUTS = [
  'package.json',
  'package-lock.json',
  'nest-cli.json',
  'tsconfig.json',
  'tsconfig.build.json',
  '.swcrc',
  'packages/tsconfig.json',
  'scripts/build.mjs',
  'scripts/build-console.mjs',
  'scripts/build-service.mjs',
];
const SOURCES = ['src', 'packages/client/src', 'packages/cli/src', 'web'];
const SOURCE_FILE = /\.(?:ts|tsx|sql|css|html|json|svg|woff2|png)$/;
/** A service may run from a build that no start has used for this long; its files go after it. */
const KEPT_MS = 30 * 24 * 3_600_000;
/** Each is a chance for the sources to hold still. */
const ATTEMPTS = 3;
const NO_COMPILERS =
  'The sources are not built yet, and the development packages that build them are not installed. Run `npm ci ' +
  '--include=dev`: with NODE_ENV=production, npm leaves them out.';

/** The compiler that runs. */
let compiler;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  // The end of the compiler removes the unfinished build, and ends this process.
  process.on(signal, () => compiler?.kill(signal) ?? process.exit(128 + constants.signals[signal]));
}

await mkdir(BUILDS, { recursive: true });
const name = await ensureBuild();
await pointDistAt(name);
await removeUnusedBuilds();

/** Returns the name of a complete build of the sources as they are. */
async function ensureBuild() {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const fingerprint = await fingerprintOfInputs();
    const folder = join(BUILDS, fingerprint);
    if (await exists(join(folder, 'dist/main.js'))) {
      const now = new Date();
      await utimes(folder, now, now);
      return fingerprint;
    }
    if (!hasCompilers()) {
      process.stderr.write(`${NO_COMPILERS}\n`);
      process.exit(1);
    }
    const unfinished = join(BUILDS, `unfinished-${randomUUID()}`);
    try {
      await compileTo(unfinished);
      // Sources that were changed meanwhile may have been compiled before and after the change.
      if ((await fingerprintOfInputs()) !== fingerprint) continue;
      await shareUnchangedFiles(unfinished);
      await rename(unfinished, folder).catch(ignore('EEXIST', 'ENOTEMPTY')); // Another process was faster.
      return fingerprint;
    } finally {
      await rm(unfinished, { recursive: true, force: true });
    }
  }
  throw new Error('The sources changed during each attempt to build them.');
}

/** The same for the same inputs, whatever their times are. Specs are not built. */
async function fingerprintOfInputs() {
  const files = await Promise.all(
    SOURCES.map(async (folder) =>
      (await readdir(join(ROOT, folder), { recursive: true })).map((path) => `${folder}/${path}`),
    ),
  );
  const sources = files.flat().filter((path) => SOURCE_FILE.test(path) && !path.endsWith('.spec.ts'));
  const paths = [...INPUTS, ...sources.sort()];
  const contents = await Promise.all(paths.map((path) => readFile(join(ROOT, path))));
  const hash = createHash('sha256');
  for (const [index, path] of paths.entries())
    hash.update(`${path}\0${contents[index].length}\0`).update(contents[index]);
  return hash.digest('hex').slice(0, 16);
}

/** Ends the process when there is a type error, which the compiler has printed by then, or a signal. */
async function compileTo(folder) {
  await mkdir(folder);
  // The build reads its version from the package file next to it.
  await copyFile(join(ROOT, 'package.json'), join(folder, 'package.json'));
  const config = join(folder, 'tsconfig.json');
  await writeFile(
    config,
    JSON.stringify({ extends: '../../tsconfig.build.json', compilerOptions: { outDir: 'dist' } }),
  );
  for (const [script, ...args] of [
    ['@nestjs/cli/bin/nest.js', 'build', '--path', relative(ROOT, config)],
    // The command line and the client it uses, in `dist/packages`. They import nothing of the service.
    ['typescript/bin/tsc', '--project', 'packages', '--outDir', join(folder, 'dist/packages')],
    [join(ROOT, 'scripts/build-console.mjs'), join(folder, 'dist/web')],
    [join(ROOT, 'scripts/build-service.mjs'), join(folder, 'dist')],
  ]) {
    // Its spinner never ends in a terminal that has no width.
    const env = { ...process.env, CI: 'true' };
    compiler = spawn(process.execPath, [require.resolve(script), ...args], { cwd: ROOT, stdio: 'inherit', env });
    const [code, signal] = await once(compiler, 'exit');
    compiler = undefined;
    if (code === 0) continue;
    await rm(folder, { recursive: true, force: true });
    process.exit(code ?? 128 + constants.signals[signal]);
  }
}

function hasCompilers() {
  try {
    return require.resolve('@nestjs/cli/bin/nest.js') !== undefined;
  } catch {
    return false;
  }
}

/** Files that the current build has as well are linked to it, so that many builds take little room. */
async function shareUnchangedFiles(folder) {
  const entries = await readdir(join(folder, 'dist'), { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((each) => each.isFile())) {
    const file = join(entry.parentPath, entry.name);
    const current = join(DIST, file.slice(join(folder, 'dist').length));
    const [one, other] = await Promise.all([readFile(file), readFile(current).catch(ignore('ENOENT', 'ENOTDIR'))]);
    if (other === undefined || !one.equals(other)) continue;
    // Where a file system has no links, or a file too many of them, the copy stays.
    await link(current, `${file}.shared`).then(
      () => rename(`${file}.shared`, file),
      ignore('EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP'),
    );
  }
}

/** Replaces the link in one step: at any moment `dist` names a complete build. */
async function pointDistAt(fingerprint) {
  const target = join('.builds', fingerprint, 'dist');
  if ((await readlink(DIST).catch(ignore('ENOENT', 'EINVAL'))) === target) return;
  const next = join(BUILDS, `link-${randomUUID()}`);
  await symlink(target, next);
  try {
    await rename(next, DIST);
  } catch (error) {
    if (!['EISDIR', 'ENOTEMPTY', 'EEXIST'].includes(error.code)) throw error;
    // A folder, made by `nest build` itself.
    await rename(DIST, join(BUILDS, `folder-${randomUUID()}`));
    await rename(next, DIST);
  }
}

async function removeUnusedBuilds() {
  for (const entry of await readdir(BUILDS)) {
    const folder = join(BUILDS, entry);
    const found = await stat(folder).catch(ignore('ENOENT'));
    if (found !== undefined && Date.now() - found.mtimeMs > KEPT_MS) await rm(folder, { recursive: true, force: true });
  }
}

async function exists(path) {
  return (await stat(path).catch(ignore('ENOENT'))) !== undefined;
}

/** Handles an error with one of these codes by resolving with undefined. */
function ignore(...codes) {
  return (error) => {
    if (!codes.includes(error.code)) throw error;
  };
}
