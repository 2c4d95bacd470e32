import { hash } from 'node:crypto';
import type { TimeSlices } from '../../core/time-slices.js';
import { withPages } from '../../upstreams/contract/app-tool.js';
import type { Composition, ToolPlace } from './composition.js';

/** An address that contains its connection ends in a digest of the connection's id. */
const QUALIFIED = /^(.*)[?&]connection=([0-9a-f]{16})$/s;
const DIGEST_LENGTH = 16;

/** A resource or a template at a connection, by the upstream's own address. */
interface ResourceAddress {
  readonly connectionId: string;
  readonly uri: string;
}

/** What decides whether an address is that of one connection alone. */
type Known = Pick<Composition, 'pages' | 'membersByDigest'>;

/** How many of the agent's connections list an address. */
type Listings = ReadonlyMap<string, number>;

const UNLISTED: Listings = new Map();

/** A composition whose tools name their pages as the upstreams do. */
export type Composed = Omit<Composition, keyof Known>;

/** The composition in which tools name their pages by the addresses that lead to them. */
export async function withAddresses(composed: Composed, slices: TimeSlices): Promise<Composition> {
  const paged: ToolPlace[] = [];
  const pages = new Map<string, Set<string>>();
  for (const place of composed.places.values()) {
    if (place.pages.length > 0) paged.push(place);
    for (const uri of place.pages) pages.set(uri, (pages.get(uri) ?? new Set()).add(place.connection.id));
    if (slices.isOver) await slices.next();
  }
  const membersByDigest = new Map([...composed.memberIds].map((id) => [digestOf(id), id]));
  const places = new Map(composed.places);
  const composition = { ...composed, places, pages, membersByDigest };
  for (const place of paged) {
    const { tool, connection } = place;
    const rename = (uri: string): string => composedAddress({ connectionId: connection.id, uri }, composition);
    if (tool !== undefined && place.pages.some((uri) => rename(uri) !== uri)) {
      places.set(place.name, { ...place, tool: { ...tool, definition: withPages(tool.definition, rename) } });
    }
    if (slices.isOver) await slices.next();
  }
  return composition;
}

/**
 * The address in the agent. It is the upstream's own, unless another connection has the same: then it contains the
 * connection, and depends on nothing else. What tools name as their page is theirs, whatever connections list, so that
 * a list of tools needs no list of resources.
 */
export function composedAddress(address: ResourceAddress, known: Known, listings = UNLISTED): string {
  const { connectionId, uri } = address;
  const owners = known.pages.get(uri);
  const isShared = owners === undefined ? (listings.get(uri) ?? 0) > 1 : owners.size > 1 || !owners.has(connectionId);
  // No upstream can take the address of another connection's resource.
  return isShared || readAddress(uri, known) !== undefined ? qualified(address) : uri;
}

/** The resource behind an address that contains its connection; undefined for any other address. */
export function readAddress(
  uri: string,
  { membersByDigest }: Pick<Known, 'membersByDigest'>,
): ResourceAddress | undefined {
  const [, own, digest] = QUALIFIED.exec(uri) ?? [];
  if (own === undefined || digest === undefined) return undefined;
  const connectionId = membersByDigest.get(digest);
  return connectionId === undefined ? undefined : { connectionId, uri: own };
}

/** True if the address alone decides on its connections, whatever they list and can read. */
export function isReserved(uri: string, known: Known): boolean {
  return known.pages.has(uri) || readAddress(uri, known) !== undefined;
}

function qualified({ connectionId, uri }: ResourceAddress): string {
  return `${uri}${uri.includes('?') ? '&' : '?'}connection=${digestOf(connectionId)}`;
}

function digestOf(connectionId: string): string {
  return hash('sha256', connectionId).slice(0, DIGEST_LENGTH);
}
