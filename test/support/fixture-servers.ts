import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from '@jest/globals';
import { Program } from './program.js';

/**
 * Servers of the folder `stdio-fixtures`, each of which notes in a ledger what happens to it, for the spec file that
 * calls this. Close what calls them before: call this after `useStarted`.
 */
export function useFixtureServers(fixture: string) {
  const programs: Program[] = [];
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fixture-servers-'));
  });
  afterAll(async () => {
    await Promise.all(programs.map((program) => program.kill('SIGTERM')));
    await rm(folder, { recursive: true, force: true });
  });

  const ledgerOf = (ledger: string): string => join(folder, ledger);
  /** What `node` is started with, for a server that speaks over stdio. */
  const argsOf = (ledger: string, { script = fixture, options = [] as readonly string[] } = {}): string[] => [
    fileURLToPath(new URL(`stdio-fixtures/${script}.mjs`, import.meta.url)),
    ledgerOf(ledger),
    ...options,
  ];
  /** The lines of a ledger so far. */
  const linesOf = (ledger: string): string[] =>
    readFileSync(ledgerOf(ledger), { encoding: 'utf8', flag: 'a+' }).split('\n').filter(Boolean);

  return {
    ledgerOf,
    argsOf,
    linesOf,
    /** How often a word is a line of a ledger. */
    countIn: (ledger: string, word: string): number => linesOf(ledger).filter((line) => line === word).length,
    /** Starts a server over HTTP. */
    async serve(ledger: string, { script = fixture, options = [] as readonly string[] } = {}) {
      const server = new Program(process.execPath, [...argsOf(ledger, { script, options }), '--http']);
      programs.push(server);
      const [, port] = await server.printed(/port (\d+)/);
      return { url: `http://127.0.0.1:${port}/mcp`, server };
    },
  };
}
