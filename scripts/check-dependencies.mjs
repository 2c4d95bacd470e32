/**
 * `npm run check:dependencies`: checks the locked packages against the rules and the accepted exceptions in
 * `dependency-record.json`. It queries no registry, so the same lock always has the same result. `docs/dependencies.md`
 * explains the rules. An unnecessary exception is also an error.
 */
import { readdir, readFile } from 'node:fs/promises';

const ROOT = new URL('../', import.meta.url);
const read = async (path) => JSON.parse(await readFile(new URL(path, ROOT), 'utf8'));
const [manifest, lock, record] = await Promise.all(
  ['package.json', 'package-lock.json', 'scripts/dependency-record.json'].map(read),
);
const faults = [];
const unneeded = new Set();
for (const list of ['otherLicences', 'installScripts', 'usedByOthers', 'deprecated']) {
  for (const name of Object.keys(record[list])) unneeded.add(`${list}: ${name}`);
}
for (const { package: name, accepted } of record.advisories) {
  for (const parent of Object.keys(accepted)) unneeded.add(`advisories: ${name} in ${parent}`);
}

/** Whether the record accepts this exception. Marks the exception as needed. */
function isAccepted(list, name) {
  unneeded.delete(`${list}: ${name}`);
  return Object.hasOwn(record[list], name);
}

const locked = Object.entries(lock.packages)
  .filter(([path]) => path !== '')
  .map(([path, entry]) => ({ path, name: entry.name ?? path.split('node_modules/').at(-1), ...entry }));

for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })) {
  if (!/^(npm:.+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) faults.push(`${name}: ${version} is not an exact version.`);
}

for (const { path, name, version, integrity, optional, os, cpu, license, hasInstallScript, deprecated } of locked) {
  // `npm run lock:complete` adds packages of other platforms without an integrity hash.
  const isOfPlatform = optional === true && (os !== undefined || cpu !== undefined);
  if (integrity === undefined && !isOfPlatform) faults.push(`${path} has no integrity hash.`);
  if (
    license === undefined ? !isOfPlatform : !record.licences.includes(license) && !isAccepted('otherLicences', license)
  ) {
    faults.push(`${path} has the license ${license}, which the record does not accept.`);
  }
  if (hasInstallScript && !Object.hasOwn(manifest.allowScripts, name) && !isAccepted('installScripts', name)) {
    faults.push(`${path} has an install script that allowScripts neither allows nor denies.`);
  }
  if (deprecated !== undefined && !isAccepted('deprecated', name)) faults.push(`${path} is deprecated: ${deprecated}`);
  for (const advisory of record.advisories) {
    if (name !== advisory.package || !isBefore(version, advisory.before)) continue;
    const parent = Object.keys(advisory.accepted).find((known) => path.startsWith(`node_modules/${known}/`));
    if (parent === undefined) faults.push(`${path}@${version}: ${advisory.fault}`);
    else unneeded.delete(`advisories: ${name} in ${parent}`);
  }
}

for (const name of Object.keys(manifest.allowScripts)) {
  if (!locked.some((entry) => entry.name === name && entry.hasInstallScript)) {
    faults.push(`allowScripts names ${name}, which has no install script.`);
  }
}

for (const name of record.oneVersion) {
  const versions = new Set(locked.filter((entry) => entry.name === name && !entry.dev).map((entry) => entry.version));
  if (versions.size !== 1) faults.push(`${name} is locked in ${versions.size} versions: ${[...versions].join(', ')}.`);
}

const source = (await textOf('src')) + (await textOf('packages'));
for (const name of Object.keys(manifest.dependencies)) {
  const isUsed = source.includes(`'${name}'`) || source.includes(`'${name}/`);
  if (!isUsed && !isAccepted('usedByOthers', name)) faults.push(`${name} is imported neither in src nor in packages.`);
}

faults.push(...[...unneeded].map((exception) => `The record contains an unnecessary exception: ${exception}.`));
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
else console.log(`${locked.length} locked packages comply with the rules.`);

async function textOf(folder) {
  const entries = await readdir(new URL(folder, ROOT), { recursive: true });
  const files = entries.filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'));
  return (await Promise.all(files.map((name) => readFile(new URL(`${folder}/${name}`, ROOT), 'utf8')))).join('\n');
}

/** Whether a version precedes another. Compares only the numbers, not the prerelease. */
function isBefore(version, limit) {
  const [one, other] = [version, limit].map((text) => text.split('-')[0].split('.').map(Number));
  const at = one.findIndex((number, index) => number !== other[index]);
  return at !== -1 && one[at] < other[at];
}
