import { spawnSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';

describe('two suites of one worker', () => {
  it('share the packages, and nothing that a suite leaves', () => {
    const jest = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js'];
    const parameters = ['-c', 'test/isolation/jest.config.mjs', '--runInBand', '--ci'];
    const { status, stderr } = spawnSync(process.execPath, [...jest, ...parameters], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringMatching(/Tests: +2 passed/) });
    expect(stderr).toMatch(/of this copy: 1\n[^]*of this copy: 2\n/);
  });
});
