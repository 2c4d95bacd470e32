import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { request } from 'undici';
import { AddressPolicy } from '../net/address-policy.js';
import { GuardedDispatcher } from '../net/guarded-dispatcher.js';

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 64 * 1024;

/** Reads the JSON documents of issuers through the check of addresses, without following redirects. */
@Injectable()
export class IssuerDocumentFetch implements OnApplicationShutdown {
  private readonly dispatcher: GuardedDispatcher;

  constructor(private readonly policy: AddressPolicy) {
    this.dispatcher = new GuardedDispatcher(policy, { connections: 2, connectTimeoutMs: TIMEOUT_MS });
  }

  /**
   * @returns the parsed JSON, an object
   * @throws Error for a refused address, a status other than 200, more than 64 KiB, more than 5 s, or no JSON object
   */
  async fetchJson(url: string): Promise<Record<string, unknown>> {
    const { statusCode, body } = await request(this.policy.checkUrl(url), {
      headers: { accept: 'application/json' },
      signal: AbortSignal.timeout(TIMEOUT_MS),
      dispatcher: this.dispatcher,
    });
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_BYTES) throw new Error(`${url} answers more than ${MAX_BYTES} bytes.`);
      chunks.push(chunk);
    }
    if (statusCode !== 200) throw new Error(`${url} answers ${statusCode}.`);
    const document: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    if (typeof document !== 'object' || document === null) throw new Error(`${url} answers no JSON object.`);
    return document as Record<string, unknown>;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.dispatcher.destroy();
  }
}
