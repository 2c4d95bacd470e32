import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { SETTING_TEXTS } from '../../core/config/setting-texts.js';
import { configurationPage, environmentExample, settingForms } from './reference.js';

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
