import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../../core/principal.js';
import { announceLimits, refusalOf, type AppliedLimit, type RateLimit, RateLimits } from './rate-limits.js';
import { OrganizationCaps } from './organization-caps.js';

/** With these, an organization that has reached its limit can see and change it. */
const EXEMPT_TOOLS: ReadonlySet<string> = new Set(['ORGANIZATION_GET', 'ORGANIZATION_UPDATE']);
const TOOL_ROUTE = '/api/:org/tools/:name';

/** Counts the requests of API keys and organizations. */
@Injectable()
export class RequestLimits {
  constructor(
    private readonly limits: RateLimits,
    private readonly caps: OrganizationCaps,
  ) {}

  /** False if no request with this principal is limited. */
  mayConcern({ organization, keyLimits }: Principal): boolean {
    return organization.limits !== undefined || keyLimits !== undefined || !this.caps.isEmpty;
  }

  /**
   * Counts an HTTP request with a verified credential, and adds its limits to the response. Returns a promise only if a
   * query is needed.
   * @throws DomainError `rate_limited`
   */
  countRequest(principal: Principal, request: FastifyRequest, reply: FastifyReply): void | Promise<void> {
    const limits = this.limitsOf(principal, request);
    return limits.length === 0 ? undefined : this.count(limits, reply);
  }

  /**
   * Counts a request for a run, and adds the limit to the response.
   * @throws DomainError `rate_limited`
   */
  async countRun({ organization }: Principal, reply: FastifyReply): Promise<void> {
    const limits = this.runLimitsOf(organization);
    if (limits.length > 0) await this.count(limits, reply);
  }

  /**
   * Counts a run that is posted without a request for it, or by a tool.
   * @throws DomainError `rate_limited`
   */
  async countPostedRun(organization: Pick<Principal['organization'], 'id' | 'limits'>): Promise<void> {
    const refusal = refusalOf(await this.limits.count(this.runLimitsOf(organization)));
    if (refusal !== undefined) throw refusal;
  }

  private runLimitsOf({ id, limits }: Pick<Principal['organization'], 'id' | 'limits'>): RateLimit[] {
    const perMinute = this.caps.limitOf(limits, 'runs_per_minute');
    return perMinute === undefined ? [] : [{ name: 'runs', key: `runs:${id}`, perMinute }];
  }

  private limitsOf({ organization, apiKeyId, keyLimits = [] }: Principal, request: FastifyRequest): RateLimit[] {
    const limits: RateLimit[] = keyLimits.map(({ keyId, perMinute }) => ({
      name: keyId === apiKeyId ? 'key' : 'maker',
      key: `key:${keyId}`,
      perMinute,
    }));
    const perMinute = this.caps.limitOf(organization.limits, 'requests_per_minute');
    if (perMinute !== undefined && !isExempt(request)) {
      limits.push({ name: 'organization', key: `organization:${organization.id}`, perMinute });
    }
    return limits;
  }

  private count(limits: readonly RateLimit[], reply: FastifyReply): void | Promise<void> {
    const counted = this.limits.count(limits);
    const conclude = (applied: readonly AppliedLimit[]): void => {
      announceLimits(reply, applied);
      const refusal = refusalOf(applied);
      if (refusal !== undefined) throw refusal;
    };
    return counted instanceof Promise ? counted.then(conclude) : conclude(counted);
  }
}

function isExempt({ routeOptions, params }: FastifyRequest): boolean {
  return routeOptions.url === TOOL_ROUTE && EXEMPT_TOOLS.has((params as { name?: string }).name ?? '');
}
