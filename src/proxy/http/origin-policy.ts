import type { IncomingHttpHeaders } from 'node:http';
import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../core/config/app-config.js';
import { DomainError } from '../../core/domain-error.js';
import { isLoopback } from '../../core/loopback.js';

/**
 * Protects the MCP endpoints from foreign web pages (MCP 2025-11-25, transports, "Security Warning"). Allowed are the
 * service's own origin, those in `ALLOWED_ORIGINS`, and loopback origins if the service itself is on loopback. A
 * service on loopback also refuses a foreign `Host`, which indicates DNS rebinding.
 */
@Injectable()
export class OriginPolicy {
  private readonly allowed: ReadonlySet<string>;
  private readonly listensOnLoopback: boolean;
  private lastAllowedHost: string | undefined;

  constructor(private readonly config: AppConfig) {
    this.allowed = new Set(config.settings.allowedOrigins);
    this.listensOnLoopback = isLoopback({ hostname: bracketed(config.settings.host) });
  }

  /** @throws DomainError `origin_refused` */
  requireAllowedOrigin({ origin, host }: IncomingHttpHeaders): void {
    if (origin !== undefined && !this.allowsOrigin(origin)) {
      throw new DomainError('origin_refused', 'Web pages of this origin are not allowed to call this service.');
    }
    if (!this.listensOnLoopback || host === this.lastAllowedHost) return;
    if (!this.allowsHost(host)) {
      throw new DomainError('origin_refused', 'The Host header does not name this service.');
    }
    this.lastAllowedHost = host;
  }

  private allowsOrigin(text: string): boolean {
    if (this.allowed.has(text)) return true;
    const origin = URL.parse(text);
    const own = new URL(this.config.baseUrl);
    if (origin === null) return false;
    return origin.origin === own.origin || (isLoopback(own) && isLoopback(origin));
  }

  private allowsHost(host: string | undefined): boolean {
    const url = URL.parse(`http://${host ?? ''}`);
    return url !== null && (isLoopback(url) || url.hostname === new URL(this.config.baseUrl).hostname);
  }
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
