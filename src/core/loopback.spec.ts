import { expect, it } from '@jest/globals';
import { isLoopback } from './loopback.js';

it.each([
  ['http://localhost:3000', true],
  ['https://app.dev.localhost', true],
  ['http://127.0.0.1', true],
  ['http://127.8.9.10', true],
  ['http://2130706433', true],
  ['http://[::1]:8080', true],
  ['http://localhost.example', false],
  ['http://notlocalhost', false],
  ['http://127.0.0.1.example', false],
  ['http://128.0.0.1', false],
  ['http://[::2]', false],
])('isLoopback tells whether %s is on this machine: %p', (url, expected) => {
  expect(isLoopback(new URL(url))).toBe(expected);
});
