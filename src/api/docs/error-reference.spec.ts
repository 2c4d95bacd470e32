import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { ERROR_CODES } from '../../core/error-codes.js';
import { RUN_FAILURE_CODES } from '../../runtime/worker/run-failure-codes.js';
import { errorReference } from './reference.js';

describe('docs/api/errors.md', () => {
  it('is what `npm run docs:reference` writes', async () => {
    expect(await readFile(new URL('../../../docs/api/errors.md', import.meta.url), 'utf8')).toBe(errorReference());
  });

  it('has a row for every code', () => {
    const text = errorReference();
    for (const code of [...Object.keys(ERROR_CODES), ...Object.keys(RUN_FAILURE_CODES)]) {
      expect(text).toContain(`| \`${code}\` `);
    }
  });
});

describe('every error code', () => {
  it('is a snake_case word with an HTTP status of 400 and up and a title that is not a sentence', () => {
    for (const [code, [status, title]] of Object.entries(ERROR_CODES)) {
      expect(code).toMatch(/^[a-z]+(?:_[a-z]+)*$/);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(title).toMatch(/^[A-Z].*[^.]$/);
    }
  });
});
