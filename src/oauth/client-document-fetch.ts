import { Injectable } from '@nestjs/common';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { BoundedFetch } from '../net/bounded-fetch.js';

/** How many documents one network can have fetched in a minute; those that are known are not fetched again. */
const MAX_PER_MINUTE = 60;

/**
 * Fetches client id metadata documents, in place of the library, which refuses special-use addresses even where the operator
 * allows them. Anybody can name a document, so each network has a limit.
 */
@Injectable()
export class ClientDocumentFetch {
  private readonly limiter = new RateLimiterMemory({ points: MAX_PER_MINUTE, duration: 60 });

  constructor(private readonly http: BoundedFetch) {}

  /**
   * @param source the network (`networkOf`) whose request names the document
   * @throws what `BoundedFetch` throws, Error for a network that has reached its limit
   */
  async fetchDocument(
    url: string | URL | Request,
    { headers }: RequestInit = {},
    source: string = '',
  ): Promise<Response> {
    await this.limiter.consume(source).catch(() => {
      throw new Error('Too many client metadata documents were requested from this network.');
    });
    return this.http.fetch(url instanceof Request ? url.url : url, headers === undefined ? {} : { headers });
  }
}
