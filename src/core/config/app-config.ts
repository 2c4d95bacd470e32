import type { EncryptionKey } from './encryption-keys.js';
import type { RedisAddress } from './redis-address.js';
import type { Settings } from './settings.js';

const DAY_MS = 86_400_000;

/** The place of this process among those that share the port (`PROCESSES`). */
export interface ServiceSlot {
  /** From 1. A process that replaces another one has its number. */
  readonly number: number;
  /** Only this user can enter it. Each process has a socket there, on which the others reach it. */
  readonly folder: string;
}

/** Values determined during the start: the database in use and the keys of the vault. */
interface ResolvedParts {
  databaseUrl: string;
  encryptionKeys: readonly EncryptionKey[];
  /** Undefined for the only process of a service. */
  slot?: ServiceSlot;
}

/** The configuration that modules inject. Built once at the start. */
export class AppConfig {
  readonly databaseUrl: string;
  readonly encryptionKeys: readonly EncryptionKey[];
  readonly embeddedDatabase: boolean;
  /** Undefined for the only process of a service. */
  readonly slot: ServiceSlot | undefined;
  private listeningUrl: string | undefined;

  constructor(
    readonly settings: Settings,
    resolved: ResolvedParts,
  ) {
    this.databaseUrl = resolved.databaseUrl;
    this.encryptionKeys = resolved.encryptionKeys;
    this.embeddedDatabase = settings.databaseUrl === undefined;
    this.slot = resolved.slot;
  }

  get redis(): RedisAddress | undefined {
    return this.settings.redis;
  }

  get streamRetentionMs(): number {
    return this.settings.streamRetentionMs;
  }

  /** Audit records and events from before this time are deleted (`AUDIT_RETENTION_DAYS`; 0 keeps all of them). */
  auditedSince(now: Date): Date {
    const days = this.settings.auditRetentionDays;
    return new Date(days === 0 ? 0 : now.getTime() - days * DAY_MS);
  }

  get servesApi(): boolean {
    return this.settings.role !== 'worker';
  }

  /** Whether this process serves the web console, and accepts signed-in browsers as callers of the API (`CONSOLE`). */
  get servesConsole(): boolean {
    return this.servesApi && this.settings.isConsoleEnabled;
  }

  get runsJobs(): boolean {
    return this.settings.role !== 'api';
  }

  /** The service's base URL without a trailing slash: `BASE_URL`, otherwise the listening address. */
  get baseUrl(): string {
    return this.settings.baseUrl ?? this.listeningUrl ?? `http://${this.settings.host}:${this.settings.port}`;
  }

  /** Sets the listening address. The port is unknown before that if `PORT=0`. */
  listeningAt(url: string): void {
    this.listeningUrl = url.replace(/\/+$/, '');
  }
}
