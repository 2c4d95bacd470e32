import { describe, expect, it } from '@jest/globals';
import { passwordFault } from './password-rules.js';

describe('passwordFault', () => {
  it('demands 12 to 128 characters', () => {
    expect(passwordFault('kV9#tqm2Lx7')).toMatch(/at least 12/);
    expect(passwordFault('kV9#tqm2Lx7w')).toBeUndefined();
    expect(passwordFault(`${'kV9#tqm2Lx7wpfh3'.repeat(7)}kV9#tqm2Lx7wZQ!c`)).toBeUndefined();
    expect(passwordFault('kV9#tqm2Lx7wpfh3'.repeat(8) + 'x')).toMatch(/at most 128/);
  });

  it('counts characters, not code units', () => {
    expect(passwordFault('🦊🐻🐼🐨🐯🦁')).toMatch(/at least 12/);
  });

  it.each([
    'password1234',
    'Password123!',
    'P@ssw0rd1234',
    'passwordpassword',
    'qwertyuiop123',
    '123456789012',
    'aaaaaaaaaaaa',
    'abcabcabcabc',
    'letmein12345',
    'administrator',
    'iloveyou1234',
    'Welcome2026!!',
    'correcthorsebatterystaple',
    '1qaz2wsx3edc',
    'zyxwvutsrqpo',
    'changeme-changeme',
    'Love-love-love-2024',
  ])('refuses the common password %s', (password) => {
    expect(passwordFault(password)).toMatch(/common/);
  });

  it("refuses one made of the person's address", () => {
    expect(passwordFault('lovelace12345', 'ada.lovelace@analytical.example')).toMatch(/common/);
    expect(passwordFault('lovelace12345', 'grace@navy.example')).toBeUndefined();
  });

  it.each([
    'walnut kettle orbit',
    'kV9#tqm2Lx7w',
    'les sanglots longs',
    'my dog has seven fleas',
    'correct horse battery staple',
  ])('accepts %s', (password) => {
    expect(passwordFault(password, 'ada@example.com')).toBeUndefined();
  });
});
