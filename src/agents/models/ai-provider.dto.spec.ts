import { describe, expect, it } from '@jest/globals';
import { canonicalBaseUrl } from './ai-provider.dto.js';

describe('canonicalBaseUrl', () => {
  it.each([
    ['https://api.example.com/v1', 'https://api.example.com/v1'],
    ['https://api.example.com/v1///', 'https://api.example.com/v1'],
    ['HTTP://Example.COM:80/', 'http://example.com'],
    ['http://127.0.0.1:11434/v1/', 'http://127.0.0.1:11434/v1'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
    ['  https://example.com/a b  ', 'https://example.com/a%20b'],
  ])('%j is %j', (text, canonical) => {
    expect(canonicalBaseUrl(text)).toBe(canonical);
  });

  it.each([
    '',
    'example.com/v1',
    '/v1',
    'ftp://example.com',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'https://user:pass@example.com',
    'https://user@example.com',
    'https://example.com/v1?api-version=1',
    'https://example.com/v1?',
    'https://example.com/v1#',
    'https://example.com/#top',
    'http://',
    `https://example.com/${'a'.repeat(2048)}`,
    `https://example.com/${'é'.repeat(1000)}`,
  ])('%j is invalid', (text) => {
    expect(canonicalBaseUrl(text)).toBeUndefined();
  });
});
