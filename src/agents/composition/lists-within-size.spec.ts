import { describe, expect, it } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Connection } from '../../connections/connection.js';
import type { ToolList } from '../../upstreams/catalog/tool-list.js';
import { listsWithinSize } from './lists-within-size.js';
import type { MemberList } from './member-lists.js';

const LIMITS = { maxSize: 32, tooLarge: 'too large' };
/** Connections whose names are their ids. */
const MANY = Array.from({ length: 40 }, (_, index) => connectionOf(`c${index}`));

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function connectionOf(id: string): Connection {
  return { id } as Connection;
}

function listOfSize(size: number): { list: ToolList } {
  return { list: { size } as ToolList };
}

/** The sizes of the lists, or why there is none. */
function sizesOf(lists: ReadonlyMap<string, MemberList>): Record<string, number | string> {
  return Object.fromEntries([...lists].map(([id, { list, fault }]) => [id, list?.size ?? fault ?? '']));
}

describe('listsWithinSize', () => {
  it('takes each list that fits, in the order of the connections', async () => {
    const sizes: Record<string, number> = { a: 20, b: 14, c: 8, d: 5, e: 4 };
    const requested: string[] = [];
    const lists = await listsWithinSize(
      Object.keys(sizes).map(connectionOf),
      async ({ id }) => {
        requested.push(id);
        return listOfSize(sizes[id] ?? 0);
      },
      LIMITS,
    );
    expect(sizesOf(lists)).toEqual({ a: 20, b: 'too large', c: 8, d: 'too large', e: 4 });
    expect(requested).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('takes the same lists in whatever order they arrive', async () => {
    const sizes: Record<string, number> = { a: 20, b: 14, c: 8, d: 0, e: 4 };
    const arrivals = new Map(Object.keys(sizes).map((id) => [id, Promise.withResolvers<MemberList>()]));
    const repeated: string[] = [];
    const taking = listsWithinSize(
      Object.keys(sizes).map(connectionOf),
      async (connection, isRepeated) => {
        if (!isRepeated) return arrivals.get(connection.id)?.promise ?? { fault: 'unknown' };
        repeated.push(connection.id);
        return listOfSize(sizes[connection.id] ?? 0);
      },
      LIMITS,
    );
    for (const [id, { resolve }] of [...arrivals].toReversed()) {
      resolve(id === 'd' ? { fault: 'down' } : listOfSize(sizes[id] ?? 0));
      await nextTurn();
    }
    expect(sizesOf(await taking)).toEqual({ a: 20, b: 'too large', c: 8, d: 'down', e: 4 });
    // Those of e, c and b had arrived, which are 26.
    expect(repeated).toEqual(['a']);
  });

  it('holds no more than fits while it waits for the first list', async () => {
    const first = Promise.withResolvers<MemberList>();
    const provided: WeakRef<ToolList>[] = [];
    const taking = listsWithinSize(
      MANY,
      async ({ id }, isRepeated) => {
        if (id === 'c0') return first.promise;
        const listed = listOfSize(8);
        if (!isRepeated) provided.push(new WeakRef(listed.list));
        return listed;
      },
      LIMITS,
    );
    await nextTurn();
    collectGarbage();
    expect(provided.filter((list) => list.deref() !== undefined)).toHaveLength(4);
    first.resolve({ fault: 'down' });
    const sizes = Object.values(sizesOf(await taking));
    expect(sizes.slice(0, 6)).toEqual(['down', 8, 8, 8, 8, 'too large']);
  });

  it('rejects as the list of any connection does', async () => {
    const failing = listsWithinSize(
      MANY,
      async ({ id }) => {
        if (id === 'c0') await nextTurn();
        if (id === 'c1') throw new Error('broken');
        return listOfSize(1);
      },
      LIMITS,
    );
    await expect(failing).rejects.toThrow('broken');
  });
});
