import { describe, expect, it } from '@jest/globals';
import { failureReason, programOptions, runProgram } from './program.js';

describe('failureReason', () => {
  it.each([
    [
      'ok\ninitdb: error: could not access directory "/x": Permission denied\n',
      'could not access directory "/x": Permission denied',
    ],
    [
      'LOG:  starting\nFATAL:  could not create any TCP/IP sockets\nLOG:  shut down\n',
      'could not create any TCP/IP sockets',
    ],
    [
      'initdb: could not look up effective user ID 7: user does not exist\n',
      'initdb: could not look up effective user ID 7: user does not exist',
    ],
    ['', 'no reason given'],
  ])('extracts the reason from %j', (output, reason) => {
    expect(failureReason(output)).toBe(reason);
  });
});

describe('runProgram', () => {
  it('reports a program that cannot start as failed', async () => {
    expect(await runProgram('/nonexistent/program', [])).toEqual({
      succeeded: false,
      output: expect.stringContaining('ENOENT'),
    });
  });

  it('does not pass secrets or PG* variables to programs', () => {
    process.env['PGPORT'] = '1';
    process.env['ENCRYPTION_KEYS'] = 'secret';
    expect(Object.keys(programOptions(undefined).env)).not.toEqual(expect.arrayContaining(['PGPORT']));
    expect(Object.keys(programOptions(undefined).env)).not.toEqual(expect.arrayContaining(['ENCRYPTION_KEYS']));
    delete process.env['PGPORT'];
    delete process.env['ENCRYPTION_KEYS'];
  });
});
