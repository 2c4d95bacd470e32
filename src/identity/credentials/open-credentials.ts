import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { PeriodicTask } from '../../core/periodic-task.js';
import type { CredentialKind, Principal } from '../../core/principal.js';
import { permissionsDigest } from '../../core/permissions.js';
import { CredentialSources } from './credential-source.js';

/** The end of a credential must take effect within a second. Half of that leaves time for a check in progress. */
const CHECK_EVERY_MS = 500;

/** A credential, as `Principal` names it. */
type WatchedCredential = Pick<Principal, 'kind' | 'credentialId'>;

/** An open response. */
interface Watch {
  /** The caller's permissions at the start; undefined if only the end of the credential matters. */
  readonly permissionsDigest: string | undefined;
  readonly onRevoked: () => void;
}

type WatchesById = Map<string, Set<Watch>>;

/**
 * Watches the credentials of responses that stay open, twice a second with one query for all of a kind. A response ends
 * when its credential ends, and also when the permissions change, because they may no longer allow the response.
 */
@Injectable()
export class OpenCredentials implements OnApplicationShutdown {
  private readonly logger = new Logger(OpenCredentials.name);
  private readonly watched = new Map<CredentialKind, WatchesById>();
  private readonly checks = new PeriodicTask(() => this.check(), {
    pauseMs: CHECK_EVERY_MS,
    isNeeded: () => this.watched.size > 0,
    // Streams stay open while the database is unavailable. New requests are rejected during authentication.
    onError: (error) => this.logger.warn(`Open credentials could not be checked: ${(error as Error).message}`),
  });

  constructor(private readonly sources: CredentialSources) {}

  /**
   * Calls `onRevoked` once when the caller's credential becomes invalid or its permissions change. Returns a function
   * that ends the watch.
   */
  watchPermissions(caller: Principal, onRevoked: () => void): () => void {
    return this.add(caller, { permissionsDigest: caller.permissionsDigest, onRevoked });
  }

  /** Calls `onRevoked` once when the credential is revoked or expires. Ignores changes of its permissions. */
  watchValidity(credential: WatchedCredential, onRevoked: () => void): () => void {
    return this.add(credential, { permissionsDigest: undefined, onRevoked });
  }

  onApplicationShutdown(): void {
    void this.checks.stop();
    this.watched.clear();
  }

  private add({ kind, credentialId }: WatchedCredential, watch: Watch): () => void {
    const ofKind: WatchesById = this.watched.get(kind) ?? new Map();
    const watches = ofKind.get(credentialId) ?? new Set();
    this.watched.set(kind, ofKind.set(credentialId, watches.add(watch)));
    this.checks.start();
    return () => {
      watches.delete(watch);
      this.forgetIfEmpty(kind, credentialId);
    };
  }

  private async check(): Promise<void> {
    await Promise.all([...this.watched].map(([kind, ofKind]) => this.checkKind(kind, [...ofKind.keys()])));
  }

  private async checkKind(kind: CredentialKind, ids: readonly string[]): Promise<void> {
    const usable = await this.sources.sourceOf(kind)?.findUsable(ids);
    for (const id of ids) {
      const permissions = usable?.get(id);
      this.revoke(kind, id, permissions && permissionsDigest(permissions));
    }
  }

  /** @param permissionsDigest undefined for a credential that is no longer valid */
  private revoke(kind: CredentialKind, id: string, permissionsDigest: string | undefined): void {
    const watches = this.watched.get(kind)?.get(id) ?? new Set();
    for (const watch of watches) {
      const isUnchanged = watch.permissionsDigest === undefined || watch.permissionsDigest === permissionsDigest;
      if (permissionsDigest !== undefined && isUnchanged) continue;
      watches.delete(watch);
      watch.onRevoked();
    }
    this.forgetIfEmpty(kind, id);
  }

  private forgetIfEmpty(kind: CredentialKind, id: string): void {
    const ofKind = this.watched.get(kind);
    if (ofKind?.get(id)?.size === 0) ofKind.delete(id);
    if (ofKind?.size === 0) this.watched.delete(kind);
  }
}
