import { e2e } from './jest.config.js';

/** Attacks, one after another: each is judged by what another caller notices of it. */
export default {
  projects: [
    {
      ...e2e,
      displayName: 'hostile',
      testMatch: ['<rootDir>/test/hostile/**/*.e2e-spec.ts'],
      testPathIgnorePatterns: ['/node_modules/'],
    },
  ],
  testTimeout: 120_000,
  maxWorkers: 1,
};
