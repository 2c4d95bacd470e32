import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { Connection } from '../../connections/connection.js';
import type { ConnectionDirectory } from '../../connections/connection-directory.js';
import { ListChangeFeed } from './list-change-feed.js';
import type { ToolLister } from './tool-lister.js';
import { ToolCatalog } from './tool-catalog.js';

Logger.overrideLogger(false);

const CONNECTION = { id: 'c1', revision: 1, status: 'active' } as Connection;

/** A catalog over an upstream whose readings are counted and can be made slow or fail. */
function catalog() {
  const upstream = { tools: ['first'], readings: 0, delayMs: 0, isAway: false };
  const lister = {
    list: async () => {
      upstream.readings++;
      const listed = upstream.tools.map((name) => ({ name, inputSchema: { type: 'object' as const } }));
      if (upstream.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, upstream.delayMs));
      if (upstream.isAway) throw new Error('away');
      return listed;
    },
  };
  const directory = { lastKnownTools: async () => undefined, findAnywhere: async () => CONNECTION };
  const feed = new ListChangeFeed();
  const made = new ToolCatalog(directory as unknown as ConnectionDirectory, lister as unknown as ToolLister, feed);
  const names = async (): Promise<string[]> => [...(await made.of(CONNECTION)).tools.keys()];
  return { upstream, feed, names, pass: (ms: number) => jest.advanceTimersByTimeAsync(ms) };
}

describe('ToolCatalog, told of a change', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('reads the list anew, though it has only just read it', async () => {
    const { upstream, feed, names, pass } = catalog();
    expect(await names()).toEqual(['first']);
    upstream.tools = ['first', 'second'];
    feed.tell('c1', 'tools');
    await pass(2_500);

    expect(await names()).toEqual(['first', 'second']);
    expect(upstream.readings).toBe(2);
  });

  it('reads it once more when it was told while it was reading', async () => {
    const { upstream, feed, names, pass } = catalog();
    upstream.delayMs = 1_000;
    const first = names();
    await pass(500);
    upstream.tools = ['second'];
    feed.tell('c1', 'tools');
    await pass(500);
    expect(await first).toEqual(['first']);
    await pass(5_000);

    expect(await names()).toEqual(['second']);
  });

  it('is not made to read more often than every 2 s', async () => {
    const { upstream, feed, names, pass } = catalog();
    await names();
    for (let tenth = 0; tenth < 300; tenth++) {
      feed.tell('c1', 'tools');
      await pass(100);
    }

    expect(upstream.readings).toBeGreaterThan(5);
    expect(upstream.readings).toBeLessThanOrEqual(17);
  });

  it('reads nothing for a list that nobody has asked for in a while, until somebody does', async () => {
    const { upstream, feed, names, pass } = catalog();
    await names();
    await pass(6 * 60_000);
    upstream.tools = ['second'];
    feed.tell('c1', 'tools');
    await pass(60_000);
    expect(upstream.readings).toBe(1);
    await names();
    await pass(0);

    expect(await names()).toEqual(['second']);
  });

  it('keeps the list that it has while the upstream is away', async () => {
    const { upstream, feed, names, pass } = catalog();
    await names();
    upstream.isAway = true;
    feed.tell('c1', 'tools');
    await pass(10_000);

    expect(await names()).toEqual(['first']);
    expect(upstream.readings).toBe(2);
  });

  it('reads nothing for other lists, and nothing of a connection that it does not know', async () => {
    const { upstream, feed, names, pass } = catalog();
    feed.tell('c1', 'tools');
    await pass(5_000);
    expect(upstream.readings).toBe(0);
    await names();
    feed.tell('c1', 'prompts');
    feed.tell('c1', 'resources');
    await pass(5_000);

    expect(upstream.readings).toBe(1);
  });
});
