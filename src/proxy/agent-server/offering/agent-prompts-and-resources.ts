import { Injectable } from '@nestjs/common';
import type { Composition, OfferKind, Source } from '../../../agents/composition/composition.js';
import { type Offer, type OfferList, OfferLists } from '../../../agents/composition/offer-lists.js';
import { composedAddress, readAddress } from '../../../agents/composition/resource-addresses.js';
import { composeToolNames } from '../../../agents/composition/tool-naming.js';
import type { Connection } from '../../../connections/connection.js';
import { DomainError } from '../../../core/domain-error.js';
import type { StateOwner } from '../../../upstreams/contract/callers.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { type RequestOptions, UpstreamRequests } from '../../../upstreams/upstream-requests.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import { unavailableMeta } from './agent-tool-list.js';
import { mayUse } from './agent-permissions.js';

/** A list of an agent's prompts or resources, with `_meta` on connections that are unavailable. */
interface OfferPage {
  readonly items: Offer[];
  readonly meta: Record<string, unknown> | undefined;
}

/** The connections that can have a resource or template, and its address at them. */
export interface ResourcePlace {
  readonly sources: readonly Source[];
  readonly uri: string;
}

/** The options of a request, and who has a session of its own with each upstream that has state. */
export interface SourceRequestOptions extends Omit<RequestOptions, 'owner'> {
  readonly ownerAt: (connection: Connection) => StateOwner | undefined;
}

/** The methods that list resources, and the member of an item that is its address. */
const ADDRESSED_BY = { 'resources/list': 'uri', 'resources/templates/list': 'uriTemplate' } as const;
type ResourceList = keyof typeof ADDRESSED_BY;

interface SourceList {
  readonly source: Source;
  readonly offers: readonly Offer[];
  readonly fault: string | undefined;
}

/** The prompts and resources of an agent, composed of those of its connections that the caller is permitted to use. */
@Injectable()
export class AgentPromptsAndResources {
  constructor(
    private readonly lists: OfferLists,
    private readonly upstreams: UpstreamRequests,
  ) {}

  /** Lists the prompts, which are named like tools. */
  async prompts(caller: ProxyCaller, sources: readonly Source[]): Promise<OfferPage> {
    const lists = await this.listAll(sources, 'prompts', 'prompts/list');
    const names = namesOf(lists);
    const visible = lists.filter(({ source }) => mayUse(caller, source, 'prompts'));
    const items = visible.flatMap(({ source, offers }) =>
      uniqueBy(offers, 'name').map((prompt) => ({
        ...prompt,
        name: names.get(source.connection.id)?.get(String(prompt['name'])),
      })),
    );
    return { items, meta: metaOf(caller, visible) };
  }

  /** Finds the connection of a prompt and the upstream's name for it. @throws DomainError `not_found` */
  async findPrompt(caller: ProxyCaller, sources: readonly Source[], name: string): Promise<[Source, string]> {
    const lists = await this.listAll(sources, 'prompts', 'prompts/list');
    for (const [connectionId, ofConnection] of namesOf(lists)) {
      const source = sources.find(({ connection }) => connection.id === connectionId);
      if (source === undefined || !mayUse(caller, source, 'prompts')) continue;
      for (const [upstreamName, composed] of ofConnection) {
        if (composed === name) return [source, upstreamName];
      }
    }
    throw new DomainError('not_found', 'The agent has no prompt with this name.');
  }

  /** Lists the resources or templates, by their addresses in the agent. */
  async resources(caller: ProxyCaller, composition: Composition, method: ResourceList): Promise<OfferPage> {
    // The addresses are the same for every caller.
    const isPermitted = composition.sources.some((source) => mayUse(caller, source, 'resources'));
    const lists = isPermitted ? await this.listAll(composition.sources, 'resources', method) : [];
    const visible = lists.filter(({ source }) => mayUse(caller, source, 'resources'));
    const key = ADDRESSED_BY[method];
    const listings = listingsOf(lists, key);
    const items = visible.flatMap(({ source: { connection }, offers }) =>
      uniqueBy(offers, key).map((offer) => {
        const address = { connectionId: connection.id, uri: String(offer[key]) };
        return { ...offer, [key]: composedAddress(address, composition, listings) };
      }),
    );
    return { items, meta: metaOf(caller, visible) };
  }

