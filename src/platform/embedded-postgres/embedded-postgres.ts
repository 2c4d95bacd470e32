import { locateBinaries, prepareBinaries } from './binaries.js';
import {
  createCluster,
  findClusterFolder,
  userOfCluster,
  type Cluster,
  noteDataFolder,
  removeAbandonedClusters,
} from './cluster.js';
import {
  findDataFolder,
  openDataFolder,
  readOrCreatePassword,
  readPassword,
  type DataFolder,
  chooseUser,
} from './data-folder.js';
import { EmbeddedPostgresError, toEmbeddedPostgresError } from './embedded-postgres-error.js';
import { OwnedServer, connect, OwnerLock } from './owned-server.js';
import { findPostmaster, stopPostmaster } from './postmaster.js';
import { ensureServer } from './server.js';

interface EmbeddedPostgresOptions {
  /** DATA_DIR. Created if it is missing; the cluster is its folder `postgres`. */
  dataDir: string;
  /** Receives messages for the operator: a new cluster, an adopted server, a restart. */
  log?: (line: string) => void;
}

export interface EmbeddedPostgres {
  /** `postgres://postgres:<password>@127.0.0.1:<port>/signalbox`. Contains a password: do not log it. */
  readonly url: string;
  /** Stops the server. Safe to call more than once. */
  stop(): Promise<void>;
}

const DATABASE = 'signalbox';
/** Holds PostgreSQL when its system user cannot enter the installation or the data folder. Used only as root. */
export const SHARED_ROOT = '/var/lib/signalbox';
/** How long to wait for a server that is starting or stopping. */
const WAIT_MS = 30_000;
const ATTEMPTS = 5;

/**
 * Starts the PostgreSQL of a data folder and takes ownership of it. Adopts a server that a killed service left running.
 * @throws EmbeddedPostgresError if the server cannot start, or if another process owns the data folder
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { dataDir, log = () => undefined } = options;
  try {
    const folder = await openDataFolder(dataDir);
    const { cluster, password } = await ensureCluster(folder, log);
    const server = await ownServer(cluster, password, log);
    return { url: urlOf(server.port, password), stop: () => server.stop() };
  } catch (error) {
    throw toEmbeddedPostgresError(error, dataDir);
  }
}

/**
 * The server that a running service started on the data folder, for scripts that run next to that service. Undefined if
 * no server runs.
 * @throws EmbeddedPostgresError if the running server is unusable
 */
export async function attachEmbeddedPostgres(dataDir: string): Promise<{ url: string } | undefined> {
  try {
    const folder = await findDataFolder(dataDir);
    const path = folder && (await findClusterFolder(folder, (await locateBinaries()).major));
    const postmaster = path && (await findPostmaster(path, Date.now() + WAIT_MS));
    if (!postmaster) return undefined;
    const password = await readPassword(folder);
    const client = await connect({ port: postmaster.port, password }, DATABASE, `signalbox script ${process.pid}`);
    await client.end();
    return { url: urlOf(postmaster.port, password) };
  } catch (error) {
    throw toEmbeddedPostgresError(error, dataDir);
  }
}

async function ensureCluster(
  folder: DataFolder,
  log: (line: string) => void,
): Promise<{ cluster: Cluster; password: string }> {
  const located = await locateBinaries();
  const existing = await findClusterFolder(folder, located.major);
  const user = existing ? await userOfCluster(existing) : await chooseUser();
  const binaries = await prepareBinaries(located, user, SHARED_ROOT, log);
  const password = existing ? await readPassword(folder) : await readOrCreatePassword(folder);
  if (!existing) await createCluster({ folder, user, binaries, password, sharedRoot: SHARED_ROOT, log });
  const path = existing ?? (await findClusterFolder(folder, located.major));
  if (!path) throw new EmbeddedPostgresError(`The cluster ${folder.cluster} was removed during its creation.`);
  if (user) {
    await noteDataFolder(path, folder.root, SHARED_ROOT);
    await removeAbandonedClusters(SHARED_ROOT, log);
  }
  return { cluster: { folder: path, dataDir: folder.root, logFile: folder.logFile, user, binaries }, password };
}

/** Takes ownership of the cluster's server and creates the service's database. Stops the server again on failure. */
async function ownServer(cluster: Cluster, password: string, log: (line: string) => void): Promise<OwnedServer> {
  const { lock, port } = await takeOwnership(cluster, password, log);
  const server = new OwnedServer({ cluster, port, password, lock, log });
  try {
    await lock.ensureDatabase(DATABASE);
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function takeOwnership(
  cluster: Cluster,
  password: string,
  log: (line: string) => void,
): Promise<{ lock: OwnerLock; port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const { port, found } = await ensureServer(cluster);
    const outcome = await OwnerLock.acquire({ port, password }).catch(async (error: unknown) => {
      const running = await findPostmaster(cluster.folder, Date.now() + WAIT_MS);
      // Its owner stopped the found server in the meantime.
      if (running?.port !== port && attempt < ATTEMPTS) return undefined;
      if (!found) await stopPostmaster(cluster.folder);
      throw error;
    });
    if (!outcome) continue;
    if ('heldBy' in outcome) throw inUse(cluster, outcome.heldBy);
    if (found) log(`Adopted the running PostgreSQL server of ${cluster.folder}.`);
    return { lock: outcome.lock, port };
  }
}

function inUse({ dataDir }: Cluster, heldBy: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The data folder ${dataDir} is in use by another Signalbox process (${heldBy}). Stop that process, or choose ` +
      'another DATA_DIR.',
  );
}

function urlOf(port: number, password: string): string {
  return `postgres://postgres:${password}@127.0.0.1:${port}/${DATABASE}`;
}
