import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode, errorMessage } from './embedded-postgres-error.js';
import { findPostmaster } from './postmaster.js';

/** The file next to a cluster that says whose it is. PostgreSQL's user can write only in the cluster itself. */
const SUFFIX = '.owner.json';

/** The data folder of a cluster that is elsewhere. */
interface ClusterOwner {
  readonly dataFolder: string;
  /** The file system of the data folder. A folder that is away with its file system is not deleted. */
  readonly device: number;
}

/** The folder below the shared root that has the clusters which their user cannot reach in their data folders. */
export function clustersFolder(sharedRoot: string): string {
  return join(sharedRoot, 'clusters');
}

/** Notes in a cluster below `sharedRoot` to which data folder it belongs. */
export async function noteOwner(cluster: string, dataFolder: string, sharedRoot: string): Promise<void> {
  if (dirname(cluster) !== clustersFolder(sharedRoot)) return;
  const owner: ClusterOwner = { dataFolder, device: (await stat(dataFolder)).dev };
  await writeFile(`${cluster}${SUFFIX}`, JSON.stringify(owner));
}

/**
 * Removes the clusters below `sharedRoot` whose data folders were deleted. Keeps those that run, those that do not name
 * their data folder, and those whose file system is not mounted. Never rejects: the start of a service does not depend
 * on it.
 */
export async function removeAbandonedClusters(sharedRoot: string, log: (line: string) => void): Promise<void> {
  const folder = clustersFolder(sharedRoot);
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.endsWith(SUFFIX)) continue;
    const cluster = join(folder, name.slice(0, -SUFFIX.length));
    try {
      const dataFolder = await deletedDataFolder(cluster);
      if (dataFolder === undefined || (await findPostmaster(cluster, 0)) !== undefined) continue;
      await rm(cluster, { recursive: true, force: true });
      await rm(`${cluster}${SUFFIX}`, { force: true });
      log(`Removed the cluster ${cluster}: its data folder ${dataFolder} was deleted.`);
    } catch (error) {
      log(`The cluster ${cluster} of a deleted data folder stays: ${errorMessage(error)}`);
    }
  }
}

/** The data folder of a cluster if it was deleted; undefined if it exists, or may exist. */
async function deletedDataFolder(cluster: string): Promise<string | undefined> {
  const { dataFolder, device } = JSON.parse(await readFile(`${cluster}${SUFFIX}`, 'utf8')) as ClusterOwner;
  if (await exists(dataFolder)) return undefined;
  return (await deviceAbove(dataFolder)) === device ? dataFolder : undefined;
}

/** The file system of the closest folder above a path that exists. */
async function deviceAbove(path: string): Promise<number> {
  const parent = dirname(path);
  return (await exists(parent)) ? (await stat(parent)).dev : deviceAbove(parent);
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}
