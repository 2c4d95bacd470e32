import { beforeEach, describe, expect, it } from '@jest/globals';
import type { AgentComposition } from '../../../agents/composition/agent-composition.js';
import type { Composition } from '../../../agents/composition/composition.js';
import type { MemberList } from '../../../agents/composition/member-lists.js';
import type { Connection } from '../../../connections/connection.js';
import { type ToolList, toToolList } from '../../../upstreams/catalog/tool-list.js';
import type { SessionTools } from '../../forwarding/session/session-tools.js';
import type { SessionOwner } from './client-upstream-session.js';
import type { ClientUpstreamSessions } from './client-upstream-sessions.js';
import { SessionComposition } from './session-composition.js';

const MEBI = 1024 * 1024;
const CONNECTION = { id: 'connection', status: 'active' } as Connection;

let base: Composition;
let shared: ToolList;
/** What the upstream lists in the session. */
let own: ToolList;
/** What a member list in the session weighs; by default its size. */
let weight: number | undefined;
let inSession: MemberList[];
let composing: Promise<void>;
let compositions: SessionComposition;
let end: (key: string) => void;

beforeEach(() => {
  base = {} as Composition;
  shared = listOf('a', 'b');
  weight = undefined;
  inSession = [];
  composing = Promise.resolve();
  const agents = {
    compositionOf: async () => base,
    inSession: async (_agent: unknown, listFor: (connection: Connection, list: MemberList) => Promise<MemberList>) => {
      await composing;
      const sharedList: MemberList = { list: shared };
      const member = await listFor(CONNECTION, sharedList);
      inSession.push(member);
      if (member === sharedList) return { composition: base };
      const composition = {} as Composition;
      return { composition, weights: new Map([[composition, weight ?? member.list?.size ?? 0]]) };
    },
  };
  const sessions = {
    onEnd: (listener: typeof end) => (end = listener),
    sessionWith: async () => ({ session: { key: 'upstream' } }),
  };
  compositions = new SessionComposition(
    agents as unknown as AgentComposition,
    sessions as unknown as ClientUpstreamSessions,
    { toolsOf: async () => own } as unknown as SessionTools,
  );
});

describe('SessionComposition', () => {
  it('uses the shared list, and the composition for everyone, if the session lists the same', async () => {
    own = listOf('a', 'b');
    expect(await compositions.compositionOf(ownerOf('1'))).toBe(base);
    expect(inSession[0]?.list).toBe(shared);
    expect(await compositions.compositionOf(ownerOf('1'))).toBe(base);
    expect(inSession).toHaveLength(1);
  });

  it('unites lists that differ, with the size of what it takes of both', async () => {
    own = listOf('b', 'c');
    expect(await compositions.compositionOf(ownerOf('1'))).not.toBe(base);
    const list = inSession[0]?.list;
    expect([...(list?.tools.keys() ?? [])]).toEqual(['a', 'b', 'c']);
    expect(list?.size).toBe(own.size + JSON.stringify(shared.tools.get('a')?.definition).length);
  });

  it('composes once per session, until the composition for everyone changes', async () => {
    own = listOf('c');
    const first = await compositions.compositionOf(ownerOf('1'));
    expect(await compositions.compositionOf(ownerOf('1'))).toBe(first);
    expect(await compositions.compositionOf(ownerOf('2'))).not.toBe(first);
    base = {} as Composition;
    expect(await compositions.compositionOf(ownerOf('1'))).not.toBe(first);
  });

  it('forgets the composition of a session that has ended', async () => {
    own = listOf('c');
    const first = await compositions.compositionOf(ownerOf('1'));
    end('1');
    expect(await compositions.compositionOf(ownerOf('1'))).not.toBe(first);
  });

  it('does not keep a composition whose session ended while it was made', async () => {
    own = listOf('c');
    const { promise, resolve } = Promise.withResolvers<void>();
    composing = promise;
    const making = compositions.compositionOf(ownerOf('1'));
    await new Promise(setImmediate);
    end('1');
    resolve();
    const first = await making;
    expect(await compositions.compositionOf(ownerOf('1'))).not.toBe(first);
  });

  it('keeps 32 Mi characters of them, and evicts from the organization that has most', async () => {
    own = listOf('c');
    weight = MEBI;
    const quiet = await compositions.compositionOf(ownerOf('quiet', 'quiet'));
    weight = 10 * MEBI;
    const made = new Map<string, Composition>();
    for (const key of ['1', '2', '3', '4']) made.set(key, await compositions.compositionOf(ownerOf(key)));
    expect(await compositions.compositionOf(ownerOf('quiet', 'quiet'))).toBe(quiet);
    expect(await compositions.compositionOf(ownerOf('4'))).toBe(made.get('4'));
    expect(await compositions.compositionOf(ownerOf('1'))).not.toBe(made.get('1'));
  });
});

function listOf(...names: readonly string[]): ToolList {
  return toToolList(
    names.map((name) => ({ name, description: `Tool ${name}`, inputSchema: { type: 'object' as const } })),
    Date.now(),
  );
}

function ownerOf(key: string, organizationId = 'one'): SessionOwner {
  return {
    caller: { key, connection: { id: 'agent', organizationId } },
    principal: { organization: { id: organizationId } },
    session: { key },
  } as unknown as SessionOwner;
}
