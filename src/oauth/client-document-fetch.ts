import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { fetch } from 'undici';
import { AddressPolicy } from '../net/address-policy.js';
import { GuardedDispatcher } from '../net/guarded-dispatcher.js';

const TIMEOUT_MS = 5_000;

/**
 * Fetches client id metadata documents through the service's own check of addresses, which replaces the library's: that one
 * refuses special-use addresses even where the operator allows them. Does not follow redirects; the library limits the size.
 */
@Injectable()
export class ClientDocumentFetch implements OnApplicationShutdown {
  private readonly dispatcher: GuardedDispatcher;

  constructor(private readonly policy: AddressPolicy) {
    this.dispatcher = new GuardedDispatcher(policy, { connections: 4 });
  }

  /** @throws AddressRefusedError */
  async fetchDocument(url: string | URL | Request, { headers }: RequestInit = {}): Promise<Response> {
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
