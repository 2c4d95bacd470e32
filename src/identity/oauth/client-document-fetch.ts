import { Injectable, Logger } from '@nestjs/common';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { BoundedFetch } from '../../platform/net/bounded-fetch.js';
import { KNOWN_CLIENT_DOCUMENTS } from './known-client-documents.js';

/** How many documents one network can have fetched in a minute; those that are known are not fetched again. */
const MAX_PER_MINUTE = 60;
/** How long a document that ships with the service is used before the published one is tried again, in seconds. */
const KNOWN_FOR_S = 3_600;
/** The publisher has taken the document away. */
const GONE: ReadonlySet<number> = new Set([404, 410]);

/**
 * Fetches client id metadata documents, in place of the library, which refuses special-use addresses even where the
 * operator allows them. Anybody can name a document, so each network has a limit. Documents of widely used clients ship
 * with the service, for where they cannot be fetched.
 */
@Injectable()
export class ClientDocumentFetch {
  private readonly logger = new Logger(ClientDocumentFetch.name);
  private readonly limiter = new RateLimiterMemory({ points: MAX_PER_MINUTE, duration: 60 });

  constructor(private readonly http: BoundedFetch) {}

  /**
   * @param source the network (`networkOf`) whose request names the document
   * @throws what `BoundedFetch` throws, Error for a network that has reached its limit
   */
  async fetchDocument(url: string | URL | Request, init: RequestInit = {}, source: string = ''): Promise<Response> {
    const address = url instanceof Request ? url.url : String(url);
    const known = KNOWN_CLIENT_DOCUMENTS.get(address);
    const fetched = this.fetchPublished(address, init, source);
    if (known === undefined) return fetched;
    const published = await fetched.catch((error: Error) => error);
    if (published instanceof Response && (published.ok || GONE.has(published.status))) return published;
    const reason = published instanceof Response ? `it answered ${published.status}` : published.message;
    this.logger.warn(`Used the copy of ${address} that ships with the service: ${reason}`);
    return Response.json(known, { headers: { 'cache-control': `max-age=${KNOWN_FOR_S}` } });
  }

  private async fetchPublished(address: string, { headers }: RequestInit, source: string): Promise<Response> {
    await this.limiter.consume(source).catch(() => {
      throw new Error('Too many client metadata documents were requested from this network.');
    });
    return this.http.fetch(address, headers === undefined ? {} : { headers });
  }
}
