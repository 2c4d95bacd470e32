import { describe, expect, it } from '@jest/globals';
import type { ApprovalRule } from './agent.js';
import { addedSelections, missingGrants, type NestedSelection, type Selection } from './selection-rights.js';

const all = (connectionId: string, prefix: string | null = null, approval: ApprovalRule = 'none') => ({
  connectionId,
  selectedTools: null,
  prefix,
  approval,
});
const some = (connectionId: string, ...selectedTools: string[]) => ({
  ...all(connectionId),
  selectedTools,
});

describe('what an edit adds', () => {
  it.each<[string, ReturnType<typeof all | typeof some>[], ReturnType<typeof all | typeof some>[], object[]]>([
    ['nothing when nothing changes', [all('a'), some('b', 'x')], [some('b', 'x'), all('a')], []],
    ['nothing when something is removed', [all('a'), some('b', 'x', 'y')], [some('b', 'y')], []],
    ['nothing when all becomes some', [all('a')], [some('a', 'x')], []],
    ['a new connection', [], [some('a', 'x')], [some('a', 'x')]],
    ['a new tool alone', [some('a', 'x')], [some('a', 'x', 'y')], [{ connectionId: 'a', selectedTools: ['y'] }]],
    ['all when some becomes all', [some('a', 'x')], [all('a')], [all('a')]],
    ['what needs fewer approvals', [all('a', null, ['x', 'y'])], [all('a', null, ['x'])], [all('a', null, ['x'])]],
    ['what needs no approval any more', [all('a', null, 'all')], [all('a')], [all('a')]],
    ['nothing when more needs an approval', [all('a', null, ['x'])], [all('a', null, ['y', 'x'])], []],
    ['nothing when everything needs one', [all('a', null, 'destructive')], [all('a', null, 'all')], []],
    ['what gets another prefix', [all('a')], [all('a', 'b')], [all('a', 'b')]],
  ])('is %s', (_what, before, after, added) => {
    expect(addedSelections(before, after)).toEqual(added);
  });
});

describe('the grants on a selection', () => {
  type Agents = Record<string, Selection[]>;
  const nested: Agents = {
    agent: [all('a'), some('b', 'x')],
    outer: [all('agent')],
    empty: [],
    circle: [all('circle')],
  };

  function reader(agents: Agents, onRead: () => void = () => undefined) {
    return async (ids: readonly string[]): Promise<Map<string, NestedSelection[]>> => {
      onRead();
      const found = ids.filter((id) => id in agents);
      const nestedOf = (selection: Selection) => ({ ...selection, isAgent: selection.connectionId in agents });
      return new Map(found.map((id) => [id, (agents[id] ?? []).map(nestedOf)]));
    };
  }

  it.each<[string, Record<string, string[]>, Selection, boolean]>([
    ['all tools under *', { a: ['*'] }, all('a'), true],
    ['all tools under * of every connection', { '*': ['*'] }, all('a'), true],
    ['all tools under some', { a: ['x', 'y'] }, all('a'), false],
    ['all tools under self', { self: ['*'] }, all('a'), false],
    ['some tools under their names', { a: ['x', 'y'] }, some('a', 'x'), true],
    ['a tool under another name', { a: ['y'] }, some('a', 'x'), false],
    ['a tool under another connection', { b: ['x'] }, some('a', 'x'), false],
    ['the name * under a tool', { a: ['x'] }, some('a', '*'), false],
    ['no tool under nothing', {}, some('a'), true],
    ['an agent under its id', { agent: ['*'] }, all('agent'), true],
    ['an agent under all that it selects', { a: ['*'], b: ['x'] }, all('agent'), true],
    ['some of an agent under all that it selects', { a: ['*'], b: ['x'] }, some('agent', 'x'), true],
    ['an agent under a part of it', { a: ['*'] }, all('agent'), false],
    ['an agent in an agent', { a: ['*'], b: ['*'] }, all('outer'), true],
    ['an agent in an agent under the inner id', { agent: ['*'] }, all('outer'), true],
    ['an agent in an agent under a part of it', { b: ['*'] }, all('outer'), false],
    ['an empty agent', {}, all('empty'), true],
    ['a circle', {}, all('circle'), false],
  ])('are judged: %s', async (_what, permissions, selection, isCovered) => {
    expect(await missingGrants(permissions, [selection], reader(nested))).toEqual(isCovered ? [] : [selection]);
  });

  /** Each of a level holds all of the level below. */
  function levels(count: number, width: number): Agents {
    const agents: Agents = {};
    for (let level = 0; level < count; level++) {
      for (let i = 0; i < width; i++) {
        const below = Array.from({ length: width }, (_, j) => all(`${level - 1}-${j}`));
        agents[`${level}-${i}`] = level === 0 ? [all('a')] : below;
      }
    }
    return agents;
  }

  it('are judged once for each agent, by however many ways it is reached', async () => {
    // The ways are 4 to the power of 29.
    const agents = levels(30, 4);
    expect(await missingGrants({ a: ['*'] }, [all('29-0')], reader(agents))).toEqual([]);
    expect(await missingGrants({ b: ['*'] }, [all('29-0'), all('b')], reader(agents))).toEqual([all('29-0')]);
  });

  it('are refused above the limit of agents, and no more agents are read', async () => {
    let reads = 0;
    const agents = levels(300, 2);
    expect(
      await missingGrants(
        { a: ['*'] },
        [all('299-0')],
        reader(agents, () => reads++),
      ),
    ).toEqual([all('299-0')]);
    expect(reads).toBeLessThanOrEqual(200);
  });
});
