/**
 * `npm run release:files -- <folder>`: makes the files of a release from this checkout: the packages of the service and
 * of the TypeScript client, the Helm chart, the bill of materials, and `SHA256SUMS`. Fails if a package contains a file
 * that no rule allows, or lacks one that it needs.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, matchesGlob, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const run = promisify(execFile);
const MODULES = ['js', 'js.map', 'd.ts'];

/** What each package may contain, and what it must. Texts such as the README and the license are npm's own choice. */
const PACKAGES = [
  {
    folder: join(ROOT, 'packages/client'),
    allowed: ['LICENSE', 'README.md', 'package.json', ...MODULES.map((type) => `lib/*.${type}`)],
    refused: ['**/*.spec.*'],
    required: ['LICENSE', 'README.md', 'lib/index.js', 'lib/index.d.ts'],
  },
  {
    folder: ROOT,
    allowed: [
      'LICENSE',
      'README.md',
      'package.json',
      'bin/signalbox.mjs',
      ...MODULES.map((type) => `lib/**/*.${type}`),
      'lib/platform/database/{functions,migrations}/*.sql',
      'lib/platform/pages/face/*.{css,svg}',
      'lib/web/index.html',
      'lib/web/assets/*.{js,css,svg,png}{,.br,.gz}',
      'lib/web/assets/*.woff2',
    ],
    refused: ['**/*.spec.*', '**/test/**', '**/.env*'],
    required: [
      'LICENSE',
      'README.md',
      'bin/signalbox.mjs',
      'lib/main.js',
      'lib/boot/testing/testing.d.ts',
      'lib/platform/database/migrations/1763700000000-baseline.sql',
      'lib/platform/pages/face/tokens.css',
      'lib/web/index.html',
    ],
  },
];

const [target] = process.argv.slice(2);
if (target === undefined) throw new Error('Name the folder for the files.');
const folder = resolve(target);
await mkdir(folder, { recursive: true });
if ((await readdir(folder)).length > 0) throw new Error(`${folder} is not empty.`);

const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
for (const rules of PACKAGES) await pack(rules);
await run('tar', [
  '-czf',
  join(folder, `signalbox-chart-${version}.tgz`),
  '-C',
  join(ROOT, 'deploy/helm'),
  'signalbox',
]);
await run(process.execPath, [join(ROOT, 'scripts/sbom.mjs'), join(folder, `signalbox-${version}.cdx.json`)]);
await writeChecksums();

async function pack({ folder: source, allowed, refused, required }) {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: source,
    maxBuffer: 16 * 1024 * 1024,
  });
  // npm 11 returns an array, later versions an object.
  const [{ filename, files }] = Object.values(JSON.parse(stdout));
  const paths = files.map(({ path }) => path);
  const matches = (path, patterns) => patterns.some((pattern) => matchesGlob(path, pattern));
  const faults = [
    ...paths
      .filter((path) => !matches(path, allowed) || matches(path, refused))
      .map((path) => `${path} is not allowed`),
    ...required.filter((path) => !paths.includes(path)).map((path) => `${path} is missing`),
  ];
  if (faults.length > 0) throw new Error(`${filename}:\n${faults.join('\n')}`);
  console.log(`${filename}: ${paths.length} files, all allowed.`);
}

/** In the format of `sha256sum --check`. */
async function writeChecksums() {
  const lines = [];
  for (const name of (await readdir(folder)).sort()) {
    const content = await readFile(join(folder, name));
    lines.push(`${createHash('sha256').update(content).digest('hex')}  ${name}\n`);
  }
  await writeFile(join(folder, 'SHA256SUMS'), lines.join(''));
  console.log(`SHA256SUMS: ${lines.length} files.`);
}
