import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { ApiKeyService } from '../api-keys/api-key.service.js';
import { generateApiKey } from '../common/api-key-value.js';
import { AppConfig } from '../config/app-config.js';
import { EVERYTHING } from '../organizations/member-rights.js';
import { OrganizationsService } from '../organizations/organizations.service.js';

/** Advisory lock of the first start, so that processes that start concurrently create a single key. */
const FIRST_START_LOCK = 0x53424f59;

/** Initializes an empty database: the first organization, its owner and one key with all permissions. */
@Injectable()
export class FirstStartService {
  constructor(
    private readonly config: AppConfig,
    private readonly organizations: OrganizationsService,
    private readonly apiKeys: ApiKeyService,
    @InjectDataSource() private readonly dataSource: DataSource,
  ) {}

  /** Returns the value of the generated key, which cannot be retrieved later. Undefined on later starts. */
  async prepare(): Promise<string | undefined> {
    const session = this.dataSource.createQueryRunner();
    try {
      await session.query('SELECT pg_advisory_lock($1)', [FIRST_START_LOCK]);
      return await this.prepareLocked();
    } finally {
      await session.query('SELECT pg_advisory_unlock($1)', [FIRST_START_LOCK]);
      await session.release();
    }
  }

  private async prepareLocked(): Promise<string | undefined> {
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
