import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { databaseNow } from '../../../core/database-time.js';
import { DomainError } from '../../../core/domain-error.js';
import { FairShare } from '../../../core/sharing/fair-share.js';
import { atMost, Shares } from '../../../core/sharing/shares.js';
import { AppConfig } from '../../../core/config/app-config.js';
import { type Connection, isEnterprise, isMachine, accountKey } from '../../connection.js';
import { assertionRefused, pageOf, signInRequired } from '../authorization-page.js';
import { AuthorizationServerFault } from '../authorization-server-fault.js';
import { type Account, accountOf, type AccountTokens, isAccountFor } from './account-tokens.js';
import { AssertionRefused, EnterpriseAccounts, IdTokenUnavailable } from './enterprise-accounts.js';
import { MachineAccounts } from './machine-accounts.js';
import { AuthorizationEnded, concernsAccount, TokenRequests } from './token-requests.js';
import { type AccountChange, UpstreamAuthorizationRepository } from './upstream-authorization.repository.js';

/**
 * How long a caller waits for the refresh of another process: longer than its lease, so that it can take over from a
 * dead one.
 */
const MAX_WAIT_MS = 12_000;
const POLL_MS = 100;
/** Between the lease and the request, which must end before the lease. */
const MAX_STANDSTILL_MS = 2_000;
/** After a failure: doubled with each further one at the same token endpoint, connection or account. */
const BACK_OFF_MS = 1_000;
const MAX_BACK_OFF_MS = 30_000;
const MAX_FAILED = 10_000;

interface Failures {
  readonly count: number;
  readonly until: number;
  /** The answer to callers meanwhile. */
  readonly error: DomainError;
}

/**
 * Refreshes the tokens of accounts. One process at a time refreshes an account: it holds a lease on the row, and no
 * transaction, while it waits for the authorization server. Slots and back-off are separate for each organization and
 * token endpoint, so that no server keeps the accounts of others waiting; what concerns one connection or account only
 * keeps no other one waiting.
 */
@Injectable()
export class TokenRefreshes {
  private readonly logger = new Logger(TokenRefreshes.name);
  /**
   * The refreshes that this process makes at a time, by organization and token endpoint, so that a slow endpoint leaves
   * the organization some for its others. Each ends within 5 seconds, and those that look up the server within 8.
   */
  private readonly share = new FairShare({
    capacity: 64,
    limits: [atMost(8), atMost(4)],
    places: new Shares(Infinity, [atMost(256), atMost(64)]),
    waitMs: 5_000,
    refusal: () => unreachable(),
  });
  /** By organization and token endpoint, by revision of a connection, and by account. */
  private readonly failures = new LRUCache<string, Failures>({ max: MAX_FAILED, ttl: 2 * MAX_BACK_OFF_MS });
  /**
   * In progress, by account and revision of the connection: a corrected secret does not get the failure of the old one.
   */
  private readonly running = new Map<string, Promise<Account | undefined>>();

  constructor(
    private readonly repository: UpstreamAuthorizationRepository,
    private readonly requests: TokenRequests,
    private readonly enterprise: EnterpriseAccounts,
    private readonly machines: MachineAccounts,
    private readonly config: AppConfig,
  ) {}

  /** True while asking the account's authorization server is of no use. */
  isPaused(connection: Connection, { tokens }: Account): boolean {
    const isFinal = tokens.refreshToken === undefined && hasLogIns(connection);
    return isFinal || this.pauseOf(connection, endpointOf(connection, tokens)) !== undefined;
  }

  /**
   * The account with another access token than the outdated one, whichever process has got it; undefined if its
   * authorization has ended.
   * @throws DomainError `upstream_unreachable`
   */
  async refresh(connection: Connection, known: Account, outdated: string): Promise<Account | undefined> {
    const key = `${accountKey(connection)} ${connection.revision}`;
    for (;;) {
      const running = this.running.get(key);
      const account = await (running ?? this.start(key, connection, known.tokens, outdated));
      // One that was in progress may have kept a token that the upstream has refused since, or that of another client.
      if (running === undefined || account === undefined) return account;
      if (account.tokens.accessToken !== outdated && !isOfFormerClient(account, connection)) return account;
    }
  }

  private start(
    key: string,
    connection: Connection,
    tokens: AccountTokens,
    outdated: string,
  ): Promise<Account | undefined> {
    const refreshed = this.untilRefreshed(connection, tokens, outdated).finally(() => this.running.delete(key));
    this.running.set(key, refreshed);
    return refreshed;
  }

  private async untilRefreshed(
    connection: Connection,
    tokens: AccountTokens,
    outdated: string,
  ): Promise<Account | undefined> {
    const endpoint = endpointOf(connection, tokens);
    const holder = [connection.organizationId, endpoint];
    const end = performance.now() + MAX_WAIT_MS;
    do {
      const pause = this.pauseOf(connection, endpoint);
      if (pause !== undefined) throw pause.error;
      const tried = await this.share.within(holder, () => this.tryOnce(connection, outdated));
      if (tried !== 'busy') return tried;
      await sleep(POLL_MS);
    } while (performance.now() < end);
    throw unreachable();
  }

