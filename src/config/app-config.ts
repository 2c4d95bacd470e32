import type { EncryptionKey } from './encryption-keys.js';
import type { Settings } from './settings.js';

/** What became known while starting: the database in use and the keys of the vault. */
export interface ResolvedParts {
  databaseUrl: string;
  encryptionKeys: readonly EncryptionKey[];
}

/** The configuration that modules inject. Built once at the start; nothing else reads the environment. */
export class AppConfig {
  readonly databaseUrl: string;
  readonly encryptionKeys: readonly EncryptionKey[];
  readonly embeddedDatabase: boolean;
  private listeningUrl: string | undefined;

  constructor(
    readonly settings: Settings,
    resolved: ResolvedParts,
  ) {
    this.databaseUrl = resolved.databaseUrl;
    this.encryptionKeys = resolved.encryptionKeys;
    this.embeddedDatabase = settings.databaseUrl === undefined;
  }

  get redisUrl(): string | undefined {
    return this.settings.redisUrl;
  }

  get streamRetentionMs(): number {
    return this.settings.streamRetentionMs;
  }

  get servesApi(): boolean {
    return this.settings.role !== 'worker';
  }

  get runsJobs(): boolean {
    return this.settings.role !== 'api';
  }

  /** The service's base address without a trailing slash: `BASE_URL`, or where it listens. */
  get baseUrl(): string {
    return this.settings.baseUrl ?? this.listeningUrl ?? `http://${this.settings.host}:${this.settings.port}`;
  }

  /** Told once by the listener, because `PORT=0` is only known then. */
  listeningAt(url: string): void {
    this.listeningUrl = url.replace(/\/+$/, '');
  }
}
