import { type DynamicModule, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AppConfig } from '../core/config/app-config.js';
import { ConfigModule } from '../core/config/config.module.js';
import { ConfigError } from '../core/config/env-reader.js';
import { readSettings } from '../core/config/settings.js';
import { DatabaseModule } from '../platform/database/database.module.js';
import { migrate } from '../platform/database/migrate.js';
import { ApiKeyEntity } from '../identity/api-keys/api-key.entity.js';
import { OauthGrantEntity } from '../identity/oauth/records/oauth-grant.entity.js';
import { OrganizationsModule } from '../identity/organizations/organizations.module.js';
import { OrganizationsService } from '../identity/organizations/organizations.service.js';
import { Ownership } from '../identity/organizations/ownership.js';
import { PasswordResets } from '../identity/organizations/password-resets.js';
import { runningDatabaseUrl } from './database.js';
import { sentenceFor } from './start-failure.js';

/** What the operator's commands work with. */
interface Administration {
  readonly baseUrl: string;
  readonly organizations: OrganizationsService;
  readonly ownership: Ownership;
  readonly resets: PasswordResets;
}

@Module({})
class AdministrationModule {
  static forRoot(config: AppConfig): DynamicModule {
    return {
      module: AdministrationModule,
      imports: [
        ConfigModule.forRoot(config),
        DatabaseModule,
        OrganizationsModule,
        // Invitations and links that set passwords refer to them.
        TypeOrmModule.forFeature([ApiKeyEntity, OauthGrantEntity]),
      ],
    };
  }
}

/**
 * Runs a command of the operator on the service's database, and prints what it returns. The exit code is 1 if it
 * throws, with one sentence on standard error.
 */
export async function administrate(command: (administration: Administration) => Promise<string>): Promise<void> {
  try {
    const settings = readSettings(process.env);
    const databaseUrl = await runningDatabaseUrl(settings);
    await migrate(databaseUrl);
    const config = new AppConfig(settings, { databaseUrl, encryptionKeys: settings.encryptionKeys ?? [] });
    const context = await NestFactory.createApplicationContext(AdministrationModule.forRoot(config), {
      logger: false,
      abortOnError: false,
    });
    try {
      const organizations = context.get(OrganizationsService, { strict: false });
      const ownership = context.get(Ownership, { strict: false });
      const resets = context.get(PasswordResets, { strict: false });
      process.stdout.write(`${await command({ baseUrl: config.baseUrl, organizations, ownership, resets })}\n`);
    } finally {
      await context.close();
    }
  } catch (error) {
    process.stderr.write(`${sentenceFor(error)}\n`);
    process.exitCode = 1;
  }
}

/** @throws ConfigError that shows how to call the command */
export function required(value: string | undefined, usage: string): string {
  if (value === undefined || value === '') throw new ConfigError(`Usage: ${usage}`);
  return value;
}
