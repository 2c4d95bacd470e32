import { registerHooks } from 'node:module';

// The global set-up runs in Jest's own process, where `moduleNameMapper` does not reach: there too, a relative import of
// a TypeScript file names the `.js` that it compiles to.
registerHooks({
  resolve: (specifier, context, nextResolve) => {
    const isOfSources = specifier.startsWith('.') && context.parentURL?.endsWith('.ts');
    return nextResolve(isOfSources ? specifier.replace(/\.js$/, '.ts') : specifier, context);
  },
});

const swc = [
  '@swc/jest',
  {
    // .swcrc is the build's: it leaves the specs out.
    swcrc: false,
    jsc: {
      target: 'es2024',
      parser: { syntax: 'typescript', decorators: true, dynamicImport: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
      keepClassNames: true,
    },
    module: { type: 'es6' },
    sourceMaps: 'inline',
  },
];

const shared = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': swc },
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  // Every build has a copy of package.json, and Jest takes the name in it for that of a module.
  modulePathIgnorePatterns: ['<rootDir>/.builds/'],
  setupFiles: ['<rootDir>/test/support/setup-env.ts'],
};

/** What needs a database. */
export const e2e = {
  ...shared,
  displayName: 'e2e',
  testMatch: ['<rootDir>/test/**/*.e2e-spec.ts'],
  // What needs the machine for itself: jest.hostile.config.js. Field clients: jest.field.config.js.
  testPathIgnorePatterns: [
    '/node_modules/',
    '<rootDir>/test/hostile/',
    '<rootDir>/test/pressure/',
    '<rootDir>/test/soak/',
    '<rootDir>/test/field/',
    '<rootDir>/test/package/',
  ],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
};

/** The installation of the package, of the image, and of an example that uses them. */
export const packages = {
  ...e2e,
  displayName: 'package',
  testMatch: ['<rootDir>/test/package/**/*.e2e-spec.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};

export default {
  projects: [
    {
      ...shared,
      displayName: 'unit',
      testMatch: ['<rootDir>/src/**/*.spec.ts', '<rootDir>/web/src/**/*.spec.ts'],
    },
    e2e,
    // They take minutes, and need the npm registry.
    ...(process.env['CI'] === undefined ? [] : [packages]),
  ],
  testSequencer: '<rootDir>/test/support/longest-first.mjs',
  testTimeout: 60_000,
  // A third of what a worker does is waiting: three keep two cores busy.
  maxWorkers: 3,
  // A worker keeps what the modules of its specs hold. Without this limit, its collections of garbage take seconds.
  workerIdleMemoryLimit: '1GB',
};
