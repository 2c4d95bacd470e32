import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { type HostileTarget, startHostileTarget } from './harness.js';
import { eventually } from '../support/eventually.js';

const READERS = 200;
const OUTAGE_MS = 3_000;
/** A connection that falls silent is closed after some seconds, and its work starts again. */
const GIVING_UP_MS = 15_000;

/** One reader of the stream of changes. */
interface Reader {
  /** What it was told so far. */
  text: string;
  /** How it ended; undefined while it reads. */
  end: 'regular' | 'broken' | undefined;
  leave(): void;
}

/** Readers of `GET /api/:org/events` while PostgreSQL leaves and comes back. */
describe('the stream of changes in an outage of PostgreSQL', () => {
  let target: HostileTarget;

  beforeAll(async () => {
    target = await startHostileTarget({ storesCanLeave: true, env: { RUN_LOCK_MS: '2000' } });
  }, 60_000);
  afterAll(() => target?.close());

  async function openReader(): Promise<Reader> {
    const leaving = new AbortController();
    const headers = { authorization: `Bearer ${target.apiKey}` };
    const response = await fetch(`${target.url}/api/default/events`, { headers, signal: leaving.signal });
    if (response.status !== 200) throw new Error(`The stream was answered with ${response.status}.`);
    const reader: Reader = { text: '', end: undefined, leave: () => leaving.abort() };
    const read = async (): Promise<void> => {
      for await (const part of response.body ?? []) reader.text += Buffer.from(part as Uint8Array).toString();
    };
    read().then(
      () => (reader.end = 'regular'),
      () => (reader.end = 'broken'),
    );
    return reader;
  }

  /** Creates an agent as soon as the service takes it, and returns its id. */
  async function change(): Promise<string> {
    return eventually(async () => {
      const { status, body } = await target.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent' } });
      expect(status).toBe(200);
      return body.item.id;
    });
  }

  it.each<[what: string, leave: (store: TcpProxy) => unknown, comeBack: (store: TcpProxy) => unknown]>([
    ['refuses connections', (store) => store.cut(), (store) => store.restore()],
    ['falls silent', (store) => store.freeze(), (store) => store.thaw()],
  ])('that %s goes on for every reader, or ends so that the reader notices', async (_what, leave, comeBack) => {
    const store = target.stores.database;
    if (store === undefined) throw new Error('There is no relay to the database.');
    const readers: Reader[] = [];
    const attack = async (): Promise<void> => {
      readers.push(...(await Promise.all(Array.from({ length: READERS }, openReader))));
      await eventually(() => readers.every(({ text }) => text.includes('resync')));
      await leave(store);
      await sleep(OUTAGE_MS);
      await comeBack(store);
      const id = await change();
      // A reader that still reads learns of what came after the outage; none waits for it for ever.
      await eventually(() => readers.every(({ text, end }) => end !== undefined || text.includes(id)));
      // New readers are served at once.
      const late = await openReader();
      await eventually(() => expect(late.text).toContain('resync'));
      for (const reader of [...readers, late]) reader.leave();
    };
    await target.withstands(attack, { outageMs: OUTAGE_MS + GIVING_UP_MS });
    const kept = readers.filter(({ text }) => text.includes('"type":"connection"')).length;
    process.stdout.write(`  ${kept} of ${READERS} readers stayed connected\n`);
  });
});