  /** Is `busy` while another process refreshes the account. */
  private async tryOnce(connection: Connection, outdated: string): Promise<Account | undefined | 'busy'> {
    const begun = performance.now();
    const leased = await this.repository.lease(connection, (account) => isOutdated(account, outdated, connection));
    if (leased === undefined || leased === 'busy') return leased;
    const { account, lease } = leased;
    if (lease === undefined) return account;
    // A process that stood still must not use a refresh token that another one may have used meanwhile.
    if (performance.now() - begun > MAX_STANDSTILL_MS) return 'busy';
    const change = await this.outcomeOf(connection, account);
    const settled = await this.repository.settle(
      connection,
      lease,
      change instanceof DomainError ? { kept: true } : change,
    );
    if (change instanceof DomainError) throw change;
    // The account was removed during the request, with tokens that were older.
    if (settled === undefined && 'replacement' in change) {
      await this.requests.revoke(connection.id, change.replacement.tokens);
    }
    // No row is left that knows the tokens of the former client or person.
    if (settled !== undefined && 'replacement' in change && isOfFormerClient(account, connection)) {
      void this.requests.revoke(connection.id, account.tokens);
    }
    return settled;
  }

  /** The error for callers after a failure that can pass. */
  private async outcomeOf(connection: Connection, account: Account): Promise<AccountChange | DomainError> {
    const endpoint = endpointOf(connection, account.tokens);
    try {
      const replacement = await this.replacementOf(connection, account);
      for (const key of keysOf(connection, endpoint)) this.failures.delete(key);
      return { replacement };
    } catch (error) {
      if (error instanceof AuthorizationEnded) {
        // The next call would open the account again for the same sign-in.
        if (isEnterprise(connection)) this.backOff(accountKey(connection), this.answerFor(connection, error));
        return { removed: true };
      }
      const fields = { connection_id: connection.id, err: error };
      this.logger.warn(fields, 'Could not refresh the access token for an upstream');
      return this.backOff(blamed(error, connection, endpoint), this.answerFor(connection, error));
    }
  }

  private answerFor({ id, title }: Connection, error: unknown): DomainError {
    const page = pageOf(this.config.baseUrl, id);
    if (error instanceof AuthorizationEnded) return signInRequired(title, page);
    if (error instanceof AssertionRefused) return assertionRefused(title, error.message, page);
    const isExplained = error instanceof AuthorizationServerFault || error instanceof IdTokenUnavailable;
    return isExplained ? unreachable(error.message) : unreachable();
  }

  private async replacementOf(connection: Connection, { tokens, connectionUrl }: Account): Promise<Account> {
    if (isEnterprise(connection)) return this.enterprise.exchange(connection);
    if (isMachine(connection)) return this.machines.request(connection);
    return accountOf(await this.requests.refresh(tokens), tokens, connectionUrl);
  }

  private pauseOf(connection: Connection, endpoint: string): Failures | undefined {
    const all = keysOf(connection, endpoint).map((key) => this.failures.get(key));
    return all.find((failures) => Date.now() < (failures?.until ?? 0));
  }

  /** Returns the error that callers get during the pause. */
  private backOff(key: string, error: DomainError): DomainError {
    const count = (this.failures.get(key)?.count ?? 0) + 1;
    const pauseMs = Math.min(MAX_BACK_OFF_MS, BACK_OFF_MS * 2 ** (count - 1));
    this.failures.set(key, { count, until: Date.now() + pauseMs, error });
    return error;
  }
}

/** True while no process has got a newer access token, or one for the connection's present client. */
function isOutdated(account: Account, outdated: string, connection: Connection): boolean {
  const { tokens, refreshAt } = account;
  return tokens.accessToken === outdated || databaseNow() >= refreshAt || isOfFormerClient(account, connection);
}

/** True if the connection has a client that acts for itself, and the account is that of another one, or of a person. */
function isOfFormerClient(account: Account, connection: Connection): boolean {
  return isMachine(connection) && !isAccountFor(account, connection);
}

/** True if a person logs in for new tokens. */
function hasLogIns(connection: Connection): boolean {
  return !isEnterprise(connection) && !isMachine(connection);
}

/** That of `keysOf` which the failure is counted against, so that nobody else waits. */
function blamed(error: unknown, connection: Connection, endpoint: string): string {
  const isOfAccount =
    error instanceof AssertionRefused || error instanceof IdTokenUnavailable || concernsAccount(error);
  if (isOfAccount) return accountKey(connection);
  return error instanceof AuthorizationServerFault ? settingsKey(connection) : endpoint;
}

function keysOf(connection: Connection, endpoint: string): string[] {
  return [endpoint, settingsKey(connection), accountKey(connection)];
}

/** A change of the connection ends the pauses of its former settings. */
function settingsKey({ id, revision }: Connection): string {
  return `${id} ${revision}`;
}

/** Of a connection whose authorization server is looked up each time, the upstream. */
function endpointOf(connection: Connection, { server }: AccountTokens): string {
  return `${connection.organizationId} ${hasLogIns(connection) ? server.token_endpoint : connection.url}`;
}

function unreachable(detail = 'The authorization server of the upstream did not issue a new token.'): DomainError {
  return new DomainError('upstream_unreachable', detail);
}
