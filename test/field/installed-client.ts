import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { npm } from '../package/npm.js';

/** A package with the exact version that is tested. */
export interface ClientPackage {
  name: string;
  version: string;
}

const MANIFEST = new URL('clients.json', import.meta.url);
/** Between runs, the clients stay here. */
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/field-clients', import.meta.url));

export async function readManifest(): Promise<ClientPackage[]> {
  return JSON.parse(await readFile(MANIFEST, 'utf8')) as ClientPackage[];
}

/**
 * Installs a client from the npm registry, unless an earlier run has. Each has a folder of its own, as dependencies of
 * one can exclude those of another.
 *
 * @returns the folder
 */
export async function install({ name, version }: ClientPackage): Promise<string> {
  const folder = join(CACHE, `${name.replace('/', '+')}@${version}`);
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true });
  await writeFile(join(unfinished, 'package.json'), '{ "private": true }');
  await npm(unfinished, ['install', '--no-audit', '--no-fund', '--save-exact', `${name}@${version}`]);
  await rename(unfinished, folder);
  return folder;
}

/** The file that npm links as this command of the client. */
export const commandOf = (folder: string, command: string): string => join(folder, 'node_modules/.bin', command);
