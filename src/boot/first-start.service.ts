import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { ApiKeyService } from '../identity/api-keys/api-key.service.js';
import { generateApiKey } from '../core/api-key-value.js';
import { AppConfig } from '../core/config/app-config.js';
import { EVERYTHING } from '../identity/organizations/member-rights.js';
import { ConfigError } from '../core/config/env-reader.js';
import { Ownership } from '../identity/organizations/ownership.js';
import { passwordFault } from '../identity/users/password-rules.js';
import { OrganizationsService } from '../identity/organizations/organizations.service.js';

/** Advisory lock of the first start, so that processes that start concurrently create a single key. */
const FIRST_START_LOCK = 0x53424f59;

/** Initializes an empty database: the first organization, its owner and one key with all permissions. */
@Injectable()
export class FirstStartService {
  private hasKey = false;

  constructor(
    private readonly config: AppConfig,
    private readonly organizations: OrganizationsService,
    private readonly ownership: Ownership,
    private readonly apiKeys: ApiKeyService,
    @InjectDataSource() private readonly dataSource: DataSource,
  ) {}

  /**
   * Creates what the settings name: the organization, its owner and its key.
   * @returns the path of the page that makes the first owner; undefined once the organization has an owner
   */
  prepare(): Promise<string | undefined> {
    return this.alone(async () => {
      await this.ensureConfiguredKey();
      this.hasKey = (await this.keylessOrganization()) === undefined;
      return this.ensureOwner();
    });
  }

  /**
   * Creates a key if there was none in `prepare` and is none yet. For a process that listens: a start that fails must
   * not leave a key behind that nobody has seen.
   * @returns its value, which cannot be retrieved later
   */
  async createFirstKey(): Promise<string | undefined> {
    // A later start needs no database after this point.
    if (this.hasKey) return undefined;
    return this.alone(async () => {
      const organizationId = await this.keylessOrganization();
      if (organizationId === undefined) return undefined;
      const value = generateApiKey();
      await this.apiKeys.ensure(value, bootstrapKeyOf(organizationId));
      return value;
    });
  }

  /** The id of the first organization if it has no key. */
  private async keylessOrganization(): Promise<string | undefined> {
    const { id } = await this.organizations.ensure(this.config.settings.bootstrapOrg);
    return (await this.apiKeys.existsAny(id)) ? undefined : id;
  }

  private async alone<T>(work: () => Promise<T>): Promise<T> {
    const session = this.dataSource.createQueryRunner();
    try {
      await session.query('SELECT pg_advisory_lock($1)', [FIRST_START_LOCK]);
      return await work();
    } finally {
      await session.query('SELECT pg_advisory_unlock($1)', [FIRST_START_LOCK]);
      await session.release();
    }
  }

  private async ensureOwner(): Promise<string | undefined> {
    const { bootstrapOrg, bootstrapOwner } = this.config.settings;
    const fault = bootstrapOwner && passwordFault(bootstrapOwner.password, bootstrapOwner.email);
    if (fault !== undefined) throw new ConfigError(`BOOTSTRAP_OWNER_PASSWORD is refused. ${fault}`);
    const { id } = await this.organizations.ensure(bootstrapOrg);
    if (await this.ownership.hasOwner(id)) return undefined;
    if (bootstrapOwner === undefined) return `/setup?token=${await this.ownership.createSetupToken(id)}`;
    await this.ownership.ensureOwner(id, bootstrapOwner.email, bootstrapOwner.password);
    return undefined;
  }

  private async ensureConfiguredKey(): Promise<void> {
    const { bootstrapOrg, bootstrapApiKey } = this.config.settings;
    if (bootstrapApiKey === undefined) return;
    const { id } = await this.organizations.ensure(bootstrapOrg);
    await this.apiKeys.ensure(bootstrapApiKey, bootstrapKeyOf(id));
  }
}

function bootstrapKeyOf(organizationId: string) {
  return { organizationId, userId: null, name: 'bootstrap', permissions: EVERYTHING };
}