  /**
   * Finds the connections that can have this resource or template: the one that the address contains, or whose tools
   * name it as their page; otherwise those that list it, or those with a matching template.
   * @throws DomainError `not_found`
   */
  async findResource(caller: ProxyCaller, composition: Composition, uri: string): Promise<ResourcePlace> {
    const permitted = composition.sources.filter((source) => mayUse(caller, source, 'resources'));
    const named = readAddress(uri, composition);
    const owners = named === undefined ? composition.pages.get(uri) : new Set([named.connectionId]);
    const sources =
      owners === undefined
        ? await this.findListing(permitted, uri)
        : // One address must not lead to the pages of several connections.
          permitted.filter(({ connection }) => owners.size === 1 && owners.has(connection.id));
    if (sources.length > 0) return { sources, uri: named?.uri ?? uri };
    throw new DomainError('not_found', 'The agent has no resource with this URI.');
  }

  /**
   * Sends the request to one connection after the other, and returns the first result.
   * @throws DomainError, UpstreamError of the last one
   */
  async ask(
    sources: readonly Source[],
    method: string,
    params: Record<string, unknown>,
    { ownerAt, ...options }: SourceRequestOptions,
  ): Promise<object> {
    let refusal: unknown;
    for (const { connection } of sources) {
      try {
        return await this.upstreams.sendRequest(connection, method, params, { ...options, owner: ownerAt(connection) });
      } catch (error) {
        // The next connection is tried only if this upstream answered with a JSON-RPC error.
        if (!(error instanceof UpstreamError) || error.rpc === undefined) throw error;
        refusal = error;
      }
    }
    throw refusal;
  }

  private async findListing(permitted: readonly Source[], uri: string): Promise<Source[]> {
    const listed = await this.listAll(permitted, 'resources', 'resources/list');
    const listing = listed.filter(({ offers }) => offers.some((offer) => offer['uri'] === uri));
    if (listing.length > 0) return listing.map(({ source }) => source);
    const templates = await this.listAll(permitted, 'resources', 'resources/templates/list');
    const matching = templates.filter(({ offers }) => offers.some((offer) => matches(offer['uriTemplate'], uri)));
    return matching.map(({ source }) => source);
  }

  private listAll(sources: readonly Source[], kind: OfferKind, method: OfferList): Promise<SourceList[]> {
    const offering = sources.filter(({ kinds, connection }) => kinds.has(kind) && connection.status !== 'inactive');
    return Promise.all(
      offering.map(async (source) => {
        const { offers = [], fault } = await this.lists.offersOf(source.connection, method);
        return { source, offers, fault };
      }),
    );
  }
}

function namesOf(lists: readonly SourceList[]): ReturnType<typeof composeToolNames> {
  return composeToolNames(
    lists.map(({ source, offers }) => ({
      connectionId: source.connection.id,
      prefix: source.prefix,
      tools: uniqueBy(offers, 'name').map(({ name }) => String(name)),
    })),
  );
}

function metaOf(caller: ProxyCaller, lists: readonly SourceList[]): Record<string, unknown> | undefined {
  const unavailable = lists.flatMap(({ source: { connection }, fault }) =>
    fault === undefined ? [] : [{ connectionId: connection.id, title: connection.title, reason: fault }],
  );
  return unavailableMeta(caller, unavailable);
}

/** How many connections list each address. */
function listingsOf(lists: readonly SourceList[], key: string): Map<string, number> {
  const listings = new Map<string, number>();
  for (const { offers } of lists) {
    for (const uri of new Set(offers.map((offer) => offer[key]))) {
      if (typeof uri === 'string') listings.set(uri, (listings.get(uri) ?? 0) + 1);
    }
  }
  return listings;
}

/** The offers with a string under this key, without duplicates. */
function uniqueBy(offers: readonly Offer[], key: string): Offer[] {
  const byKey = new Map<string, Offer>();
  for (const offer of offers) {
    const value = offer[key];
    if (typeof value === 'string' && !byKey.has(value)) byKey.set(value, offer);
  }
  return [...byKey.values()];
}

/** True if this is the template itself, or if the URI begins with its literal prefix (RFC 6570). */
function matches(template: unknown, uri: string): boolean {
  if (typeof template !== 'string') return false;
  const [literal = ''] = template.split('{', 1);
  return template === uri || (literal !== '' && uri.startsWith(literal));
}
