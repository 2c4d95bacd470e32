import { generateEncryptionKey } from '../../src/core/config/encryption-keys.js';
import { createTestDatabase } from '../support/database.js';
import { ServiceProcess } from '../support/service-process.js';

/** The built service in a process of its own, on a database of its own. */
export interface BuiltService {
  readonly url: string;
  readonly apiKey: string;
  close(): Promise<void>;
}

export async function startBuiltService(env: Record<string, string> = {}): Promise<BuiltService> {
  const database = await createTestDatabase();
  const service = new ServiceProcess({
    DATABASE_URL: database.url,
    ENCRYPTION_KEYS: generateEncryptionKey('test'),
    LOG_LEVEL: 'warn',
    ...env,
  });
  const { url, apiKey = '' } = await service.listening();
  return {
    url,
    apiKey,
    close: async () => {
      await service.kill('SIGTERM');
      await database.drop();
    },
  };
}
