import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { fetch } from 'undici';
import { AddressPolicy } from '../net/address-policy.js';
import { GuardedDispatcher } from '../net/guarded-dispatcher.js';

const TIMEOUT_MS = 5_000;
/** How many documents one network can have fetched in a minute; those that are known are not fetched again. */
const MAX_PER_MINUTE = 60;

/**
 * Fetches client id metadata documents through the service's own check of addresses, which replaces the library's: that one
 * refuses special-use addresses even where the operator allows them. Does not follow redirects; the library limits the size.
 * Anybody can name a document, so each network has a limit.
 */
@Injectable()
export class ClientDocumentFetch implements OnApplicationShutdown {
  private readonly dispatcher: GuardedDispatcher;
  private readonly limiter = new RateLimiterMemory({ points: MAX_PER_MINUTE, duration: 60 });

  constructor(private readonly policy: AddressPolicy) {
    this.dispatcher = new GuardedDispatcher(policy, { connections: 4 });
  }

  /**
   * @param source the network (`networkOf`) whose request names the document
   * @throws AddressRefusedError, Error for a network that has reached its limit
   */
  async fetchDocument(
    url: string | URL | Request,
    { headers }: RequestInit = {},
    source: string = '',
  ): Promise<Response> {
    await this.limiter.consume(source).catch(() => {
      throw new Error('Too many client metadata documents were requested from this network.');
    });
    const address = this.policy.checkUrl(url instanceof Request ? url.url : String(url));
    const response = await fetch(address, {
      headers: { accept: new Headers(headers).get('accept') ?? 'application/json', 'user-agent': 'signalbox' },
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      dispatcher: this.dispatcher,
    });
    return response as unknown as Response;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.dispatcher.destroy();
  }
}
