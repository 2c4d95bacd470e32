import base from '../../jest.config.js';

/** Runs the two fixtures, which are no specs, with what the unit tests run with. */
export default {
  ...base.projects[0],
  displayName: 'isolation',
  rootDir: '../..',
  testMatch: ['<rootDir>/test/isolation/*.fixture.ts'],
};
