import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { ApiKeyService } from '../api-keys/api-key.service.js';
import { generateApiKey } from '../common/api-key-value.js';
import { AppConfig } from '../config/app-config.js';
import { EVERYTHING } from '../organizations/member-rights.js';
import { ConfigError } from '../config/env-reader.js';
import { Ownership } from '../organizations/ownership.js';
import { passwordFault } from '../users/password-rules.js';
import { UserService } from '../users/user.service.js';
import { OrganizationsService } from '../organizations/organizations.service.js';

/** Advisory lock of the first start, so that processes that start concurrently create a single key. */
const FIRST_START_LOCK = 0x53424f59;

/** What a start prints once. */
export interface FirstStart {
  /** The value of the generated key, which cannot be retrieved later. Undefined on later starts. */
  readonly newKey: string | undefined;
  /** The path of the page that makes the first owner. Undefined once the organization has an owner. */
  readonly setupPath: string | undefined;
}

/** Initializes an empty database: the first organization, its owner and one key with all permissions. */
@Injectable()
export class FirstStartService {
  constructor(
    private readonly config: AppConfig,
    private readonly organizations: OrganizationsService,
    private readonly ownership: Ownership,
    private readonly users: UserService,
    private readonly apiKeys: ApiKeyService,
    @InjectDataSource() private readonly dataSource: DataSource,
  ) {}

  async prepare(): Promise<FirstStart> {
    const session = this.dataSource.createQueryRunner();
    try {
      await session.query('SELECT pg_advisory_lock($1)', [FIRST_START_LOCK]);
      return { newKey: await this.ensureKey(), setupPath: await this.ensureOwner() };
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
    const passwordHash = await this.users.hashPassword(bootstrapOwner.password, id);
    await this.ownership.ensureOwner(id, bootstrapOwner.email, passwordHash);
    return undefined;
  }

  private async ensureKey(): Promise<string | undefined> {
    const { bootstrapOrg, bootstrapApiKey } = this.config.settings;
    const organization = await this.organizations.ensure(bootstrapOrg);
    const key = {
      organizationId: organization.id,
      userId: null,
      name: 'bootstrap',
      permissions: EVERYTHING,
    };
    if (bootstrapApiKey !== undefined) {
      await this.apiKeys.ensure(bootstrapApiKey, key);
      return undefined;
    }
    if (await this.apiKeys.existsAny(organization.id)) return undefined;
    const value = generateApiKey();
    await this.apiKeys.ensure(value, key);
    return value;
  }
}
