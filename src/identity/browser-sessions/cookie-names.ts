import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../core/config/app-config.js';
import { isLoopback } from '../../core/loopback.js';

/**
 * The names of the service's cookies. With the prefix `__Host-` (RFC 6265bis), no other host of the domain can set
 * them. The prefix needs a secure connection, which a service on a loopback address does not have.
 */
@Injectable()
export class CookieNames {
  constructor(private readonly config: AppConfig) {}

  get isSecure(): boolean {
    const { baseUrl } = this.config;
    return baseUrl.startsWith('https:') || !isLoopback(new URL(baseUrl));
  }

  /** The session of a signed-in browser. */
  get session(): string {
    return this.named('sbx_session');
  }

  /** Binds forms to a browser that is not signed in. */
  get visitor(): string {
    return this.named('sbx_visitor');
  }

  /** The accounts that have been signed in with this browser. */
  get knownAccounts(): string {
    return this.named('sbx_known');
  }

  named(name: string): string {
    return this.isSecure ? `__Host-${name}` : name;
  }
}
