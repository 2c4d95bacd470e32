import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { SETTING_TEXTS } from '../../core/config/setting-texts.js';
import { configurationPage, environmentExample, settingForms, errorReference } from './reference.js';
import { ERROR_CODES } from '../../core/error-codes.js';
import { RUN_FAILURE_CODES } from '../../runtime/worker/run-failure-codes.js';

describe('the settings', () => {
  it('that are read are those that have a text', () => {
    const described = Object.values(SETTING_TEXTS).flatMap((settings) => Object.keys(settings));
    expect(described.toSorted()).toEqual([...settingForms().keys()].toSorted());
  });

  it.each([
    ['docs/configuration.md', configurationPage],
    ['.env.example', environmentExample],
  ])('are in %s as `npm run docs:reference` writes it', async (path, text) => {
    expect(await readFile(new URL(`../../../${path}`, import.meta.url), 'utf8')).toBe(text());
  });
});

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
