import { e2e, packages } from './jest.config.js';

/**
 * What needs the machine for itself, one after another: a service under pressure or for a long time, and attacks, which
 * are judged by what another caller notices of them. Without CI, also the suites of the package.
 */
export default {
  projects: [
    {
      ...e2e,
      displayName: 'hostile',
      testMatch: ['hostile', 'pressure', 'soak'].map((folder) => `<rootDir>/test/${folder}/**/*.e2e-spec.ts`),
      testPathIgnorePatterns: ['/node_modules/'],
    },
    packages,
  ],
  testSequencer: '<rootDir>/test/support/longest-first.mjs',
  testTimeout: 120_000,
  maxWorkers: 1,
  // One worker is Jest's own process: what a failed suite leaves running must not keep it from reporting.
  forceExit: true,
};
