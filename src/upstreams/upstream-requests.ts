import { Injectable } from '@nestjs/common';
import { type Connection, requireActive } from '../connections/connection.js';
import type { CallToolOptions, Upstream } from './contract/upstream.js';
import { UpstreamHealth } from './pool/upstream-health.js';
import { type BorrowOptions, UpstreamPool } from './pool/upstream-pool.js';
import { UpstreamTargets } from './pool/upstream-targets.js';

/** The options of a request, and who has a session of its own with an upstream that has state. */
export type RequestOptions = CallToolOptions & Pick<BorrowOptions, 'owner'>;

/** Sends requests in the sessions that this process opens with upstreams. */
@Injectable()
export class UpstreamRequests {
  constructor(
    private readonly targets: UpstreamTargets,
    private readonly pool: UpstreamPool,
    private readonly health: UpstreamHealth,
  ) {}

  /**
   * Sends a request that concerns no tool, and returns the result as the upstream sent it.
   * @throws DomainError `connection_unavailable`, UpstreamError
   */
  async sendRequest(
    connection: Connection,
    method: string,
    params: Record<string, unknown>,
    { owner, ...options }: RequestOptions = {},
  ): Promise<object> {
    requireActive(connection);
    return this.useUpstream(connection, (upstream) => upstream.request(method, params, options), {
      owner,
      signal: options.signal,
    });
  }

  /**
   * Lends the connection's upstream to the work, unless its circuit breaker is open.
   * @throws DomainError `connection_unavailable`, and what the work throws
   */
  async useUpstream<T>(
    connection: Connection,
    work: (upstream: Upstream) => Promise<T>,
    options?: BorrowOptions,
  ): Promise<T> {
    const target = this.targets.targetFor(connection);
    return this.health.watchCall(connection, () => this.pool.use(target, work, options));
  }
}
