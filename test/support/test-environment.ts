import { generateEncryptionKey } from '../../src/core/config/encryption-keys.js';

/** The settings of every service that a test starts, in its own process or beside it. */
export const TEST_ENVIRONMENT = {
  LOG_LEVEL: 'silent',
  PORT: '0',
  METRICS_PORT: '0',
  UPSTREAM_ALLOW_PRIVATE: 'true',
  // Many specs close an application while runs that never end are in progress.
  SHUTDOWN_GRACE_MS: '500',
  /** The same for all applications of a spec file, as for all processes of a service. */
  ENCRYPTION_KEYS: generateEncryptionKey('test'),
};
