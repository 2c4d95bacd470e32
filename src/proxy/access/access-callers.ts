import { Injectable } from '@nestjs/common';
import { type HeldAnswer, endIfCallerLeft } from '../../core/answers/answer-budget.js';
import { DomainError } from '../../core/domain-error.js';
import { listFault, MAX_LIMIT } from '../../core/paging/list-input.js';
import type { Principal } from '../../core/principal.js';
import { ApiKeyService } from '../../identity/api-keys/api-key.service.js';
import { ApiKeyVerifier } from '../../identity/api-keys/api-key.verifier.js';
import { MemberService } from '../../identity/organizations/member.service.js';
import { MembershipSource } from '../../identity/organizations/membership.source.js';
import type { AccessCallerItem } from './access.dto.js';
import type { Connection } from '../../connections/connection.js';
import { hasRunAccess } from '../../core/run-access.js';
import {
  endpointPathOf,
  gatewayPathOf,
  hasScopeFor,
  opensResource,
  organizationPathOf,
} from '../../identity/auth/protected-resource.js';

/** People of one organization that an answer covers; the number of keys has a limit of its own. */
const MAX_PEOPLE = 5_000;
/** Keys whose rights are read together. */
const KEYS_AT_ONCE = 100;

/** An API key or a person, and what their requests would be made with: undefined for an expired key. */
export interface AccessCaller extends AccessCallerItem {
  readonly principal: Principal | undefined;
}

/** Whom a question is about. */
interface CallerInput {
  readonly api_key_id?: string;
  readonly user_id?: string;
}

/** The callers of an organization, with the rights that the service gives their credentials at this moment. */
@Injectable()
export class AccessCallers {
  constructor(
    private readonly keys: ApiKeyService,
    private readonly verifier: ApiKeyVerifier,
    private readonly members: MemberService,
    private readonly memberships: MembershipSource,
  ) {}

  /** @throws DomainError `invalid_request`, `not_found` */
  async require(input: CallerInput, asker: Principal, answer: HeldAnswer): Promise<AccessCaller> {
    const found = await this.find(input, asker, answer);
    if (found === undefined) throw listFault('api_key_id', 'missing_caller', 'Give api_key_id or user_id.');
    return found;
  }

  /**
   * Undefined if the input names nobody.
   * @throws DomainError `invalid_request`, `not_found`
   */
  async find(
    { api_key_id: keyId, user_id: userId }: CallerInput,
    asker: Principal,
    answer: HeldAnswer,
  ): Promise<AccessCaller | undefined> {
    if (keyId !== undefined && userId !== undefined) {
      throw listFault('user_id', 'two_callers', 'api_key_id and user_id cannot be used together.');
    }
    if (keyId !== undefined) {
      const [key] = (await this.keysWhere({ field: ['id'], operator: 'eq', value: keyId }, asker, answer)) ?? [];
      if (key === undefined) throw new DomainError('not_found', 'The organization has no API key with this id.');
      return key;
    }
    if (userId === undefined) return undefined;
    const { people } = await this.peopleWhere({ field: ['user_id'], operator: 'eq', value: userId }, asker, answer);
    if (people[0] === undefined) throw new DomainError('not_found', 'The organization has no member with this id.');
    return people[0];
  }

  /** All API keys, the oldest first, and then the people. */
  async all(asker: Principal, answer: HeldAnswer): Promise<{ callers: AccessCaller[]; truncated: boolean }> {
    const keys = await this.keysWhere(undefined, asker, answer);
    const { people, truncated } = await this.peopleWhere(
      { field: ['status'], operator: 'eq', value: 'active' },
      asker,
      answer,
    );
    return { callers: [...keys, ...people], truncated };
  }

  private async keysWhere(where: Record<string, unknown> | undefined, asker: Principal, answer: HeldAnswer) {
    const items: { id: string; name: string }[] = [];
    let cursor: string | null = null;
    do {
      const page = await this.keys.list({ limit: MAX_LIMIT, cursor, where: where ?? null }, asker, answer);
      // Not the whole items: the principals have their permissions too.
      items.push(...page.items.map(({ id, name }) => ({ id, name })));
      cursor = page.nextCursor;
    } while (cursor !== null);
    const callers: AccessCaller[] = [];
    // The rights of many keys at once would block the event loop.
    for (let start = 0; start < items.length; start += KEYS_AT_ONCE) {
      endIfCallerLeft(answer);
      const some = items.slice(start, start + KEYS_AT_ONCE);
      const principals = await this.verifier.findPrincipals(some.map(({ id }) => id));
      callers.push(...some.map(({ id, name }) => ({ type: 'key' as const, id, name, principal: principals.get(id) })));
    }
    return callers;
  }

  private async peopleWhere(where: Record<string, unknown>, asker: Principal, answer: HeldAnswer) {
    const people: AccessCaller[] = [];
    let cursor: string | null = null;
    do {
      endIfCallerLeft(answer);
      const page = await this.members.list({ limit: MAX_LIMIT, cursor, where }, asker, answer);
      const found = page.items.flatMap(({ user_id: id, email }) => (id === null ? [] : [{ id, email }]));
      const ids = found.map(({ id }) => id);
      const principals = await this.memberships.findPrincipals(ids, asker);
      for (const { id, email } of found) {
        people.push({ type: 'person', id, name: email, principal: principals.get(id) });
      }
      cursor = page.nextCursor;
    } while (cursor !== null && people.length < MAX_PEOPLE);
    return { people, truncated: cursor !== null };
  }
}

/** True if the credential admits requests to an MCP endpoint of the connection or agent, whatever they ask for. */
export function opensEndpoint(principal: Principal, { id }: Pick<Connection, 'id'>): boolean {
  const { slug } = principal.organization;
  const paths = [endpointPathOf(slug, id), gatewayPathOf(slug, id), endpointPathOf(undefined, id)];
  return hasScopeFor(principal, 'mcp') && paths.some((path) => opensResource(principal, path));
}

/** True if the caller can post messages to the agent. */
export function canRun(principal: Principal, agentId: string): boolean {
  const isOpen = opensResource(principal, organizationPathOf(principal.organization.slug));
  return isOpen && hasScopeFor(principal, 'organization') && hasRunAccess(principal, agentId);
}
