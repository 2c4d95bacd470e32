import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import type { AppConfig } from '../../core/config/app-config.js';
import { newId } from '../../core/ids.js';
import { FileLinks } from './file-links.js';

const VALID_MS = 15 * 60_000;

describe('FileLinks', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('opens what it has signed, with that signature only, for 15 minutes', () => {
    const config = { encryptionKeys: [{ id: 'a', key: randomBytes(32) }] } as unknown as AppConfig;
    const links = new FileLinks(config);
    const id = newId();
    const { searchParams } = new URL(links.sign('default', id), 'http://localhost');
    const signed = { expires: searchParams.get('expires') ?? '', signature: searchParams.get('signature') ?? '' };
    const isValid = (more: object = {}): boolean => links.isValid('default', id, { ...signed, ...more });
    expect(isValid()).toBe(true);
    expect(links.isValid('other', id, signed)).toBe(false);
    expect(links.isValid('default', newId(), signed)).toBe(false);
    expect(isValid({ expires: String(Number(signed.expires) + 1) })).toBe(false);
    jest.advanceTimersByTime(VALID_MS - 2_000);
    expect(isValid()).toBe(true);
    jest.advanceTimersByTime(4_000);
    expect(isValid()).toBe(false);
  });
});
