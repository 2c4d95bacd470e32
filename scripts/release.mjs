/**
 * `npm run release -- <version> [--confirm] [--skip-check] [--skip-files]`: a release of the committed sources, as
 * docs/releasing.md describes it. Without `--confirm` it changes nothing: it checks, shows every change, and makes the
 * files of the release from the sources as they are, in a temporary folder.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { withReleasedSection, withVersion } from './release-edits.mjs';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const BRANCH = 'main';
/** Where the files of a confirmed release go. Not in Git. */
const FILES = join(ROOT, 'release');

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    confirm: { type: 'boolean', default: false },
    'skip-check': { type: 'boolean', default: false },
    'skip-files': { type: 'boolean', default: false },
  },
});
const [version = ''] = positionals;
const tag = `v${version}`;
const skipped = [
  values['skip-check'] && 'npm run check',
  values['skip-files'] && 'packages and bill of materials',
].filter((each) => each !== false);

try {
  await release();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

async function release() {
  await refuseUnlessReady();
  if (!values['skip-check']) await run('npm', 'run', 'check');
  const edits = await withVersion(ROOT, version);
  const date = new Date().toISOString().slice(0, 10);
  const { changelog, notes } = withReleasedSection(await readFile(join(ROOT, 'CHANGELOG.md'), 'utf8'), version, date);
  edits.set('CHANGELOG.md', changelog);
  for (const what of skipped) console.log(`SKIPPED: ${what}.`);
  await (values.confirm ? publish(edits, notes) : preview(edits));
}

/** Makes the release in this repository. A failure restores the sources. */
async function publish(edits, notes) {
  const paths = [...edits.keys()];
  try {
    for (const [path, text] of edits) await writeFile(join(ROOT, path), text);
    if (!values['skip-files']) {
      await rm(FILES, { recursive: true, force: true });
      await run(process.execPath, 'scripts/release-files.mjs', FILES);
    }
    await run('git', 'commit', '--quiet', '--message', `chore(release): set the version to ${version}`, '--', ...paths);
  } catch (error) {
    await run('git', 'restore', '--staged', '--worktree', '--', ...paths);
    throw error;
  }
  const text = [`Signalbox ${version}`, notes, ...skipped.map((what) => `Skipped: ${what}.`)].join('\n\n');
  // Headings start with the character that Git takes for a comment.
  await run('git', 'tag', '--annotate', tag, '--cleanup', 'whitespace', '--message', text);
  console.log(`Committed and tagged ${tag}. To publish it: git push origin ${BRANCH} ${tag}`);
}

async function preview(edits) {
  for (const [path, after] of edits) {
    const before = (await readFile(join(ROOT, path), 'utf8')).split('\n');
    const added = after.split('\n').filter((line) => !before.includes(line));
    for (const line of added) console.log(`${path}: ${line.trim()}`);
  }
  if (!values['skip-files']) {
    const folder = await mkdtemp(join(tmpdir(), 'signalbox-release-'));
    try {
      await run(process.execPath, 'scripts/release-files.mjs', folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  console.log(`Nothing was changed. To commit and tag ${tag}, add --confirm.`);
}

/** @throws with the reason why this version cannot be released from this checkout */
async function refuseUnlessReady() {
  if (!/^\d+\.\d+\.\d+(-[\da-z]+(\.[\da-z]+)*)?$/.test(version)) {
    throw new Error(
      'Usage: npm run release -- <version> [--confirm] [--skip-check] [--skip-files], such as 1.2.3 or 1.2.3-rc.1',
    );
  }
  const { version: current } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  const numbers = (text) => text.split('-')[0].split('.').map(Number);
  const [next, last] = [numbers(version), numbers(current)];
  const at = next.findIndex((number, index) => number !== last[index]);
  if (at !== -1 && next[at] < last[at]) throw new Error(`${version} is older than the current version ${current}.`);
  const branch = await outputOf('git', 'branch', '--show-current');
  if (branch !== BRANCH) throw new Error(`Release from ${BRANCH}: this is ${branch === '' ? 'no branch' : branch}.`);
  const changes = await outputOf('git', 'status', '--porcelain');
  if (changes !== '') throw new Error(`Commit or remove the changes first:\n${changes}`);
  if ((await outputOf('git', 'tag', '--list', tag)) !== '') throw new Error(`${tag} exists already.`);
}

/** Runs a program, whose output goes to the terminal. @throws if it fails */
async function run(program, ...args) {
  const child = spawn(program, args, { cwd: ROOT, stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${program} ${args.slice(0, 2).join(' ')} failed.`);
}

async function outputOf(program, ...args) {
  const child = spawn(program, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  const [output, [code]] = await Promise.all([child.stdout.toArray(), once(child, 'exit')]);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} failed.`);
  return Buffer.concat(output).toString().trim();
}
