import { cp, mkdir, readdir, readFile, realpath } from 'node:fs/promises';
import { basename, dirname, join, matchesGlob } from 'node:path';

/**
 * Copies the build that `dist` of a checkout names, for `scripts/build.mjs` of another one to find. It takes it if all
 * that decides over the output is the same there.
 * @returns its name, the fingerprint of the sources
 */
export async function copyCurrentBuild(repository: string, target: string): Promise<string> {
  const current = dirname(await realpath(join(repository, 'dist')));
  const name = basename(current);
  await mkdir(join(target, '.builds'));
  await cp(current, join(target, '.builds', name), { recursive: true });
  return name;
}

/** Copies a file, or for `.` all, as far as `.dockerignore` leaves it in the context. */
export async function copyContext(repository: string, source: string, target: string): Promise<void> {
  const rules = (await readFile(join(repository, '.dockerignore'), 'utf8'))
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ isKept: line.startsWith('!'), pattern: line.replace(/^!/, '') }));
  /** The last rule that matches the path or a folder above it decides. */
  const isKept = (path: string): boolean => {
    const parts = path.split('/');
    const paths = parts.map((_, index) => parts.slice(0, index + 1).join('/'));
    return rules.findLast(({ pattern }) => paths.some((each) => matches(each, pattern)))?.isKept ?? true;
  };
  /** Whether a rule keeps something in the folder. */
  const canHold = (path: string): boolean => {
    const depth = path.split('/').length;
    const above = (pattern: string): string => pattern.split('/').slice(0, depth).join('/');
    return isKept(path) || rules.some(({ isKept, pattern }) => isKept && matches(path, above(pattern)));
  };
  const visit = async (path: string): Promise<void> => {
    for (const entry of await readdir(join(repository, path), { withFileTypes: true })) {
      const below = path === '' ? entry.name : `${path}/${entry.name}`;
      if (entry.isDirectory()) {
        if (canHold(below)) await visit(below);
      } else if (isKept(below)) await cp(join(repository, below), join(target, below));
    }
  };
  if (source === '.') await visit('');
  else if (isKept(source)) await cp(join(repository, source), join(target, source));
  else throw new Error(`.dockerignore excludes ${source}.`);
}

/** Unlike Node.js, Docker has no exception for names that begin with a dot: `*` stands for them too. */
function matches(path: string, pattern: string): boolean {
  const withoutDots = (text: string): string => text.replaceAll(/(^|\/)\./g, '$1dot-');
  return matchesGlob(withoutDots(path), withoutDots(pattern));
}
