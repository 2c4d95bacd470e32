import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { composeToolNames, MAX_NAME_LENGTH, type NamedConnection, prefixFromTitle } from './tool-naming.js';

function connection(connectionId: string, prefix: string, tools: string[]): NamedConnection {
  return { connectionId, prefix, tools };
}

/** `connection/tool` → composed name. */
function namesOf(connections: readonly NamedConnection[]): Record<string, string> {
  const entries = [...composeToolNames(connections)].flatMap(([id, tools]) =>
    [...tools].map(([upstreamName, name]) => [`${id}/${upstreamName}`, name] as const),
  );
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

describe('composeToolNames', () => {
  it('keeps own names while they are unique', () => {
    expect(namesOf([connection('a', 'left', ['echo']), connection('b', 'right', ['add'])])).toEqual({
      'a/echo': 'echo',
      'b/add': 'add',
    });
  });

  it('prefixes every tool whose name is shared, and only those', () => {
    expect(namesOf([connection('a', 'left', ['echo', 'sum']), connection('b', 'right', ['echo', 'add'])])).toEqual({
      'a/echo': 'left_echo',
      'a/sum': 'sum',
      'b/echo': 'right_echo',
      'b/add': 'add',
    });
  });

  it('distinguishes connections with equal prefixes', () => {
    const names = namesOf([connection('a', 'github', ['search']), connection('b', 'github', ['search'])]);
    expect(names['a/search']).toMatch(/^github_search_[0-9a-f]{8}$/);
    expect(names['b/search']).toMatch(/^github_search_[0-9a-f]{8}$/);
    expect(names['a/search']).not.toBe(names['b/search']);
  });

  it('leaves a prefixed name to the tool that is really called so', () => {
    const names = namesOf([
      connection('a', 'github', ['search']),
      connection('b', 'gitlab', ['search']),
      connection('c', 'other', ['github_search']),
    ]);
    expect(names['c/github_search']).toBe('github_search');
    expect(names['b/search']).toBe('gitlab_search');
    expect(names['a/search']).toMatch(/^github_search_[0-9a-f]{8}$/);
  });

  it('gives a name to a tool whose digest an upstream has taken', () => {
    const twins = [connection('a', 'x', ['t']), connection('b', 'x', ['t'])];
    const wanted = namesOf(twins)['a/t'] ?? '';
    const names = namesOf([...twins, connection('c', 'y', [wanted])]);
    expect(names[`c/${wanted}`]).toBe(wanted);
    expect(new Set(Object.values(names)).size).toBe(3);
  });

  it.each([
    ['a'.repeat(64), 'a'.repeat(64)],
    ['files/read.v2', 'files_read_v2'],
    ['../etc\r\npasswd', '___etc__passwd'],
    ['検索', '__'],
    ['', '_'],
  ])('writes %j as %j', (tool, expected) => {
    expect(namesOf([connection('a', 'x', [tool])])[`a/${tool}`]).toBe(expected);
  });

  it('shortens long names to 64 characters that end in a digest', () => {
    const long = 'a'.repeat(65);
    const names = namesOf([connection('a', 'x', [long, `${long}b`])]);
    expect(names[`a/${long}`]).toMatch(/^a{55}_[0-9a-f]{8}$/);
    expect(names[`a/${long}b`]).toMatch(/^a{55}_[0-9a-f]{8}$/);
    expect(names[`a/${long}`]).not.toBe(names[`a/${long}b`]);
  });

  it('shortens a prefixed name of 64 characters too', () => {
    const tool = 'a'.repeat(64);
    const names = namesOf([connection('a', 'left', [tool]), connection('b', 'right', [tool])]);
    expect(names[`a/${tool}`]).toMatch(/^left_a{50}_[0-9a-f]{8}$/);
    expect(names[`b/${tool}`]).toMatch(/^right_a{49}_[0-9a-f]{8}$/);
  });

  it('distinguishes names that become equal in the allowed characters', () => {
    const names = namesOf([connection('a', 'x', ['get.it', 'get/it'])]);
    expect(names['a/get.it']).toMatch(/^x_get_it_[0-9a-f]{8}$/);
    expect(names['a/get/it']).not.toBe(names['a/get.it']);
  });

  const word = fc.oneof(fc.constantFrom('t', 'x_t', 'y_t', 't.', 't/', 'a'.repeat(70)), fc.string({ maxLength: 80 }));
  const agent = fc.uniqueArray(
    fc.record({
      connectionId: fc.uuid(),
      prefix: fc.constantFrom('x', 'y', 'z'.repeat(32)),
      tools: fc.uniqueArray(word, { maxLength: 6 }),
    }),
    { selector: ({ connectionId }) => connectionId, maxLength: 5 },
  );

  it('gives every tool one unique name that every model accepts', () => {
    fc.assert(
      fc.property(agent, (connections) => {
        const names = [...composeToolNames(connections).values()].flatMap((tools) => [...tools.values()]);
        expect(names).toHaveLength(connections.flatMap(({ tools }) => tools).length);
        expect(new Set(names).size).toBe(names.length);
        for (const name of names) {
          expect(name).toMatch(/^[A-Za-z0-9_-]+$/);
          expect(name.length).toBeLessThanOrEqual(MAX_NAME_LENGTH);
        }
      }),
    );
  });

  it('does not depend on the order of connections and tools', () => {
    fc.assert(
      fc.property(agent, (connections) => {
        const reversed = connections.toReversed().map((member) => ({ ...member, tools: member.tools.toReversed() }));
        expect(namesOf(reversed)).toEqual(namesOf(connections));
      }),
    );
  });
});

describe('prefixFromTitle', () => {
  it.each([
    ['GitHub', 'github'],
    ['  My Files (v2)! ', 'my-files-v2'],
    ['Zürich Café', 'zurich-cafe'],
    ['検索', 'connection'],
    ['x'.repeat(40), 'x'.repeat(32)],
    [`${'x'.repeat(31)} y`, 'x'.repeat(31)],
  ])('%j → %j', (title, prefix) => {
    expect(prefixFromTitle(title)).toBe(prefix);
  });
});
