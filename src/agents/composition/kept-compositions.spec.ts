import { describe, expect, it } from '@jest/globals';
import type { ToolList } from '../../upstreams/catalog/tool-list.js';
import { toToolList } from '../../upstreams/catalog/tool-list.js';
import type { RunnableAgent } from '../records/agent.js';
import type { AgentParts } from './agent-parts.js';
import type { Composition, ToolPlace } from './composition.js';
import { KeptCompositions, weightsOf } from './kept-compositions.js';

const MEBI = 1024 * 1024;

describe('KeptCompositions', () => {
  it('keeps compositions of 64 Mi characters of lists', () => {
    const kept = new KeptCompositions();
    for (let n = 0; n < 20; n++) complete(kept, `${n}`, 'one', listOf(4 * MEBI));
    expect(keysIn(kept, 20)).toEqual(Array.from({ length: 15 }, (_, n) => `${n + 5}`));
  });

  it('counts a list that agents have in common once', () => {
    const kept = new KeptCompositions();
    const list = listOf(32 * MEBI);
    for (let n = 0; n < 20; n++) complete(kept, `${n}`, 'one', list);
    expect(keysIn(kept, 20)).toHaveLength(20);
  });

  it('evicts compositions of the organization that has most', () => {
    const kept = new KeptCompositions();
    complete(kept, '0', 'quiet', listOf(MEBI));
    for (let n = 1; n < 20; n++) complete(kept, `${n}`, 'greedy', listOf(30 * MEBI));
    expect(keysIn(kept, 20)).toEqual(['0', '18', '19']);
  });

  it('does not evict one that is being composed', () => {
    const kept = new KeptCompositions();
    complete(kept, '0', 'one', listOf(30 * MEBI));
    kept.use('0', 'one').making = { version: 0, hasBegun: true, work: Promise.resolve(compositionOf()) };
    for (let n = 1; n < 5; n++) complete(kept, `${n}`, 'one', listOf(30 * MEBI));
    expect(keysIn(kept, 5)).toEqual(['0', '4']);
  });
});

describe('weightsOf', () => {
  it('weighs settings and the definitions of dressed tools for the composition itself', () => {
    const definition = { name: 'a', description: 'x'.repeat(5_000), inputSchema: { type: 'object' as const } };
    const tool = toToolList([definition], 0).tools.get('a');
    const upstreamDefinition = { ...definition, description: 'z'.repeat(50_000) };
    const dressing = { fixed: [], covered: [], upstreamDefinition };
    const composition = compositionOf([
      { name: 'one', tool, dressing },
      { name: 'two', tool, dressing },
      { name: 'three', tool },
    ]);
    const agent = { id: 'agent', connections: [], instructions: 'y'.repeat(1_000) } as unknown as RunnableAgent;
    const own = weightsOf({ ...partsOf(), agents: new Map([['agent', agent]]) }, composition).get(composition);
    expect(own).toBeGreaterThan(11_000);
    expect(own).toBeLessThan(13_000);
  });
});

function listOf(size: number): ToolList {
  return { ...toToolList([], 0), size };
}

function partsOf(list?: ToolList): AgentParts {
  const lists = new Map(list === undefined ? [] : [['connection', { list }]]);
  return {
    id: 'agent',
    organizationId: 'organization',
    agents: new Map(),
    connections: new Map(),
    lists,
    lastKnown: new Map(),
  };
}

function compositionOf(places: readonly Partial<ToolPlace>[] = []): Composition {
  return { places: new Map(places.map((place) => [place.name, place])) } as unknown as Composition;
}

function complete(kept: KeptCompositions, key: string, organizationId: string, list: ToolList): void {
  const made = { composition: compositionOf(), parts: partsOf(list), tookMs: 0, at: 0, isStale: false };
  kept.complete(key, organizationId, kept.use(key, organizationId), made);
}

function keysIn(kept: KeptCompositions, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${n}`).filter((key) => kept.get(key) !== undefined);
}
