import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { databaseNow } from '../../../core/database-time.js';
import { DomainError } from '../../../core/domain-error.js';
import { ReadThroughCache } from '../../../core/read-through-cache.js';
import { AppConfig } from '../../../core/config/app-config.js';
import { type Connection, isEnterprise, isMachine, accountKey, hasMemberAccounts } from '../../connection.js';
import { ConnectionDirectory } from '../../connection-directory.js';
import {
  accountChanged,
  authorizationRequired,
  clientRefused,
  pageOf,
  scopeRequired,
  signInRequired,
} from '../authorization-page.js';
import { type Account, isAccountFor, judgeDemand, uniteScopes } from './account-tokens.js';
import { EnterpriseAccounts } from './enterprise-accounts.js';
import { MachineAccounts } from './machine-accounts.js';
import { TokenRefreshes } from './token-refreshes.js';
import { UpstreamAuthorizationRepository } from './upstream-authorization.repository.js';

/** A log-in and a revocation in another process must be visible within a second. */
const VALID_MS = 900;
const MAX_ENTRIES = 10_000;
const MAX_QUERIES = 2;
const MAX_KEYS_PER_QUERY = 500;
/** How long a token that the upstream refused although it was new is not refreshed again, in milliseconds. */
const REFUSED_MS = 30_000;

/**
 * The account at an upstream that demands OAuth. Its methods reject with DomainError, also if a person has to authorize
 * it.
 */
export interface AccountAccess {
  /** The access token to send; a promise only if it has to be read or refreshed. */
  token(): string | Promise<string>;
  /**
   * Another token, after the upstream answered 401 to this one.
   * @throws DomainError `upstream_authorization_required` if there is none
   */
  renew(refused: string): Promise<string>;
  /** The error for callers when the upstream refuses the renewed token too. */
  refused(token: string): DomainError;
  /**
   * The error for callers when the upstream demands these scopes, separated by spaces. Undefined if another log-in is
   * of no use, so that the answer is an ordinary refusal.
   */
  demandScope(scope: string): Promise<DomainError | undefined>;
}

/** The access tokens for upstreams that demand OAuth. */
@Injectable()
export class UpstreamAccounts {
  private readonly logger = new Logger(UpstreamAccounts.name);
  private readonly cache: ReadThroughCache<Account>;
  /** New tokens that the upstream refused, by account. */
  private readonly refusedTokens = new LRUCache<string, string>({ max: MAX_ENTRIES, ttl: REFUSED_MS });

  constructor(
    private readonly repository: UpstreamAuthorizationRepository,
    private readonly refreshes: TokenRefreshes,
    private readonly enterprise: EnterpriseAccounts,
    private readonly machines: MachineAccounts,
    private readonly directory: ConnectionDirectory,
    private readonly config: AppConfig,
  ) {
    this.cache = new ReadThroughCache((keys) => this.repository.findAll(keys), {
      ttlMs: VALID_MS,
      maxEntries: MAX_ENTRIES,
      maxMissing: MAX_ENTRIES,
      maxQueries: MAX_QUERIES,
      maxKeysPerQuery: MAX_KEYS_PER_QUERY,
    });
  }

  /**
   * The account that the connection uses, for requests to its upstream.
   * @throws DomainError `permission_denied` if each member has an own account and the caller is no person
   */
  accessFor(connection: Connection): AccountAccess {
    if (hasMemberAccounts(connection) && connection.accountUserId === undefined) {
      const detail =
        'Each member uses an own account at the upstream, and this credential does not belong to a person.';
      throw new DomainError('permission_denied', detail);
    }
    return {
      token: () => this.tokenOf(connection),
      renew: (refused) => this.renew(connection, refused),
      refused: (token) => this.refused(connection, token),
      demandScope: (scope) => this.demandScope(connection, scope),
    };
  }

  /** @throws DomainError `upstream_authorization_required` or `upstream_unreachable` */
  private tokenOf(connection: Connection): string | Promise<string> {
    const found = this.cache.get(accountKey(connection));
    return found instanceof Promise
      ? found.then((account) => this.currentToken(connection, account))
      : this.currentToken(connection, found);
  }

