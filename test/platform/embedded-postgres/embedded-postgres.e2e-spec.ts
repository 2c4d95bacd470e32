import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { locateBinaries, prepareBinaries } from '../../../src/platform/embedded-postgres/binaries.js';
import { userOfCluster } from '../../../src/platform/embedded-postgres/cluster.js';
import {
  attachEmbeddedPostgres,
  SHARED_ROOT,
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../../src/platform/embedded-postgres/embedded-postgres.js';
import { isPostmasterOf, readLockFile, stopPostmaster } from '../../../src/platform/embedded-postgres/postmaster.js';
import { ensureServer, findFreePort } from '../../../src/platform/embedded-postgres/server.js';
import { eventually } from '../../support/eventually.js';

const OWNER = fileURLToPath(new URL('../../support/embedded-postgres-owner.mjs', import.meta.url));
const isRoot = process.getuid?.() === 0;

let sandbox: string;
let dataDir: string;
let cluster: string;
const started: EmbeddedPostgres[] = [];
const children: ChildProcess[] = [];

beforeAll(async () => {
  sandbox = await realpath(await mkdtemp(join(tmpdir(), 'signalbox postgres ')));
  if (isRoot) await chmod(sandbox, 0o711); // for the user that PostgreSQL runs as
  dataDir = join(sandbox, 'data folder');
  cluster = join(dataDir, 'postgres');
});

afterEach(async () => {
  for (const server of started.splice(0)) await server.stop();
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await stopPostmaster(cluster);
});

afterAll(async () => {
  await rm(sandbox, { recursive: true, force: true });
});

/** Starts in this process; `afterEach` stops it. */
async function start(folder = dataDir, log: string[] = []): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir: folder, log: (line) => log.push(line) });
  started.push(server);
  return server;
}

