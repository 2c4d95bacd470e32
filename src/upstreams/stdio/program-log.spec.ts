import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ProgramLog } from './program-log.js';

describe('ProgramLog', () => {
  let written: Record<string, unknown>[] = [];
  const write = (fields: Record<string, unknown>): void => void written.push(fields);

  beforeEach(() => {
    written = [];
    Logger.overrideLogger({ log: write, warn: write, error: write });
  });
  afterAll(() => Logger.overrideLogger(false));

  function logOf(env: Record<string, string> = {}): ProgramLog {
    const identity = { connectionId: 'c', revision: '1', timeoutMs: 1 };
    return new ProgramLog({
      kind: 'stdio',
      organizationId: 'o',
      ...identity,
      command: 'node',
      args: [],
      cwd: '/',
      env,
    });
  }

  const stderrLines = (): unknown[] => written.map(({ stderr }) => stderr);

  it('replaces the variables of the connection, longest first, also line by line', () => {
    const log = logOf({ A: 'secret', B: 'secret and more', C: 'first line\nsecond line', D: 'short' });
    log.errorLine('a secret and more, twice: secret and more');
    log.errorLine('the second line of a key');
    log.errorLine('short stays');
    expect(stderrLines()).toEqual(['a ***, twice: ***', 'the *** of a key', 'short stays']);
    expect(written[0]).toMatchObject({ connection_id: 'c', command: 'node' });
  });

  it.each([
    'npm error code SELF_SIGNED_CERT_IN_CHAIN',
    'ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed',
    'error: invalid peer certificate: UnknownIssuer',
    'tls: failed to verify certificate: x509: certificate signed by unknown authority',
  ])('says what to do when a program does not trust a certificate: %s', (line) => {
    const log = logOf();
    log.errorLine(line);
    for (let i = 0; i < 20; i++) log.errorLine('npm error A complete log of this run can be found in: x');
    expect(log.lastWords).toMatch(
      /^ The program does not trust the certificate of a server\..*STDIO_ENV_PASS\. The end/,
    );
  });

  it('truncates long lines after replacing secrets', () => {
    logOf({ A: 'x'.repeat(2_000) }).errorLine(`${'a'.repeat(500)}${'x'.repeat(2_000)}${'b'.repeat(5_000)}`);
    expect(stderrLines()).toEqual([`${'a'.repeat(500)}***${'b'.repeat(521)}`]);
  });

  it('limits the rate, and logs how many lines were dropped', async () => {
    const log = logOf();
    for (let n = 0; n < 1_000; n++) log.errorLine(`line ${n}`);
    expect(written.length).toBeLessThan(100);
    await new Promise((resolve) => setTimeout(resolve, 200));
    log.errorLine('the last one');
    expect(stderrLines().at(-1)).toBe('the last one');
    expect(written.at(-2)).toMatchObject({ dropped: expect.any(Number) });
  });

  it('does not quote standard output', () => {
    logOf().strayLine();
    expect(written).toEqual([{ connection_id: 'c', command: 'node' }]);
  });
});
