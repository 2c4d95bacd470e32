import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Installs packages from the npm registry, unless the exact versions are there from an earlier run.
 * @param {string} folder
 * @param {Record<string, string>} packages versions by name
 */
export async function installPackages(folder, packages) {
  const all = Object.entries(packages);
  if (all.every(([name, version]) => installedPackage(folder, name)?.version === version)) return;
  await mkdir(folder, { recursive: true });
  const specs = all.map(([name, version]) => `${name}@${version}`);
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error', '--save-exact'];
  const { status } = spawnSync('npm', ['install', '--prefix', folder, ...options, ...specs], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error(`npm could not install ${specs.join(', ')}.`);
}

/** The `package.json` of an installed package; undefined if it is not installed. */
export function installedPackage(folder, name) {
  const file = join(folder, 'node_modules', name, 'package.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}
