import { expect, it } from '@jest/globals';
import { inertName } from './inert-name.js';

it.each([
  ['Acme Inc.', 'Acme Inc.'],
  ['R. Smith & Sons', 'R. Smith & Sons'],
  ['Pay at https://evil.example/x now', 'Pay at https[:]//evil[.]example/x now'],
  ['www.evil.example', 'www[.]evil[.]example'],
  ['evil。example', 'evil[.]example'],
  ['boss@bank.example', 'boss[at]bank[.]example'],
  ['Acme\r\n\r\nOpen this', 'Acme Open this'],
  ['\u202Eelpmaxe\u200B', ' elpmaxe '],
])('%j is %j', (name, inert) => expect(inertName(name)).toBe(inert));
