import { afterAll, beforeAll } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Client } from 'pg';
import { AUDIT_APPLICATION_NAME } from '../../../src/audit/calls/audit-connection.js';
import { AuditLog } from '../../../src/audit/calls/audit-log.js';
import type { InvocationFacts, InvocationOutcome } from '../../../src/audit/calls/audit-record.js';
import { AuditModule } from '../../../src/audit/calls/audit.module.js';
import { newId } from '../../../src/core/ids.js';
import { AppConfig } from '../../../src/core/config/app-config.js';
import { ConfigModule } from '../../../src/core/config/config.module.js';
import { generateEncryptionKey } from '../../../src/core/config/encryption-keys.js';
import { readSettings } from '../../../src/core/config/settings.js';
import { DatabaseModule } from '../../../src/platform/database/database.module.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { startTcpProxy, type TcpProxy, through } from '../../support/tcp-proxy.js';

export const SUCCESS: InvocationOutcome = { status: 'success', errorCode: null, durationMs: 1.5 };

export const factsOf = (requestId: string, more: Partial<InvocationFacts> = {}): InvocationFacts => ({
  organizationId: newId(),
  entryPoint: 'proxy',
  connectionId: newId(),
  agentId: null,
  toolName: 'echo',
  userId: null,
  apiKeyId: null,
  runId: null,
  requestId,
  public: true,
  ...more,
});

/** An audit log that reaches its database through a proxy. */
interface AuditLogSetUp {
  readonly database: TestDatabase;
  /** Between the service and its database. */
  readonly proxy: TcpProxy;
  /** The URL of the database behind the proxy. */
  readonly databaseUrl: string;
  readonly service: INestApplicationContext;
  readonly audit: AuditLog;
  /** A direct connection to the database. */
  readonly witness: Client;
  /** The number of records of the request. */
  countOf: (requestId: string) => Promise<number>;
  /** The number of open database connections of audit logs. */
  connectionsOfAudit: () => Promise<number>;
}

/** Starts the audit log before the tests of a spec, and stops it after them. */
export function useAuditLog(): AuditLogSetUp {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let databaseUrl: string;
  let service: INestApplicationContext;
  let audit: AuditLog;
  let witness: Client;

  beforeAll(async () => {
    database = await createTestDatabase();
    proxy = await startTcpProxy(database.url);
    databaseUrl = through(proxy, database.url);
    const settings = readSettings({ DATABASE_URL: databaseUrl, ENCRYPTION_KEYS: generateEncryptionKey('test') });
    const config = new AppConfig(settings, { databaseUrl, encryptionKeys: [] });
    const imports = [ConfigModule.forRoot(config), DatabaseModule, AuditModule];
    service = await (await Test.createTestingModule({ imports }).compile()).init();
    audit = service.get(AuditLog, { strict: false });
    witness = new Client({ connectionString: database.url });
    await witness.connect();
  });

  afterAll(async () => {
    await witness?.end();
    await service?.close();
    await proxy?.close();
    await database?.drop();
  });

  return {
    get database() {
      return database;
    },
    get proxy() {
      return proxy;
    },
    get databaseUrl() {
      return databaseUrl;
    },
    get service() {
      return service;
    },
    get audit() {
      return audit;
    },
    get witness() {
      return witness;
    },
    countOf: async (requestId) => {
      const { rows } = await witness.query('SELECT count(*)::int AS n FROM audit_records WHERE request_id = $1', [
        requestId,
      ]);
      return rows[0].n as number;
    },
    connectionsOfAudit: async () => {
      const { rows } = await witness.query(
        'SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1',
        [AUDIT_APPLICATION_NAME],
      );
      return rows[0].n as number;
    },
  };
}
