import { beforeAll, describe, expect, it } from '@jest/globals';
import { TimeSlices } from '../../core/time-slices.js';
import type { Connection } from '../../connections/connection.js';
import type { Composition, ToolPlace } from './composition.js';
import { type Composed, composedAddress, isReserved, readAddress, withAddresses } from './resource-addresses.js';

/** A tool of the connection that names this page. */
function placeOf(name: string, id: string, page: string): ToolPlace {
  const inputSchema = { type: 'object' as const };
  const definition = { name, inputSchema, _meta: { ui: { resourceUri: page } } };
  return {
    name,
    connection: { id } as Connection,
    upstreamName: name,
    pages: [page],
    grants: [],
    tool: { name, inputSchema, isPublic: false, definition },
    fault: undefined,
    isInactive: false,
    needsApproval: false,
    isPublic: false,
  };
}

function composedOf(memberIds: ReadonlySet<string>, ...places: ToolPlace[]): Composed {
  return {
    places: new Map(places.map((place) => [place.name, place])),
    toolMode: 'all',
    pinnedTools: [],
    hasPublic: false,
    sources: [],
    unavailable: [],
    memberIds,
  };
}

const TOOLS = [
  placeOf('left_show', 'left', 'ui://shared'),
  placeOf('right_show', 'right', 'ui://shared'),
  placeOf('own', 'left', 'ui://own'),
];

let known: Composition;
beforeAll(async () => {
  known = await withAddresses(
    composedOf(new Set(['left', 'right', 'agent']), ...TOOLS),
    new TimeSlices('organization'),
  );
});
const left = (uri: string) => ({ connectionId: 'left', uri });

describe('composedAddress', () => {
  it('keeps the address of one connection alone', () => {
    expect(composedAddress(left('ui://own'), known)).toBe('ui://own');
    expect(composedAddress(left('docs://a'), known, new Map([['docs://a', 1]]))).toBe('docs://a');
    expect(composedAddress(left('docs://a?connection=0123456789abcdef'), known)).toBe(
      'docs://a?connection=0123456789abcdef',
    );
  });

  it('keeps the page of a tool, whatever another connection lists', () => {
    const listings = new Map([['ui://own', 2]]);
    expect(composedAddress(left('ui://own'), known, listings)).toBe('ui://own');
    expect(composedAddress({ connectionId: 'right', uri: 'ui://own' }, known, listings)).toMatch(/\?connection=/);
  });

  it.each(['ui://shared', 'docs://a', 'docs://a?b=c', 'docs://a?connection=0123456789abcdef', 'mailto:a', ''])(
    'contains the connection in the address %j, if another has the same',
    (uri) => {
      const listings = new Map([[uri, 2]]);
      const address = composedAddress(left(uri), known, listings);
      expect(address).not.toBe(composedAddress({ connectionId: 'right', uri }, known, listings));
      expect(readAddress(address, known)).toEqual(left(uri));
      // Whoever has an address that was made so gets another one.
      expect(readAddress(composedAddress(left(address), known), known)).toEqual(left(address));
    },
  );
});

describe('readAddress', () => {
  it('knows only connections of the agent', async () => {
    const address = composedAddress(left('ui://shared'), known);
    const { membersByDigest } = await withAddresses(composedOf(new Set(['right'])), new TimeSlices('organization'));
    expect(readAddress(address, { membersByDigest })).toBeUndefined();
  });

  it('does not read the members for every address that looks like one of a connection', async () => {
    class Counted extends Set<string> {
      reads = 0;
      override [Symbol.iterator]() {
        this.reads++;
        return super[Symbol.iterator]();
      }
    }
    const memberIds = new Counted(['left', 'right']);
    const composition = await withAddresses(composedOf(memberIds, ...TOOLS), new TimeSlices('organization'));
    const { reads } = memberIds;
    expect(reads).toBeGreaterThan(0);
    expect(readAddress(composedAddress(left('ui://shared'), composition), composition)).toEqual(left('ui://shared'));
    for (let digit = 0; digit < 10; digit++) {
      expect(readAddress(`docs://a?connection=000000000000000${digit}`, composition)).toBeUndefined();
    }
    expect(memberIds.reads).toBe(reads);
  });
});

it('isReserved knows the pages of tools and the addresses that contain a connection', () => {
  const addresses = ['ui://shared', 'ui://own', composedAddress(left('ui://shared'), known), 'docs://a'];
  expect(addresses.map((uri) => isReserved(uri, known))).toEqual([true, true, true, false]);
});

it('withAddresses gives way to other work', async () => {
  const many = Array.from({ length: 20_000 }, (_, index) => placeOf(`tool${index}`, `id${index % 2}`, 'ui://shared'));
  const composing = withAddresses(composedOf(new Set(['id0', 'id1']), ...many), new TimeSlices('organization'));
  const isOver = composing.then(() => true);
  expect(await Promise.race([isOver, new Promise(setImmediate).then(() => false)])).toBe(false);
  const { places } = await composing;
  const addresses = new Set([...places.values()].map(({ tool }) => JSON.stringify(tool?.definition._meta)));
  expect(addresses.size).toBe(2);
});