  /** @throws DomainError `upstream_authorization_required`, `upstream_unauthorized` or `upstream_unreachable` */
  private async renew(connection: Connection, refused: string): Promise<string> {
    const key = accountKey(connection);
    if (this.refusedTokens.get(key) === refused) throw this.missing(connection);
    const known = await this.cache.get(key);
    return known === undefined ? this.begin(connection) : this.refresh(connection, known, refused);
  }

  /** Notes that the upstream refused a token that was just renewed. */
  private refused(connection: Connection, token: string): DomainError {
    this.refusedTokens.set(accountKey(connection), token);
    return this.missing(connection);
  }

  /** Notes scopes that the upstream demands beyond those of the token, for the next log-in. */
  private async demandScope(connection: Connection, demanded: string): Promise<DomainError | undefined> {
    // Who configures the scopes also limits them, and so does the server that asserts people or has set up a client.
    if (connection.oauth?.scope != null || isEnterprise(connection) || isMachine(connection)) return undefined;
    const key = accountKey(connection);
    const known = await this.cache.get(key);
    if (known === undefined) return this.missing(connection);
    let demand = judgeDemand(known.tokens, demanded);
    if (demand === 'new') {
      await this.repository.changeTokens(connection, (tokens) => {
        demand = judgeDemand(tokens, demanded);
        if (demand !== 'new') return undefined;
        return { ...tokens, demandedScope: uniteScopes(tokens.demandedScope, demanded) };
      });
      this.cache.forget(key);
    }
    return demand === 'useless' ? undefined : this.missing(connection, scopeRequired);
  }

  /** The account was stored or removed in this process. */
  forget(connection: Pick<Connection, 'id' | 'accountUserId'>): void {
    const key = accountKey(connection);
    this.cache.forget(key);
    this.refusedTokens.delete(key);
  }

  private currentToken(connection: Connection, account: Account | undefined): string | Promise<string> {
    if (account === undefined || !isAccountFor(account, connection)) return this.begin(connection);
    const now = databaseNow();
    const { accessToken } = account.tokens;
    if (now < account.refreshAt) return accessToken;
    if (now >= account.expiresAt) return this.refresh(connection, account, accessToken);
    // Nobody waits for a new token while the present one is valid. The reason of a failure is logged.
    if (!this.refreshes.isPaused(connection, account)) {
      this.refresh(connection, account, accessToken).catch(() => undefined);
    }
    return accessToken;
  }

  /** The first token of a client for itself, or of a person if the sign-in with the issuer is enough for one. */
  private begin(connection: Connection): Promise<string> {
    if (!isMachine(connection) && !isEnterprise(connection)) throw this.missing(connection);
    const accounts = isMachine(connection) ? this.machines : this.enterprise;
    return accounts.open(connection).then((account) => {
      if (account === undefined) throw this.missing(connection);
      return this.refresh(connection, account, account.tokens.accessToken);
    });
  }

  /** @param outdated the access token that is to be replaced */
  private async refresh(connection: Connection, known: Account, outdated: string): Promise<string> {
    try {
      const account = await this.refreshes.refresh(connection, known, outdated);
      if (account === undefined || !isAccountFor(account, connection)) {
        throw isMachine(connection) ? accountChanged() : this.missing(connection);
      }
      return account.tokens.accessToken;
    } finally {
      this.cache.forget(accountKey(connection));
    }
  }

  /** The error of a call whose account has no token that the upstream accepts. */
  private missing(
    connection: Connection,
    errorOf = isEnterprise(connection) ? signInRequired : authorizationRequired,
  ): DomainError {
    if (isMachine(connection)) return clientRefused(connection.title);
    const error = errorOf(connection.title, pageOf(this.config.baseUrl, connection.id));
    if (!hasMemberAccounts(connection)) {
      this.directory.recordHindrance(connection, error.message).catch((cause: Error) => {
        this.logger.warn({ connection_id: connection.id, err: cause }, 'Could not record the status of a connection');
      });
    }
    return error;
  }
}
