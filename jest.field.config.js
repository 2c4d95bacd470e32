import { e2e } from './jest.config.js';

/** Clients from the npm registry against the built service. They take minutes, and need the network: not in CI. */
export default {
  ...e2e,
  displayName: 'field',
  testMatch: ['<rootDir>/test/field/**/*.e2e-spec.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  testTimeout: 300_000,
  maxWorkers: 1,
};