/** Starts in a child process; resolves with the line that it prints, its URL or its error. */
async function startElsewhere(): Promise<{ child: ChildProcess; line: string }> {
  const child = spawn(process.execPath, ['--no-warnings', OWNER, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { child, line };
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<unknown[]>({ text: sql, rowMode: 'array' });
    return rows.flat();
  } finally {
    await client.end();
  }
}

async function postmasterPid(): Promise<number> {
  const postmaster = await readLockFile(cluster);
  if (!postmaster) throw new Error('No server runs.');
  return postmaster.pid;
}

describe('first start', () => {
  it('creates the cluster, the password and the database below a new folder', async () => {
    const server = await start();
    expect(server.url).toMatch(/^postgres:\/\/postgres:[\w-]{43}@127\.0\.0\.1:\d+\/signalbox$/);
    expect(
      await query(
        server.url,
        `SELECT current_setting('server_version_num')::int / 10000, pg_encoding_to_char(encoding), datlocale,
                current_setting('password_encryption'), current_setting('listen_addresses'), current_setting('max_connections')
           FROM pg_database WHERE datname = current_database()`,
      ),
    ).toEqual([18, 'UTF8', 'C.UTF-8', 'scram-sha-256', '127.0.0.1', '200']);
    expect((await stat(join(dataDir, 'postgres.password'))).mode & 0o777).toBe(0o600);
    expect((await stat(cluster)).mode & 0o777).toBe(0o700);
    await query(server.url, `CREATE TABLE kept AS SELECT 'kept' AS word`);
  });

  it('creates one cluster when two processes start concurrently', async () => {
    await rm(dataDir, { recursive: true });
    const lines = (await Promise.all([startElsewhere(), startElsewhere()])).map(({ line }) => line);
    const [url] = lines.filter((line) => line.startsWith('postgres://'));
    expect(lines.filter((line) => line.includes('in use by another Signalbox process'))).toHaveLength(1);
    expect(await attachEmbeddedPostgres(dataDir)).toEqual({ url });
    expect((await readdir(dataDir)).filter((name) => name.includes('new'))).toEqual([]);
    await query(url ?? '', `CREATE TABLE kept AS SELECT 'kept' AS word`);
  });

  it('recovers from a process that died during cluster creation', async () => {
    const folder = join(sandbox, 'half-made');
    const leftover = join(folder, 'postgres.new-4194305-x');
    await mkdir(join(leftover, 'base'), { recursive: true });
    await writeFile(join(leftover, 'PG_VERSION'), '18\n');
    const server = await start(folder);
    await server.stop();
    expect((await readdir(folder)).sort()).toEqual(['postgres', 'postgres.log', 'postgres.password']);
  });
});

describe('later starts', () => {
  it('finds the data, and tolerates repeated stops', async () => {
    const server = await start();
    expect(await query(server.url, 'SELECT word FROM kept')).toEqual(['kept']);
    await Promise.all([server.stop(), server.stop()]);
    await server.stop();
    expect(await attachEmbeddedPostgres(dataDir)).toBeUndefined();
    expect((await stat(join(dataDir, 'postgres.log'))).size).toBeLessThan(5_000);
  });

  it('runs the server in its own session, where Ctrl-C does not reach it', async () => {
    await start();
    if (process.platform !== 'linux') return;
    const pid = await postmasterPid();
    const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ');
    expect(fields?.slice(2, 4)).toEqual([String(pid), String(pid)]); // process group, session
  });

  it('ends the server with a process that ends without stopping it', async () => {
    const { child } = await startElsewhere();
    const pid = await postmasterPid();
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
    await eventually(async () => expect(await isPostmasterOf(pid, cluster)).toBe(false));
    expect(await readLockFile(cluster)).toBeUndefined();
  });

  it('rejects a data folder that another process owns and names that process', async () => {
    const { child, line } = await startElsewhere();
    await expect(start()).rejects.toThrow(
      `The data folder ${dataDir} is in use by another Signalbox process (process id ${child.pid}). Stop that process, or choose`,
    );
    expect(await query(line, 'SELECT word FROM kept')).toEqual(['kept']);
  });

  it('waits for an owner that is stopping', async () => {
    const first = await start();
    const [, second] = await Promise.all([first.stop(), start()]);
    expect(await query(second.url, 'SELECT word FROM kept')).toEqual(['kept']);
  });

  it('rejects a cluster of another major version', async () => {
    const versionFile = join(cluster, 'PG_VERSION');
    const version = await readFile(versionFile, 'utf8');
    await writeFile(versionFile, '17\n');
    await expect(start()).rejects.toThrow(/was created by PostgreSQL 17, but this service uses PostgreSQL 18/);
    await writeFile(versionFile, version);
  });

  it('reports a missing password file', async () => {
    const file = join(dataDir, 'postgres.password');
    await rename(file, `${file}.away`);
    await expect(start()).rejects.toThrow(/postgres\.password is missing/);
    await rename(`${file}.away`, file);
  });
});

describe('environment', () => {
  it('chooses another port when the first one is taken', async () => {
    const taken = await findFreePort();
    const occupant = createServer().listen(taken, '127.0.0.1');
    await once(occupant, 'listening');
    const offers = [taken, await findFreePort()];
    const user = await userOfCluster(cluster);
    // The cluster's user may be unable to enter the folder of the checkout.
    const binaries = await prepareBinaries(await locateBinaries(), user, SHARED_ROOT, () => undefined);
    const running = await ensureServer(
      { folder: cluster, dataDir, logFile: join(dataDir, 'postgres.log'), user, binaries },
      async () => offers.shift() ?? 0,
    );
    expect(running.port).not.toBe(taken);
    expect(offers).toEqual([]);
    occupant.close();
  });

  (isRoot ? it : it.skip)(
    'creates the cluster in the shared folder when its user cannot enter the data folder',
    async () => {
      const folder = join(sandbox, 'private');
      await mkdir(folder, { mode: 0o700 });
      const log: string[] = [];
      const server = await start(folder, log);
      const elsewhere = await realpath(join(folder, 'postgres'));
      expect(elsewhere).toMatch(/^\/var\/lib\/signalbox\/clusters\//);
      expect(log.join()).toContain(elsewhere);
      await server.stop();
      await rm(elsewhere, { recursive: true });
      await expect(start(folder)).rejects.toThrow(/symbolic link to a cluster that no longer exists/);
    },
  );

  (isRoot ? it : it.skip)('removes such a cluster when its data folder was deleted', async () => {
    const [gone, kept] = [join(sandbox, 'gone'), join(sandbox, 'kept')];
    const clusters: string[] = [];
    for (const folder of [gone, kept]) {
      await mkdir(folder, { mode: 0o700 });
      const server = await start(folder);
      clusters.push(await realpath(join(folder, 'postgres')));
      await server.stop();
    }
    await rm(gone, { recursive: true });
    const log: string[] = [];
    await start(dataDir, log);
    expect(log).toContain(`Removed the cluster ${clusters[0]}: its data folder ${gone} was deleted.`);
    expect(clusters.map((cluster) => existsSync(cluster))).toEqual([false, true]);
    await rm(clusters[1] ?? '', { recursive: true });
  });

  it('explains why the data folder is unusable', async () => {
    const file = join(sandbox, 'a file');
    await writeFile(file, '');
    await expect(start(join(file, 'data'))).rejects.toThrow(
      `The data folder ${file}/data cannot be used: part of the path is not a folder.`,
    );
  });

  it('reports a platform without an embedded PostgreSQL', async () => {
    await expect(locateBinaries('win32', 'x64')).rejects.toThrow(
      'No embedded PostgreSQL exists for win32-x64. Set DATABASE_URL.',
    );
    await expect(locateBinaries('linux', 'sparc')).rejects.toThrow(/linux-sparc .* is not installed/);
  });
});

describe('after a crash', () => {
  it('adopts the server of a killed owner without a restart', async () => {
    const { child, line } = await startElsewhere();
    const pid = await postmasterPid();
    await kill(child);
    const log: string[] = [];
    const server = await start(dataDir, log);
    expect(server.url).toBe(line);
    expect(await postmasterPid()).toBe(pid);
    expect(log.join()).toMatch(/Adopted/);
    await server.stop();
    expect(await attachEmbeddedPostgres(dataDir)).toBeUndefined();
  });

  it('restarts on the same port when the server is killed', async () => {
    const server = await start();
    const pid = await postmasterPid();
    process.kill(pid, 'SIGKILL');
    await sleep(50);
    expect(await attachEventually()).toEqual({ url: server.url });
    expect(await postmasterPid()).not.toBe(pid);
    expect(await query(server.url, 'SELECT word FROM kept')).toEqual(['kept']);
    expect((await startElsewhere()).line).toMatch(/in use by another Signalbox process/);
  });

  it('regains ownership after one of the server processes is killed', async () => {
    const server = await start();
    const findWalWriter = async (): Promise<unknown> =>
      (await query(server.url, `SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'`))[0];
    // It starts after the server has begun to accept connections.
    const walWriter = await eventually(async () => (await findWalWriter()) ?? false);
    process.kill(Number(walWriter), 'SIGKILL');
    await sleep(200);
    expect(await attachEventually()).toEqual({ url: server.url });
    expect((await startElsewhere()).line).toMatch(/in use by another Signalbox process/);
  });

  it('starts after both the owner and the server were killed', async () => {
    const { child } = await startElsewhere();
    const pid = await postmasterPid();
    await kill(child);
    process.kill(pid, 'SIGKILL');
    const server = await start();
    expect(await query(server.url, 'SELECT word FROM kept')).toEqual(['kept']);
  });

  it.each([
    ['no longer exists', () => 4_194_304],
    ['belongs to another program', () => process.pid],
  ])('replaces a stale postmaster.pid whose process id %s', async (_, pid) => {
    await writeFile(
      join(cluster, 'postmaster.pid'),
      [pid(), cluster, 1, await findFreePort(), '', '127.0.0.1', '1 1', 'ready'].join('\n'),
    );
    const server = await start();
    expect(await query(server.url, 'SELECT word FROM kept')).toEqual(['kept']);
  });

  /** Attaches as soon as the owner has restarted its server. */
  function attachEventually(): Promise<{ url: string }> {
    return eventually(async () => (await attachEmbeddedPostgres(dataDir).catch(() => undefined)) ?? false);
  }
});
