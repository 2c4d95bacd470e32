import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { Connection } from '../../connections/connection.js';
import type { ConnectionDirectory } from '../../connections/connection-directory.js';
import { ListChangeFeed } from './list-change-feed.js';
import type { OfferedTools } from './offered-tools.js';
import { type ToolLister, ToolCatalog } from './tool-catalog.js';

Logger.overrideLogger(false);

const CONNECTION = connectionOf('o1', 'c1');

function connectionOf(organizationId: string, id: string): Connection {
  return { id, organizationId, revision: 1, status: 'active', pin: 'off' } as Connection;
}

/** A catalog of an upstream that counts its listings, and can be slow or fail. */
function catalog() {
  const upstream = { tools: ['first'], listings: 0, delayMs: 0, isUnavailable: false };
  const lister = {
    list: async () => {
      upstream.listings++;
      const listed = upstream.tools.map((name) => ({ name, inputSchema: { type: 'object' as const } }));
      if (upstream.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, upstream.delayMs));
      if (upstream.isUnavailable) throw new Error('unavailable');
      return listed;
    },
  };
  const directory = { lastKnownTools: async () => undefined, findAnywhere: async () => CONNECTION };
  const feed = new ListChangeFeed();
  const made = new ToolCatalog(
    directory as unknown as ConnectionDirectory,
    lister as unknown as ToolLister,
    {} as unknown as OfferedTools,
    feed,
  );
  const names = async (of = CONNECTION): Promise<string[]> => [...(await made.toolsOf(of)).tools.keys()];
  return { upstream, feed, names, advance: (ms: number) => jest.advanceTimersByTimeAsync(ms) };
}

describe('ToolCatalog after a change notification', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('reads the list again, even if it has just read it', async () => {
    const { upstream, feed, names, advance } = catalog();
    expect(await names()).toEqual(['first']);
    upstream.tools = ['first', 'second'];
    feed.tell('c1', 'tools');
    await advance(2_500);

    expect(await names()).toEqual(['first', 'second']);
    expect(upstream.listings).toBe(2);
  });

  it('reads the list again if it changed during a reading', async () => {
    const { upstream, feed, names, advance } = catalog();
    upstream.delayMs = 1_000;
    const first = names();
    await advance(500);
    upstream.tools = ['second'];
    feed.tell('c1', 'tools');
    await advance(500);
    expect(await first).toEqual(['first']);
    await advance(5_000);

    expect(await names()).toEqual(['second']);
  });

  it('reads the list at most every 2 s', async () => {
    const { upstream, feed, names, advance } = catalog();
    await names();
    for (let tenth = 0; tenth < 300; tenth++) {
      feed.tell('c1', 'tools');
      await advance(100);
    }

    expect(upstream.listings).toBeGreaterThan(5);
    expect(upstream.listings).toBeLessThanOrEqual(17);
  });

  it('reads a list that is not in use only on its next use', async () => {
    const { upstream, feed, names, advance } = catalog();
    await names();
    await advance(6 * 60_000);
    upstream.tools = ['second'];
    feed.tell('c1', 'tools');
    await advance(60_000);
    expect(upstream.listings).toBe(1);
    await names();
    await advance(0);

    expect(await names()).toEqual(['second']);
  });

  it('keeps its list while the upstream is unavailable', async () => {
    const { upstream, feed, names, advance } = catalog();
    await names();
    upstream.isUnavailable = true;
    feed.tell('c1', 'tools');
    await advance(10_000);

    expect(await names()).toEqual(['first']);
    expect(upstream.listings).toBe(2);
  });

  it('ignores other lists and unknown connections', async () => {
    const { upstream, feed, names, advance } = catalog();
    feed.tell('c1', 'tools');
    await advance(5_000);
    expect(upstream.listings).toBe(0);
    await names();
    feed.tell('c1', 'prompts');
    feed.tell('c1', 'resources');
    await advance(5_000);

    expect(upstream.listings).toBe(1);
  });
});

describe('ToolCatalog with many lists', () => {
  it('forgets lists of an organization with too many, also those that it could not read', async () => {
    const { upstream, names } = catalog();
    const other = connectionOf('o2', 'c2');
    for (const one of [CONNECTION, other]) await names(one);
    upstream.isUnavailable = true;
    for (let index = 0; index < 10_000; index++) {
      await names(connectionOf('o2', `closed ${index}`)).catch(() => undefined);
    }

    await expect(names(other)).rejects.toThrow('unavailable');
    expect(await names()).toEqual(['first']);
  });

  it('forgets large lists of the organization that has most, and none of others', async () => {
    const { upstream, names } = catalog();
    await names();
    upstream.tools = ['x'.repeat(8 * 1024 * 1024)];
    const large = Array.from({ length: 9 }, (_, index) => connectionOf('o2', `large ${index}`));
    for (const one of large) await names(one);
    expect(upstream.listings).toBe(10);
    await names();
    for (const one of large.slice(2)) await names(one);
    expect(upstream.listings).toBe(10);
    await names(large[0]);

    expect(upstream.listings).toBe(11);
  });
});
