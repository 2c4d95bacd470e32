/**
 * What a release changes in the sources: every place that names the version, and the head of the changelog. Changes no
 * file.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The places that name the version, by file. Each pattern has the version as its group. */
const PLACES = {
  'package.json': [/^ {2}"version": "(.+)",$/m],
  // The second one is the entry of the root package.
  'package-lock.json': [/^ {2}"version": "(.+)",$/m, /^ {6}"version": "(.+)",$/m],
  'packages/client/package.json': [/^ {2}"version": "(.+)",$/m],
  'packages/client/README.md': [/signalbox-client-(.+)\.tgz/],
  'clients/python/pyproject.toml': [/^version = "(.+)"$/m],
  'deploy/helm/signalbox/Chart.yaml': [/^version: (.+)$/m, /^appVersion: (.+)$/m],
  'examples/qa-suite/package.json': [/"signalbox": "file:signalbox-(.+)\.tgz"/],
  'docs/testing.md': [/\.\/signalbox-(.+)\.tgz/],
  'docs/kubernetes.md': [
    /docker build -t \S+\/signalbox:(\S+)/,
    /docker push \S+\/signalbox:(\S+)/,
    /^ +tag: (\d\S+)$/m,
  ],
};
const UNRELEASED = '## [Unreleased]\n';

/**
 * The files that name the version, as they are in a release.
 * @param root the folder of the repository
 * @returns the new text of each file that changes, by its path
 * @throws if a place does not name the current version of package.json
 */
export async function withVersion(root, version) {
  const read = (path) => readFile(join(root, path), 'utf8');
  const { version: current } = JSON.parse(await read('package.json'));
  const edits = new Map();
  for (const [path, patterns] of Object.entries(PLACES)) {
    const before = await read(path);
    let after = before;
    for (const pattern of patterns) {
      const [place, found] = pattern.exec(after) ?? [];
      if (found !== current)
        throw new Error(`${path}: expected ${current} at ${pattern}, found ${found ?? 'nothing'}.`);
      after = after.replace(pattern, () => place.replace(current, version));
    }
    if (after !== before) edits.set(path, after);
  }
  return edits;
}

/**
 * Gives the section "Unreleased" of the changelog the version and the date (`YYYY-MM-DD`), below a new, empty one.
 * @returns the new changelog, and the text of the section
 * @throws if the section is missing or empty
 */
export function withReleasedSection(changelog, version, date) {
  const [before, after] = changelog.split(UNRELEASED);
  if (after === undefined) throw new Error('CHANGELOG.md has no section "Unreleased".');
  const end = after.search(/^## /m);
  const notes = (end === -1 ? after : after.slice(0, end)).trim();
  if (notes === '') throw new Error('The section "Unreleased" of CHANGELOG.md is empty.');
  const rest = end === -1 ? '' : `\n${after.slice(end)}`;
  return { changelog: `${before}${UNRELEASED}\n## [${version}] - ${date}\n\n${notes}\n${rest}`, notes };
}
