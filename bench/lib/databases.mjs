import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '../../dist/platform/embedded-postgres/embedded-postgres.js';
import { makeFolder } from './folder.mjs';

/**
 * Runs a benchmark with a PostgreSQL server of its own, and cleans up. `serverFolder` has the server's log,
 * `createDatabase` returns the address of a new database, and what `defer` gets runs at the end, the last first.
 * @typedef {{ folder: string, serverFolder: string, createDatabase(name: string): Promise<string>,
 *   defer(stop: () => unknown): void }} Scope
 * @param {(scope: Scope) => Promise<void>} work
 */
export async function withPostgres(work) {
  const folder = await makeFolder();
  const stops = [() => rm(folder, { recursive: true, force: true })];
  try {
    const serverFolder = join(folder, 'server');
    const server = await startEmbeddedPostgres({ dataDir: serverFolder });
    stops.push(() => server.stop());
    await work({
      folder,
      serverFolder,
      createDatabase: (name) => createDatabase(server.url, name),
      defer: (stop) => stops.push(stop),
    });
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
}

/** Creates a database on a server and returns its address. */
export async function createDatabase(serverUrl, name) {
  await onDatabase(serverUrl, (client) => client.query(`CREATE DATABASE ${name}`));
  const url = new URL(serverUrl);
  url.pathname = name;
  return url.href;
}

/** The process id of the server's postmaster, the parent of all its sessions. */
export async function postmasterOf(url) {
  const { rows } = await onDatabase(url, (client) =>
    client.query(`SELECT split_part(pg_read_file('postmaster.pid'), chr(10), 1)::int AS pid`),
  );
  return rows[0].pid;
}

/** Runs statements on a connection of their own. */
export async function onDatabase(url, work) {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
